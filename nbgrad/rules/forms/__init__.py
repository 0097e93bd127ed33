"""Static forms: the lowering of rows to values of a lowered program.

A form is `form(graph, symbol, *args)`: `symbol` is the recorded call, with its params, shape and
dtype, `args` are values of the lowered program, and the result has the shape of the symbol. Forms
depend on no other part of the static tier than the methods of `static/lower/graph.py`.
"""
