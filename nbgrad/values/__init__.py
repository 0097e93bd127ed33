"""The kinds of arrays: tracked ones and their graph, duals, samples, and how plain values enter.

`tracked` is what a user holds (`base` what it shows), `graph` has its nodes, `backward` and
`gradients` the walks over them, `replay` those that come again, `dual` is a value with its tangent,
`batched` the samples of `vmap`, `operands` the conversion of whatever is passed. `short` puts C
functions in the place of what is called for every op, which `recording` and `handing` write.
"""
