"""Setting an agent up, and taking it back: our entries go into the host's own files and nothing else changes.

Everything is planned before anything is written, so that a file we cannot read stops it all. What was there before is
kept; taking back restores it to the byte when nobody else changed the file meanwhile, and removes our entries alone
otherwise.
"""
