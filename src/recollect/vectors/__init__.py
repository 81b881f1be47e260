"""Nearest-vector search over what a store keeps: exact, behind a seam that an approximate index fits too."""
