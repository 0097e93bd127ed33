"""Static forms: what rows are in a lowered program, by the methods of its graph, by subject.

A form is `form(graph, symbol, *args)`: `symbol` is the recorded call, with its params, shape and
dtype, `args` are values of the lowered program, and what is returned has the symbol's shape. Rows
name their form; this package knows nothing of the static tier but the methods of
`static/lower/graph.py`.
"""
