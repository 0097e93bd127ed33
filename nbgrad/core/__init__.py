"""Primitives and their registry, levels, `bind`, the array protocol, symbols.

The core knows no op and no backend: `primitive` says what one is, `array` is the face
of every kind of array, `symbols` are the values that record what is done to them.
"""
