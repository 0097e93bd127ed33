"""Errors about tracked values and their graphs."""

from .explained import Explanation

EXPLANATIONS = (
    Explanation(
        "NB-CONVERT",
        "A conversion would lose the derivative",
        "A tracked value was converted to a plain number or array, by `float()`, a math function, "
        "`np.asarray`, `.item()`, or a library that is written in C. The plain value has no "
        "derivative, so the gradient would be wrong without notice.",
        """
import math

x = nbgrad.track(2.0)
math.exp(x * x)
""",
        "Use the function of NumPy, `np.exp`, in place of the one of math. Use `x.data` where no "
        "derivative is needed, such as for printing, and `nbgrad.stop_gradient(x)` for a constant.",
    ),
    Explanation(
        "NB-PLAIN",
        "A plain array cannot hold tracked values",
        "A tracked value was written to an element of an array that NumPy made. Its elements are "
        "plain numbers, so the derivative would be lost.",
        """
x = nbgrad.track(np.ones(3))
out = np.zeros(3)
np.copyto(out, x * 2.0)
""",
        "Make the array with `nbgrad.numpy` (`import nbgrad.numpy as np`), or with `np.zeros(3, "
        "like=x)`. Or build it without writing, by `np.stack` or `np.concatenate`.",
    ),
    Explanation(
        "NB-RULE",
        "A function has no derivative rule",
        "A function was called with a tracked value, and nbgrad does not know its derivative, or "
        "does not know it with these options.",
        """
x = nbgrad.track(np.array([1.0, 2.0]))
np.histogram_bin_edges(x)
""",
        "The message names an alternative, if there is one; the table of operations (ops.md) lists "
        "all functions that are supported. Otherwise compose the function from others, or define "
        "its derivative with `nbgrad.custom_rule`.",
    ),
    Explanation(
        "NB-OUT",
        "A function cannot write to out",
        "A function was called with `out=...` or `overwrite_input=True`, and it cannot write a "
        "tracked result to that array.",
        """
x = nbgrad.track(np.array([3.0, 1.0]))
np.median(x, overwrite_input=True)
""",
        "Use the array that the function returns.",
    ),
    Explanation(
        "NB-CAUGHT",
        "An error about a derivative was caught",
        "Inside of a transformation, a conversion was refused, and your code, or a library, caught "
        "the error and went on by another way than for plain numbers. The result may lack a part "
        "of its derivative.",
        """
def parsed(x):
    try:
        return float(x) * x
    except TypeError:
        return x


nbgrad.grad(parsed)(2.0)
""",
        "Let the error pass, or write the code with functions of NumPy, which need no conversion.",
    ),
    Explanation(
        "NB-INTEGER",
        "Integers are needed",
        "Indices, positions, axes and numbers of elements are integers. Tracked values are floats, "
        "and there is no derivative with respect to an integer.",
        """
x, i = nbgrad.track(np.ones(3)), nbgrad.track(1.0)
x[i]
""",
        "Pass plain integers: `i.data.astype(int)`.",
    ),
    Explanation(
        "NB-ATTRIBUTE",
        "There is no such attribute",
        "Tracked arrays have the methods of NumPy's arrays that have a derivative. The shape and "
        "the dtype of an array in a graph cannot be assigned.",
        """
x = nbgrad.track(np.ones((2, 3)))
x.shape = (3, 2)
""",
        "Use the function that the message names, such as `np.reshape`, or `x.data` for the plain "
        "array.",
    ),
    Explanation(
        "NB-WRITE",
        "An array must not be written to",
        "The write would change an array that belongs to somebody else: an argument of a "
        "transformation, a leaf of the graph, memory that is shared or read-only, or an array from "
        "outside of the body of a compiled loop.",
        """
def scaled(x):
    x *= 2.0
    return np.sum(x)


nbgrad.grad(scaled)(np.ones(3))
""",
        "Copy the array before, `x = x.copy()`, or compute a new one: `x = x * 2.0`, or `y = "
        "x.at[i].set(v)`. Inside of loops, carry the array in the state.",
    ),
    Explanation(
        "NB-CHANGED",
        "An array was changed before the backward pass",
        "The backward pass needs the values with which the function was called, and the array was "
        "written to since. nbgrad notices writes to `x.data` by itself; `nbgrad.detect_changes()` "
        "also finds writes to plain arrays, and names the line of the op.",
        """
x = nbgrad.track(np.ones(3))
loss = np.sum(x * x)
x.data -= 0.1
loss.backward()
""",
        "Call backward before the write, or give the function a copy.",
    ),
    Explanation(
        "NB-FREED",
        "The graph was freed",
        "A backward pass frees the graph as it goes, because the graph keeps large arrays. A "
        "second pass through the same graph is not possible.",
        """
x = nbgrad.track(np.ones(3))
loss = np.sum(x * x)
loss.backward()
loss.backward()
""",
        "Compute the loss again for each step. If you need two passes through one graph, call "
        "`backward(keep_graph=True)` the first time. A state that goes on from step to step must "
        "be plain: `state = state.data`.",
    ),
    Explanation(
        "NB-GRAPH",
        "The value does not depend on the array",
        "There is no way in the graph from the value to the array, so there is no gradient: the "
        "value was computed from plain numbers, inside of `no_tracking()`, or from other arrays.",
        """
x = nbgrad.track(np.ones(3))
with nbgrad.no_tracking():
    loss = np.sum(x * x)
loss.backward()
""",
        "Compute the value from tracked arrays, outside of `no_tracking()`, and without `.data`.",
    ),
    Explanation(
        "NB-SCALAR",
        "The gradient of an array was asked for",
        "A gradient is the derivative of one number. The value has several elements, so it is not "
        "clear which derivative is meant.",
        """
x = nbgrad.track(np.ones(3))
y = x * x
y.backward()
""",
        "Reduce the value to one number, by `np.sum` or `np.mean`. For all derivatives use "
        "`nbgrad.jacobian`; for a weighted sum of them `nbgrad.vjp`, or pass the weights to "
        "backward.",
    ),
    Explanation(
        "NB-LEAK",
        "A value is used after its transformation returned",
        "Inside of grad, vjp, vmap and other transformations values are special arrays. One of "
        "them was kept in a list, an attribute or a global variable, and used afterwards. The "
        "message names where it is kept, and often the line.",
        """
history = []


def loss(x):
    y = x * x
    history.append(y)
    return np.sum(y)


nbgrad.grad(loss)(np.ones(3))
np.sum(history[0])
""",
        "Return the value with `has_aux=True`: `return loss, y`. Of eager gradients, `x.data` may "
        "be kept.",
    ),
    Explanation(
        "NB-PICKLE",
        "A value cannot be sent to another process",
        "Values inside of a transformation, and graphs, cannot be pickled: the other process does "
        "not have the rest of the computation. Functions must be importable there.",
        """
import pickle


def stored(x):
    return len(pickle.dumps(x)) * x


nbgrad.grad(stored)(2.0)
""",
        "Send plain arrays. Use threads inside of a transformation, or compute the whole gradient "
        "in each process, by `nbgrad.parallel`. Define functions at the top level of a module.",
    ),
    Explanation(
        "NB-NAN",
        "An operation returned nan",
        "Under `nbgrad.detect_nan()`, or in `nbgrad.train.fit`, an operation returned nan, forward "
        "or backward. The message names the operation, the first element and your line.",
        """
x = nbgrad.track(np.array([1.0, -1.0]))
with nbgrad.detect_nan():
    np.log(x)
""",
        "Keep the arguments where the function is defined, before it is called: "
        "`np.log(np.maximum(x, 1e-12))`. In training, use a smaller learning rate or "
        "`nbgrad.optim.Clipped`.",
    ),
    Explanation(
        "NB-CHECK",
        "A derivative differs from finite differences",
        "`nbgrad.check_grads` compared a derivative with finite differences, and they do not "
        "agree. Either a custom rule is wrong, or the function is not smooth there.",
        """
@nbgrad.custom_rule(pullback=lambda ct, out, x: 2.0 * ct * x**2)
def cubed(x):
    return x**3


nbgrad.check_grads(cubed, (2.0,))
""",
        "Correct the rule. At kinks and jumps, choose another point; see the page on kinks.",
    ),
    Explanation(
        "NB-CUSTOM",
        "A custom rule does not fit its function",
        "A rule of `nbgrad.custom_rule` or `custom_elementwise` returned another number, shape or "
        "structure of cotangents than the function has arguments, or its text is no expression.",
        """
@nbgrad.custom_rule(pullback=lambda ct, out, x, y: (ct * y,))
def product(x, y):
    return x * y


nbgrad.grad(product)(2.0, 3.0)
""",
        "Return a tuple with one cotangent for each argument, of the shape of the argument; None "
        "where there is no derivative.",
    ),
    Explanation(
        "NB-CONSTANT",
        "The result does not depend on the arguments",
        "The function that is differentiated returned a constant, so the derivative is zero. Often "
        "the derivative was lost on the way, by `.data`, by rounding, or because a value was "
        "computed before. This is a warning, once for each function.",
        """
weights = np.ones(3)


def loss(x):
    return np.sum(weights * weights)


nbgrad.jacobian(loss)(np.ones(3))
""",
        "Compute the result from the arguments of the function. If it is meant so, silence the "
        'warning: `warnings.filterwarnings("ignore", category=nbgrad.ConstantWarning)`.',
    ),
)
