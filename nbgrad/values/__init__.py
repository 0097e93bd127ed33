"""The kinds of arrays: tracked ones and their graph, duals, samples, and how plain values enter.

`tracked` is what a user holds, `graph` its nodes and the walks over them, `dual` a value with its
tangent, `batched` the samples of `vmap`, `operands` the conversion of whatever is passed.
"""
