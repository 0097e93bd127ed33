"""Looking inside: the plan of a compiled program, its annotated source, a page of both."""
