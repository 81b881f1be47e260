"""The doors: parse, call Memory, print. They add no behaviour of their own."""
