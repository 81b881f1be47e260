"""Nearest-vector search over what a store keeps. Exact now; an approximate index for large stores fits the same seam."""
