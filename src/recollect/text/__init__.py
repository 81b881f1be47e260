"""The pure words: tokenise, classify, redact, chunk, make visible. Import the module you need; this one has none."""
