"""Long loops in pieces, on several threads."""
