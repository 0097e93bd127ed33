"""Primitives and the registry of rows, levels, `bind`, the array protocol, symbols.

The core knows no op and no backend: `primitive` has what a row is, `array` the face of every kind
of array, `symbols` the values that record what is done to them.
"""
