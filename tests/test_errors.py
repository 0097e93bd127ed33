"""What goes wrong, and the words that say so: kind of error, op, shapes and remedy.

One row a mistake. The pattern is the whole message, or its telling part where NumPy words it.
"""

# The mistakes are the point.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false

import math

import numpy as np
import pytest
import scipy.special

import nbgrad
from nbgrad.errors import DimensionMismatch, GraphError, NoRuleError, UntrackedError

track = nbgrad.track

V = track(np.arange(3.0), "v")
M = track(np.ones((2, 3)), "m")
S = track(2.0, "s")


def add_in_place():
    v = V
    v += 1.0


def assign_to_leaf():
    V[0] = 1.0


def backward_twice():
    x = track(1.0)
    y = x * x
    y.backward()
    y.backward()


def backward_after_reset():
    x = track(1.0)
    y = x * x
    nbgrad.reset(x)
    y.backward()


def backward_after_a_change():
    x = track(np.ones(3), "x")
    y = np.sum(x * x)
    x.data -= 5.0
    y.backward()


def wrong_gradient():
    M.grad = np.ones(4)


PLAIN = "to build arrays, and np functions instead of math functions"
REAL = "nbgrad computes with real numbers, so convert it to float64 or float32 first"

MISTAKES = {
    # shapes
    "matmul": (lambda: M @ M, DimensionMismatch,
        r"matmul: the shapes \(2, 3\) and \(2, 3\) do not fit: 3 columns on the left, 2 rows on "
        r"the right"),
    "scalar matmul": (lambda: S @ V, DimensionMismatch, "matmul.*a scalar takes \\*, not @"),
    "add": (lambda: M + track(np.ones((2, 4))), DimensionMismatch,
        r"add: the shapes \(2, 3\), \(2, 4\) do not broadcast; compare them from the right: each "
        r"pair of lengths must be equal or one of them 1"),
    "concatenate": (lambda: np.concatenate([M, track(np.ones((2, 4)))]), DimensionMismatch,
        r"concatenate: the shapes \(2, 3\), \(2, 4\) differ outside of axis 0; they must agree"),
    "stack": (lambda: np.stack([V, M]), DimensionMismatch,
        r"stack: the shapes \(3,\), \(2, 3\) differ; stacked arrays need one shape"),
    "reshape": (lambda: M.reshape(4, 2), DimensionMismatch,
        r"reshape: 6 elements of shape \(2, 3\) do not fill \(4, 2\)"),
    "einsum": (lambda: np.einsum("ij,jk", M, M), DimensionMismatch,
        r"einsum: the label 'j' has lengths 3 and 2 in the shapes \(2, 3\), \(2, 3\)"),
    "inv": (lambda: np.linalg.inv(M), DimensionMismatch,
        r"inv: the shape \(2, 3\) is not that of square matrices"),
    "solve": (lambda: np.linalg.solve(track(np.eye(2)), V), DimensionMismatch,
        r"solve: the shapes \(2, 2\) and \(3,\) do not fit: b must have 2 rows"),
    "mse": (lambda: nbgrad.mse(V, M), DimensionMismatch,
        r"mse: the prediction has shape \(3,\), the target \(2, 3\); reshape one of them"),
    "at": (lambda: V.at[0].set(np.ones(2)), DimensionMismatch,
        r"at\[index\].set: a value of shape \(2,\) does not fill the shape \(\)"),
    "labels": (lambda: nbgrad.logit_cross_entropy(M, np.array([0, 7])), ValueError,
        "labels from 0 to 7, but there are 3 classes, numbered from 0"),
    # backward, cotangents, gradients
    "not a scalar": (lambda: (V * 2).backward(), DimensionMismatch,
        r"backward of an array of shape \(3,\) needs a cotangent of that shape, such as "
        r"z.backward\(np.ones\(z.shape\)\); only one element needs none"),
    "cotangent": (lambda: (V * 2).backward(np.ones(4)), DimensionMismatch,
        r"multiply: a cotangent of shape \(4,\) for an array of shape \(3,\); they must be equal"),
    "gradient": (wrong_gradient, DimensionMismatch,
        r"m: a cotangent of shape \(4,\) for an array of shape \(2, 3\)"),
    "complex cotangent": (lambda: (V * 2).backward(1j * np.ones(3)), TypeError,
        f"multiply: a cotangent of dtype complex128; {REAL}"),
    "twice": (backward_twice, GraphError,
        r"the graph of multiply was freed by an earlier backward pass or a reset: call "
        r"backward\(keep_graph=True\) the first time, or compute the value again"),
    "after reset": (backward_after_reset, GraphError, "freed by an earlier backward pass"),
    "stale buffer": (backward_after_a_change, GraphError,
        r"the data of the tracked array x of shape \(3,\) was changed after multiply used it, and "
        r"its backward pass needs the old values: call backward before the update"),
    "accum of a number": (lambda: nbgrad.accum(3.0), TypeError,
        "accum: a float is not tracked; track it with nbgrad.track"),
    "grad of a vector": (lambda: nbgrad.grad(lambda x: x * 2)(np.ones(3)), DimensionMismatch,
        r"gave an array of shape \(3,\); a gradient needs one number, so sum it, or use jvp"),
    "grad of None": (lambda: nbgrad.grad(lambda x: None)(1.0), TypeError,
        "gave NoneType, not an array; return one number"),
    "grad of an int": (lambda: nbgrad.grad(lambda x: x * 2)(3), TypeError,
        "argument 0 holds no float.*write 2.0 for 2"),
    "grad of a string": (lambda: nbgrad.grad(lambda x: x)("a"), TypeError, "holds no float.*str"),
    "argnums": (lambda: nbgrad.grad(lambda x: x, argnums=2)(1.0), ValueError,
        "argnums 2 with 1 positional arguments"),
    "tangent": (lambda: nbgrad.jvp(np.sin, (1.0,), (np.ones(2),)), DimensionMismatch,
        r"jvp: a primal of shape \(\) and a tangent of shape \(2,\)"),
    "tangents": (lambda: nbgrad.jvp(np.sin, (1.0,), ()), DimensionMismatch,
        "jvp: 1 primals and 0 tangents; give one for each"),
    # what cannot be tracked
    "complex": (lambda: track(1j), TypeError,
        "complex numbers are not supported: track the real and imaginary parts"),
    "objects": (lambda: track(np.array([None])), TypeError,
        r"track: .* holds Python objects; use nbgrad.array\(nested\) to join tracked values"),
    "string": (lambda: track("abc"), TypeError, "track: .*only real numbers, as float64 or"),
    "ragged": (lambda: track([[1.0], [1.0, 2.0]]), ValueError,
        "track: nested lists of different lengths are no array"),
    "add complex": (lambda: V + 1j, TypeError, f"add: an operand of dtype complex128; {REAL}"),
    "add objects": (lambda: V + np.array([None, 1, 2]), TypeError, "add: an operand of dtype obj"),
    "add string": (lambda: V + "a", TypeError, r"unsupported operand type\(s\) for \+"),
    "relu of a string": (lambda: nbgrad.relu("a"), TypeError, "relu: an operand of dtype <U1"),
    # plain numbers of tracked arrays
    "float": (lambda: float(S), UntrackedError,
        r"float\(\) of a TrackedArray would lose its derivative: use .item\(\) or .data"),
    "int": (lambda: int(S), UntrackedError, r"use int\(x.item\(\)\) or x.data, or np.rint\(x\)"),
    "math": (lambda: math.sin(S), UntrackedError, r"np.sin\(x\) instead of math.sin\(x\)"),
    "array of": (lambda: np.array([S, S]), UntrackedError, f"nbgrad.array\\(nested\\) {PLAIN}"),
    "mixed list": (lambda: np.array([S, 1.0]), UntrackedError, f"np.stack or .* {PLAIN}"),
    "asarray": (lambda: np.asarray(V), UntrackedError, PLAIN),
    "truth": (lambda: bool(V), ValueError, "more than one element is ambiguous"),
    # writing
    "assign to a leaf": (assign_to_leaf, GraphError,
        r"v\[...\] = ... would overwrite the leaf v: write y = v.at\[i\].set\(v\) for a new array, "
        r"or v.data\[...\] = ... between backward passes"),
    "add to a leaf": (add_in_place, GraphError,
        r"v \+= ... would make the leaf v a computed array and stop its training: write "
        r"v.data \+= ..., or y = v \+ ... for a new array"),
    "out": (lambda: np.sin(V, out=np.ones(3)), NoRuleError,
        r"np.sin\(out=...\) cannot write into or from a tracked array; use the returned array"),
    "sort in place": (lambda: V.sort(), NoRuleError, r"use np.sort\(x\)"),
    "astype": (lambda: V.astype(int), TypeError, "float64 or float32; use x.data.astype"),
    # functions and arguments that nbgrad does not know
    "fft": (lambda: np.fft.fft(V), NoRuleError,
        "np.fft.fft has no derivative rule in nbgrad: compose it from functions that have one, or "
        "call it on x.data where no derivative is needed"),
    "svd": (lambda: np.linalg.svd(M), NoRuleError, "np.linalg.svd has no derivative rule"),
    "scipy": (lambda: scipy.special.gamma(V), NoRuleError, "gamma has no derivative rule"),
    "reduce": (lambda: np.add.reduce(V), NoRuleError, "such as np.sum or np.matmul"),
    "norm": (lambda: np.linalg.norm(M, 2), NoRuleError, "ord=2 needs singular values"),
    "pad": (lambda: np.pad(V, 1, mode="edge"), NotImplementedError, "only 'constant' has one"),
    "keyword": (lambda: np.sum(V, foo=1), TypeError, "sum.. got an unexpected keyword argument"),
    "where": (lambda: np.sin(V, where=np.ones(3, bool)), TypeError,
        r"^sin\(\) got an unexpected keyword argument 'where'"),
    "axis": (lambda: np.sum(M, axis=5), np.exceptions.AxisError,
        "sum: axis 5 is out of bounds for array of dimension 2"),
    "axis a": (lambda: np.max(M, axis="a"), TypeError, "max: axis='a': an axis is an integer"),
    "axis {}": (lambda: np.expand_dims(S, {}), TypeError, "cannot be interpreted as an integer"),
    "index": (lambda: V[5], IndexError, "index 5 is out of bounds for axis 0 with size 3"),
    "index a": (lambda: V["a"], IndexError, "only integers, slices"),
    "too many": (lambda: M[:, :, 0], IndexError, "too many indices for array"),
    "length": (lambda: len(S), TypeError, r"len\(\) of unsized object"),
    "attribute": (lambda: V.foo, AttributeError, "'TrackedArray' object has no attribute 'foo'"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_the_message_says_what_to_do(name):
    function, kind, pattern = MISTAKES[name]
    with pytest.raises(kind, match=pattern):
        function()
