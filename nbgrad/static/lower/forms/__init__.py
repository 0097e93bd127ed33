"""Static forms of the rows, in terms of the values of a lowered program, by subject."""
