"""The kinds of arrays: tracked arrays and their graph, dual arrays, batched arrays.

`tracked` has the class that users hold, and `base` its properties; `graph` has the nodes,
`backward` and `gradients` the passes over them, and `replay` the functions generated for frequent
ones. `dual` is for forward mode and `batched` for `vmap`. `operands` converts users' values. The C
versions of hot functions are in `nbgrad/capi/`.
"""
