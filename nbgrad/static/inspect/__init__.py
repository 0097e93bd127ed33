"""Looking inside: each stage as text, the plan of a compiled program, its source, a page of all."""
