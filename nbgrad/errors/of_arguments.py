"""Errors about arguments and results of functions."""

from .explained import Explanation

EXPLANATIONS = (
    Explanation(
        "NB-SHAPE",
        "Shapes do not fit",
        "The shapes of the arguments of an operation do not broadcast, or are not those that the "
        "operation needs. The message names the operation and the shapes.",
        """
x = nbgrad.track(np.ones((2, 3)))
x @ np.ones(2)
""",
        "Print the shapes before the line that the message names; reshape or transpose one of "
        "them. Shapes are compared from the right, and lengths of 1 are repeated.",
    ),
    Explanation(
        "NB-SAMPLES",
        "Numbers of samples differ",
        "vmap, map, scan and data sets take one sample from each array along an axis, the first by "
        "default. Their lengths differ, or an argument has no such axis.",
        """
nbgrad.vmap(np.dot)(np.ones((5, 3)), np.ones(3))
""",
        "Pass arrays with one sample for each row, and None in `in_axes` for arguments that all "
        "samples share: `nbgrad.vmap(np.dot, in_axes=(0, None))`.",
    ),
    Explanation(
        "NB-FLOAT",
        "There is no float to differentiate",
        "Derivatives are taken with respect to floats. The argument holds only integers, bools or "
        "strings, which count as constants.",
        """
nbgrad.grad(lambda x: x * x)(3)
""",
        "Write 3.0 in place of 3, or convert the array: `x.astype(float)`.",
    ),
    Explanation(
        "NB-REAL",
        "A real number is needed",
        "A gradient is that of a real function: the result may not be complex, and neither may a "
        "real array become so in place. Complex numbers have no order. Python objects and strings "
        "are no numbers.",
        """
nbgrad.grad(lambda z: z * z)(1.0 + 2.0j)
""",
        "Return a real number, such as `np.sum(np.abs(z) ** 2)` or `z.real`. The derivative of a "
        "holomorphic function is `nbgrad.grad(f, holomorphic=True)`.",
    ),
    Explanation(
        "NB-DTYPE",
        "The dtype is not supported",
        "The operation does not take arrays of this dtype, or would have to convert a result to a "
        "dtype that loses digits.",
        """
x = nbgrad.track(np.array([1.5, 2.5]))
x & 1
""",
        "Convert the array with `.astype`; compare floats first to get masks, `x > 0`.",
    ),
    Explanation(
        "NB-MASKED",
        "A masked array would lose its mask",
        "Arrays of `numpy.ma` are not supported: the mask would be ignored.",
        """
x = np.ma.masked_array([1.0, 2.0], mask=[False, True])
nbgrad.track(x)
""",
        "Pass `x.filled(0.0)`, and leave masked elements out with `np.where(x.mask, 0.0, y)`.",
    ),
    Explanation(
        "NB-STRUCTURE",
        "Arguments are nested differently",
        "Dicts, lists and tuples of arrays that belong together, such as parameters and their "
        "gradients, must have the same keys and lengths.",
        """
f = lambda w: np.sum(w["a"] * w["b"])
w = {"a": np.ones(2), "b": np.ones(2)}
nbgrad.jvp(f, (w,), ({"a": np.ones(2)},))
""",
        "Pass a tree of the same structure, with zeros where there is nothing to pass.",
    ),
    Explanation(
        "NB-RESULT",
        "A function returned something else than an array",
        "The function that is differentiated must return an array or a number; for jacobian, vjp "
        "and others also nested dicts, lists and tuples of arrays.",
        """
def loss(x):
    total = np.sum(x * x)


nbgrad.grad(loss)(np.ones(3))
""",
        "Return the result. Return other values beside it with `has_aux=True`: `return loss, aux`.",
    ),
    Explanation(
        "NB-FUNCTION",
        "A function is needed",
        "A transformation takes the function, and was given its result, or another object.",
        """
f = np.sum
nbgrad.grad(f(np.ones(3)))
""",
        "Pass the function itself: `nbgrad.grad(f)(np.ones(3))`.",
    ),
    Explanation(
        "NB-ARGNUMS",
        "argnums does not name an argument",
        "`argnums` is the position of the argument to differentiate, or a tuple of positions, "
        "among the positional arguments of the call.",
        """
nbgrad.grad(lambda x, y: x * y, 2)(3.0, 2.0)
""",
        "Count from 0, and pass this argument by position, not by name.",
    ),
    Explanation(
        "NB-OBJECT",
        "An object hides floats",
        "An argument, or something that the function closes over, is an object with floats that "
        "cannot be taken apart, so it would get no gradient.",
        """
class Weights(dict):
    pass


nbgrad.grad(lambda w: w["a"] * 2.0)(Weights(a=1.0))
""",
        "Use a dataclass, a plain class or a dict. Name the attributes of other classes by "
        '`nbgrad.register(Weights, fields=["a"])`. Or pass the floats as arguments.',
    ),
    Explanation(
        "NB-LINEAR",
        "The function is not linear",
        "`nbgrad.linear_transpose` is for functions that are linear: `f(a * x) = a * f(x)`, "
        "without a constant.",
        """
nbgrad.linear_transpose(lambda x: x * x, np.ones(3))(np.ones(3))
""",
        "Linearize the function first, or use `nbgrad.vjp`, which does this at a point.",
    ),
    Explanation(
        "NB-INDEX",
        "An index is out of bounds",
        "An index, or a label, is larger than the axis is long.",
        """
scores = nbgrad.nn.Embedding(np.ones((10, 4)))
scores(np.array([3, 10]))
""",
        "Indices count from 0, labels and categories too; negative ones count from the end.",
    ),
    Explanation(
        "NB-OVERFLOW",
        "An integer is too large",
        "A Python integer does not fit into the dtype of the array.",
        """
shifted = nbgrad.compile(lambda i: i + 2**70)
shifted(np.arange(3))
""",
        "Use floats, or an array of a larger dtype.",
    ),
    Explanation(
        "NB-MATRIX",
        "A matrix is singular, or not positive definite",
        "A system of equations has no unique solution, or a covariance matrix is not positive "
        "definite. It is a LinAlgError, as NumPy's.",
        """
nbgrad.compile(np.linalg.inv)(np.ones((2, 2)))
""",
        "Add a small multiple of `np.eye(n)`, or drop rows that depend on others.",
    ),
    Explanation(
        "NB-DIVERGENT",
        "Transitions of a sampler diverged",
        "`nbgrad.sample` follows trajectories of constant energy by steps of one size. Where the "
        "density bends more sharply than elsewhere, the energy grows without bound; the draws miss "
        "these places. This is a warning.",
        """
def funnel(x):
    return -(x[0] ** 2) / 18.0 - 0.5 * x[1] ** 2 * np.exp(-x[0]) - 0.5 * x[0]


nbgrad.sample.nuts(funnel, np.zeros(2), draws=500)
""",
        "Write the density with other parameters: here `x[1]` is `np.exp(x[0] / 2)` times a "
        "standard normal number. Or take smaller steps by `target=0.95`. The draws that diverged "
        "are marked in `stats.divergent`; they often lie near the place.",
    ),
    Explanation(
        "NB-EMPTY",
        "There are no elements",
        "A maximum, a mean, or a data set needs at least one element, and there is none.",
        """
np.max(nbgrad.track(np.ones((0, 3))), axis=0)
""",
        "Leave out empty arrays before; `np.max` and `np.min` take `initial=`.",
    ),
    Explanation(
        "NB-VALUE",
        "The value of an argument is not supported",
        "An option has a value that does not exist, or a number is out of its range. For functions "
        "of NumPy, plain arrays raise the same error.",
        """
nbgrad.jacobian(np.sin, mode="backward")(np.ones(3))
""",
        "The message lists the values that are possible.",
    ),
    Explanation(
        "NB-TYPE",
        "The type of an argument is not supported",
        "An argument is of another type than the function takes, or the function does not have "
        "this argument.",
        """
nbgrad.jvp(np.sin, np.ones(3), np.ones(3))
""",
        "The message says what to pass.",
    ),
)
