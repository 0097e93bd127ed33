"""What a user can do wrong, the kind of error for it, and its whole text: op, shapes and remedy."""

import math

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from helpers.messages import text_of

import nbgrad
from nbgrad import DimensionMismatch, GraphError, NoRuleError, TraceError, UntrackedError, track
from nbgrad.core.numpy_class import NoAxes
from nbgrad.core.primitive import current_level

BROADCAST = (
    " do not broadcast; compare them from the right: each pair of lengths must be equal or one "
    "of them 1"
)
REAL = "; nbgrad computes with real numbers, so convert it to float64 or float32 first"
NO_RULE = (
    " has no derivative rule in nbgrad: compose it from functions that have one, or call it on "
    "x.data where no derivative is needed"
)
SPACE = "`import nbgrad.numpy as np`"
FILL = f"with {SPACE} plain arrays take tracked values, as np.zeros(shape, like=x) does"
INTO = f" cannot write a tracked array into a plain one: {FILL}"
OUT = "(out=...), or an augmented assignment such as +=," + INTO
TO_LEAF = (
    " would write to the leaf {0}: write {1} between backward passes, or y = {0}.copy() and write "
    "to that"
)
EDGES = (
    " has no derivative rule in nbgrad: it makes an array of plain numbers: np.linspace(np.min(x), "
    "np.max(x), bins + 1) is tracked"
)
LOST = "a tracked array cannot become a plain one without losing its derivative: "
OTHERWISE = (
    f"use x.data for a plain number, np functions instead of math functions; with {SPACE} arrays "
    "take tracked values, as those made with like=x do; and nbgrad.at(plain)[x].get() is the "
    "elements of a plain array at positions x"
)
PLAIN = LOST + OTHERWISE
NESTED = f"np.array(nested) of {SPACE}, or np.array(nested, like=x), takes them"
FLOAT = f"float() of a TrackedArray would lose its derivative: {OTHERWISE}"
INT = (
    "int() of a TrackedArray would lose its derivative: use np.rint(x) to stay "
    "tracked, nbgrad.loop in place of range, or int(x.data) for the plain number"
)
FREED = (
    "the graph of sum was freed by an earlier backward pass or a reset: call "
    "backward(keep_graph=True) the first time, or compute the value again; a state that goes on "
    "from step to step keeps numbers, as in state = state.data, not the graph of earlier steps"
)
STALE = (
    "the data of the tracked array x of shape (3,) was changed after multiply used it, and its "
    "backward pass needs the old values: call backward before the update, or run the forward "
    "pass again"
)
TRACKED_CT = (
    "multiply: a tracked cotangent, whose derivative would be lost: pass its .data, or call "
    "backward with create_graph=True"
)
OBJECTS = (
    " of Python objects is no array of numbers; nbgrad.array joins tracked ones, nbgrad.grad "
    "takes dicts and lists of arrays"
)
RAGGED = (
    "track: lists of different lengths make no array; make them equal, or keep the arrays in a "
    "list and differentiate with nbgrad.grad, which takes nested ones"
)
ONLY_REAL = ": only real numbers, as float64 or float32, can be differentiated"
NUMBER = ", not an array; return one number, such as np.sum(...)"
STATIC = "; all but floats are static, so write 2.0 for 2 or convert the array to float64"
COMPLEX = (
    ": the function gave a complex result for complex arguments: return a real one, such as "
    "np.sum(np.abs(z) ** 2), or pass holomorphic=True if it is holomorphic. Second "
    "derivatives of a real function are those of nbgrad.hessian"
)
FUNCTION = ": not a function but a value of type {}; pass the function itself, f and not f(x)"
TUPLES = (
    "jvp: primals and tangents are tuples, one entry for each argument, as in jvp(f, (x,), (v,))"
)
SQUARE = " is not that of square matrices: its last two lengths must be equal"
INNER = "; they must be equal, so transpose or reshape one"
WHOLE = "; it must be a whole number"
REDUCTION = (
    "; with tracked arrays it is np.sum(a, axis=None, dtype=None, *, keepdims: bool = False, "
    "initial=None, where=True)"
)

# Here x is a leaf of shape (3,), m of shape (2, 3), s a scalar, y = 2 * x, z = sum(x * x).
SHAPES = [
    *((call, f"{op}: an array of 33 axes; nbgrad takes up to 32, as many as NumPy broadcasts: "
       "np.reshape it first") for call, op in [
        ("np.sin(track(np.ones((1,) * 33)))", "sin"),
        ("track(np.ones((1,) * 33)) * 2.0", "multiply"),
        ("s + np.ones((1,) * 33)", "add"),
        ("np.broadcast_to(s, (1,) * 33)", "broadcast_to"),
    ]),
    ("x + np.ones(2)", "add: the shapes (3,), (2,)" + BROADCAST),
    ("np.ones((2, 2)) * x", "multiply: the shapes (2, 2), (3,)" + BROADCAST),
    ("np.maximum(x, track(np.ones(4)))", "maximum: the shapes (3,), (4,)" + BROADCAST),
    ("np.where(np.ones(2, bool), x, 0.0)", "where: the shapes (2,), (3,)" + BROADCAST),
    ("x < np.ones(2)", "less: the shapes (3,), (2,)" + BROADCAST),
    ("m @ m", "matmul: the shapes (2, 3) and (2, 3) do not fit: 3 columns on the left, 2 rows on "
     "the right" + INNER),
    ("m @ np.ones(2)", "matmul: the shapes (2, 3) and (2,) do not fit: 3 columns on the left, 2 "
     "rows on the right" + INNER),
    ("s @ x", "matmul: the shapes () and (3,): a scalar takes *, not @"),
    ("np.tensordot(m, m, 1)", "tensordot: the shapes (2, 3) and (2, 3) do not fit: the axes that "
     "are summed have lengths 3 and 2"),
    ("np.einsum('ij,jk->ik', m, m)", "einsum: the label 'j' has lengths 3 and 2 in the shapes "
     "(2, 3), (2, 3); they must be equal, or 1"),
    ("np.einsum('ij', x)", "einsum: the subscripts 'ij' do not name the axes of (3,): write one "
     "letter for each axis, or ... for those left out"),
    ("np.concatenate([m, np.ones((2, 2))])", "concatenate: the shapes (2, 3), (2, 2) differ "
     "outside of axis 0; they must agree there"),
    ("np.stack([x, 1.0])", "stack: the shapes (3,), () differ; stacked arrays need one shape"),
    ("nbgrad.array([[s], [s, 1.0]])", "stack: the shapes (1,), (2,) differ; stacked arrays need "
     "one shape"),
    ("np.reshape(x, (2, 2))", "reshape: 3 elements of shape (3,) do not fill (2, 2); its lengths "
     "must multiply to 3, and one of them may be -1"),
    ("np.broadcast_to(m, (1, 3))", "broadcast_to: the shape (2, 3) does not fill (1, 3); only an "
     "axis of length 1 can be repeated"),
    ("np.split(x, 2)", "split: the shape (3,) has no 2 equal parts along axis 0; np.array_split "
     "makes unequal ones"),
    ("np.linalg.inv(m)", "inv: the shape (2, 3)" + SQUARE),
    ("np.linalg.det(m)", "det: the shape (2, 3)" + SQUARE),
    ("np.linalg.solve(np.eye(2), x)", "solve: the shapes (2, 2) and (3,) do not fit: b must have "
     "2 rows"),
    ("nbgrad.mse(x, np.ones(2))", "mse: the prediction has shape (3,), the target (2,); reshape "
     "one of them"),
    ("x.at[:2].set(np.ones(3))", "at[index].set: a value of shape (3,) does not fill the shape "
     "(2,) that the index selects from an array of shape (3,)"),
    ("y.backward()", "backward of an array of shape (3,) needs a cotangent of that shape, such as "
     "z.backward(np.ones(z.shape)); only one element needs none"),
    ("y.backward(np.ones(2))", "multiply: a cotangent of shape (2,) for an array of shape (3,); "
     "they must be equal"),
    ("x.children[y](np.ones(2))", "multiply: a cotangent of shape (2,) for an array of shape "
     "(3,); they must be equal"),
    ("x.grad = np.ones(2)", "x: a cotangent of shape (2,) for an array of shape (3,); they must "
     "be equal"),
    ("x.data = np.ones(2)", "data of shape (2,) for a tracked array of shape (3,), which is "
     "fixed; track a new array"),
    ("track([[1.0], [1.0, 2.0]])", RAGGED),
    ("nbgrad.grad(np.sin)(np.ones(2))", "gradient: the function gave an array of shape (2,); a "
     "gradient needs one number, so sum it, or use vjp, jvp or jacobian"),
    ("nbgrad.jvp(np.sin, (1.0,), (1.0, 2.0))", "jvp: 1 primals and 2 tangents; pass one for each"),
    ("nbgrad.jvp(np.sin, (np.ones(2),), (np.ones(3),))", "jvp: a tangent of shape (3,) for an "
     "array of shape (2,); they must be equal"),
    ("nbgrad.vjp(np.sin, np.ones(2))[1](np.ones(3))", "vjp: a cotangent of shape (3,) for an "
     "array of shape (2,); they must be equal"),
]  # fmt: skip
NO_FLOAT = ", which is no float: write 2.0 for 2, convert the array to float64, or pass None"
WRONG_KINDS = [
    ("nbgrad.track(1j) < 2", "complex numbers have no order: compare np.abs(z), z.real or z.imag"),
    ("np.array([None] * 3) * x", "multiply: an operand of dtype object" + REAL),
    ("np.power(x, 'a')", "power: an operand of dtype <U1" + REAL),
    ("nbgrad.relu(None)", "relu: an operand of dtype object" + REAL),
    ("y[0] = 'a'", "y[...] = ...: a value of dtype <U1" + REAL),
    ("y.backward(np.ones(3) * 1j)", "multiply: a cotangent of dtype complex128" + REAL),
    ("y.backward('a')", "multiply: a cotangent of dtype <U1" + REAL),
    ("y.backward(x)", TRACKED_CT),
    ("y.grad = x", TRACKED_CT),
    ("x.children[y](x)", TRACKED_CT),
    ("x.grad = 1j", "x: a cotangent of dtype complex128" + REAL),
    ("x.data = np.ones(3) * 1j", "x.data: an array of dtype complex128" + REAL),
    ("track('text')", "track: an array of dtype <U4" + ONLY_REAL),
    ("track(np.array(['2020'], 'M8[Y]'))", "track: an array of dtype datetime64[Y]" + ONLY_REAL),
    ("track([None])", "track: an array of dtype object: a list" + OBJECTS),
    ("track({1, 2})", "track: an array of dtype object: a set" + OBJECTS),
    ("track({'a': 1.0})", "track: an array of dtype object: a dict" + OBJECTS),
    ("track(1j).astype(float)", "astype: complex128 to float64 discards the imaginary part: take "
     "z.real"),
    ("np.einsum(x, x)", "einsum: give a text of subscripts first, as in einsum('ij,jk->ik', x, "
     "y), or behind each array a list of whole numbers that name its axes"),
    ("np.sum(x, axis='a')", "sum: an axis is 'a'" + WHOLE),
    ("np.sum(m, axis=[0])", "sum: an axis is [0]" + WHOLE),
    ("np.max(x, axis=0.5)", "max: an axis is 0.5" + WHOLE),
    ("np.stack([x, x], axis='a')", "stack: an axis is 'a'" + WHOLE),
    ("x.reshape('a')", "reshape: a length is 'a'" + WHOLE),
    ("np.take(x, [1.5])", "take: the indices are float64; they must be integers"),
    ("f'{x:.3f}'", "the format '.3f' is for one number, not an array of shape (3,): use "
     "np.array2string(x.data, ...)"),
    ("np.sum(x, foo=1)", "sum() got an unexpected keyword argument 'foo'"),
    ("np.sum(x, out=plain)", "np.sum: got an unexpected keyword argument 'out'" + REDUCTION),
    ("np.where(x > 0, x)", "np.where: missing a required argument: 'y'; with tracked arrays it is "
     "np.where(condition, x, y)"),
    ("nbgrad.reset([1.0])", "reset: a list holds nothing that is tracked; track arrays with "
     "nbgrad.track"),
    ("nbgrad.accum(1.0)", "accum: a float is not tracked; track arrays with nbgrad.track"),
    ("np.sum(x).backward(retain=[plain])", "backward: retain holds a ndarray; give tracked arrays, "
     "[h1, h2]"),
    ("nbgrad.grad(lambda x: None)(1.0)", "gradient: the function gave NoneType" + NUMBER),
    ("nbgrad.grad(lambda x: 'a')(1.0)", "gradient: the function gave str" + NUMBER),
    ("nbgrad.grad(lambda x: (x, x))(1.0)", "gradient: the function gave tuple" + NUMBER
     + "; return the rest with has_aux"),
    ("nbgrad.grad(np.sin)(3)", "gradient: argument 0 holds no float to differentiate with respect "
     "to (int)" + STATIC),
    ("nbgrad.grad(np.exp)(1j)", "gradient" + COMPLEX),
    ("nbgrad.jacobian(np.exp)(1j)", "jacobian" + COMPLEX),
    ("nbgrad.grad(3)", "gradient" + FUNCTION.format("int")),
    ("nbgrad.gradient(np.sum(x), 1.0)", "gradient" + FUNCTION.format("TrackedArray")),
    ("nbgrad.grad(np.sin, 'x')", "gradient: argnums is 'x'; give the position of an argument, or "
     "a tuple of positions"),
    ("nbgrad.compile(3)", "compile" + FUNCTION.format("int")),
    ("nbgrad.jvp(None, (1.0,), (1.0,))", "jvp" + FUNCTION.format("NoneType")),
    ("nbgrad.jvp(np.sin, 1.0, 1.0)", TUPLES),
    ("nbgrad.jvp(np.sin, np.ones(2), np.ones(2))", TUPLES),
    ("nbgrad.jvp(np.sin, (2,), (1.0,))", "jvp: a tangent for a value of type int" + NO_FLOAT),
    ("nbgrad.jvp(np.sin, (np.ones(2),), (np.ones(2, 'f'),))", "jvp: a tangent of dtype float32 for "
     "an array of float64; convert it with .astype(np.float64)"),
    ("nbgrad.jvp(np.sin, (np.ones(2),), ([1.0, 1.0],))", "jvp: the tangent nests as [*, *], and "
     "must nest as one array"),
    ("nbgrad.vjp(lambda x: {'a': x, 'b': x}, 1.0)[1]({'a': 1.0})", "vjp: the cotangent nests as "
     "{'a': *}, and must nest as {'a': *, 'b': *}"),
    ("nbgrad.vjp(np.sin, 2)", "vjp: argument 0 holds no float to differentiate with respect to "
     "(int)" + STATIC),
    ("nbgrad.grad(np.sin, has_aux=True)(1.0)", "gradient: with has_aux the function returns a pair "
     "(value, aux), and it gave TrackedArray"),
    ("nbgrad.jvp(lambda x: None, (1.0,), (1.0,))", "jvp: the function gave NoneType, not an "
     "array; return an array, or nested dicts, lists and tuples of arrays"),
    ("nbgrad.check_grads(np.sin, 1.0)", "check_grads: args must be a tuple, as in "
     "check_grads(f, (x,))"),
    ("nbgrad.check_grads(lambda x: None, (1.0,))", "check_grads: the function returned a "
     "NoneType, not an array"),
]  # fmt: skip
WITHOUT_A_RULE = [
    ("np.histogram_bin_edges(x)", "np.histogram_bin_edges" + EDGES),
    (
        "scipy.special.nctdtr(3, 1, x)",
        "scipy.special.nctdtr has no derivative rule in nbgrad: nbgrad.custom_elementwise or "
        "nbgrad.custom_rule takes its derivative from you",
    ),
    (
        "np.sin(x, where=x > 0)",
        "np.sin(where=...) leaves the other elements as they come: give it "
        "out=..., or write np.where(mask, np.sin(...), other)",
    ),
]
UNTRACKED = [
    ("np.add.reduce(x, out=plain)", "np.add.reduce(out=...)" + INTO),
    ("np.sin(x, out=plain)", "np.sin" + OUT),
    ("plain += x", "np.add" + OUT),
    ("np.copyto(plain, x)", "np.copyto" + INTO),
    ("np.add.at(plain, 0, s)", "np.add.at" + INTO),
    ("np.asarray(x)", PLAIN),
    ("np.array([x, y])", PLAIN),
    ("np.array([s, 1.0])", PLAIN),
    *(
        (
            f"np.{f}([s, 1.0])",
            f"np.{f}: {LOST}give np.{f} an array: {NESTED}; x.data is plain numbers",
        )
        for f in ("sum", "mean", "max")
    ),
    ("track([s, s])", PLAIN),
    ("plain[:] = x", f"assignment into a plain array: {LOST}{FILL}"),
    (
        "plain[1] = s",
        "assignment into a plain array: float() of a TrackedArray would lose its derivative: "
        + FILL,
    ),
    (
        "np.full(3, s)",
        f"np.full: {LOST}np.full of {SPACE}, or np.full(shape, v, like=v), takes a tracked v",
    ),
    (
        "scipy.linalg.expm(m)",
        "scipy.linalg.expm: nbgrad.linalg.expm takes tracked arrays; " + PLAIN,
    ),
    ("x.data = y", PLAIN),
    ("float(x)", FLOAT),
    ("math.sin(s)", FLOAT),
    ("math.floor(s)", FLOAT),
    ("nbgrad.grad(math.sin)(1.0)", FLOAT),
    ("int(s)", INT),
    (
        "complex(s)",
        "complex(x) would lose the derivative: x.astype(complex) stays tracked; with `import "
        "nbgrad.numpy as np` plain arrays take tracked values, as np.zeros(shape, like=x) does; or "
        "use x.data for the plain number",
    ),
]
GRAPH = [
    (
        "z.backward(retain=[y])",
        "backward: the output was not computed from the multiply of shape (3,) that retain holds, "
        "so it has no gradient",
    ),
    ("z.backward(); z.backward()", FREED),
    ("nbgrad.reset(x); z.backward()", FREED),
    ("x.data -= 1.0; z.backward()", STALE),
    ("x.data = [3.0, 4.0, 5.0]; z.backward()", STALE),
    ("x += 1", "x += ..." + TO_LEAF.format("x", "x.data += ...")),
    ("s *= 2", "s *= ..." + TO_LEAF.format("s", "s.data *= ...")),
    ("x[0] = 1.0", "x[...] = ..." + TO_LEAF.format("x", "x.data[...] = ...")),
    ("x[1:][0] = 1.0", "x[...] = ..." + TO_LEAF.format("x", "x.data[...] = ...")),
    ("x.sort()", "x.sort()" + TO_LEAF.format("x", "x.data.sort()")),
    ("np.copyto(x, 1.0)", "np.copyto(x, v)" + TO_LEAF.format("x", "np.copyto(x.data, v)")),
    ("np.add.at(x, 0, 1.0)", "np.add.at(x, i, v)" + TO_LEAF.format("x", "np.add.at(x.data, i, v)")),
    ("y.data = np.ones(3)", "the data of a computed array (multiply) cannot be set: compute a new "
     "array"),
    ("np.zeros_like(x).backward(np.ones(3))", "backward of full, which was computed from no "
     "tracked array: there is no graph to walk; inside of no_tracking() none is made"),
]  # fmt: skip
OTHERS = [
    ("len(s)", NoAxes, "object of type 'numpy.float64' has no len()"),
    ("iter(s)", TypeError, "'numpy.float64' object is not iterable"),
    ("x.foo", AttributeError, "a TrackedArray has no attribute 'foo': see dir(x)"),
    ("x.numpy()", AttributeError, "a TrackedArray has no attribute 'numpy': x.data is the plain "
     "array"),
    ("x.tobytes()", AttributeError, "a TrackedArray has no attribute 'tobytes': x.data.tobytes is "
     "that of the plain values, without a derivative"),
    ("x.shape = (3, 1)", AttributeError, "the shape of an array in a graph is fixed: use "
     "np.reshape(x, shape)"),
    ("x.dtype = np.float32", AttributeError, "the dtype of an array in a graph is fixed: use "
     "x.astype(dtype)"),
    ("x.at.set(1.0)", AttributeError, "x.at.set: it takes an index first, as in x.at[i].set(v)"),
    ("x.at[0].power(2.0)", AttributeError, "x.at[i].power: there are set, add, subtract, multiply, "
     "divide, max and min"),
    ("del x[0]", ValueError, "cannot delete elements of an array: take the others, as in x[1:]"),
    ("x.children[m]", KeyError, "'that array was not computed from this one; list(x.children) "
     "were'"),
    ("x[7]", IndexError, "index 7 is out of bounds for axis 0 with size 3"),
    ("np.sum(x, axis=1)", np.exceptions.AxisError, "sum: axis 1 is out of bounds for array of "
     "dimension 1"),
    ("np.concatenate([m, m], axis=7)", np.exceptions.AxisError, "concatenate: axis 7 is out of "
     "bounds for array of dimension 2"),
    ("x.sum(axis=(0, 0))", ValueError, "sum: the axes (0, 0) name one axis twice"),
    ("np.transpose(m, (0,))", ValueError, "transpose: axes (0,) do not permute the 2 axes of the "
     "array; name each once"),
    ("np.einsum('i,i->k', x, x)", ValueError, "einsum: Output character 'k' did not appear in the "
     "input"),
    ("nbgrad.grad(np.sin, 2)(3.0, 2.0)", ValueError, "gradient: argnums 2 with 2 positional "
     "arguments: pass the argument to differentiate by position"),
    ("bool(x)", ValueError, "The truth value of an array with more than one element is ambiguous. "
     "Use a.any() or a.all()"),
    ("nbgrad.compile(lambda x: x if x > 0 else -x)(1.0)", TraceError, "the truth of a traced value "
     "is not known while the function is recorded: use np.where(condition, x, y), "
     "nbgrad.cond(condition, f, g, *args), which runs one of two functions, nbgrad.while_loop in "
     "place of while, or name the argument in static_argnames, or the attributes of its class that "
     "hold arrays in "
     "nbgrad.register(fields=...) (<mistake>:1)"),
]  # fmt: skip
TABLE = [
    *((code, DimensionMismatch, text) for code, text in SHAPES),
    *((code, TypeError, text) for code, text in WRONG_KINDS),
    *((code, NoRuleError, text) for code, text in WITHOUT_A_RULE),
    *((code, UntrackedError, f"{text} (<mistake>:1)") for code, text in UNTRACKED),
    *((code, GraphError, text) for code, text in GRAPH),
    *OTHERS,
]


@pytest.mark.parametrize(("code", "kind", "text"), TABLE, ids=[code for code, _, _ in TABLE])
def test_each_mistake_is_told_with_its_remedy(code, kind, text):
    x, m, s = track([1.0, 2.0, 3.0], "x"), track(np.ones((2, 3)), "m"), track(2.0, "s")
    names = {
        "np": np, "nbgrad": nbgrad, "track": track, "math": math, "scipy": scipy,
        "x": x, "m": m, "s": s, "y": x * 2.0, "z": np.sum(x * x), "plain": np.zeros(3),
    }  # fmt: skip
    with pytest.raises(kind) as caught:
        exec(compile(code, "<mistake>", "exec"), names)
    assert issubclass(caught.type, kind)
    assert text_of(caught.value) == text
    assert current_level() == 0
    np.testing.assert_array_equal(names["plain"], np.zeros(3))


def test_kinds_of_errors_are_those_that_numpy_code_expects():
    assert issubclass(DimensionMismatch, ValueError)
    assert issubclass(NoRuleError, NotImplementedError)
    # As both of these it passes unchanged through NumPy and SciPy.
    assert issubclass(UntrackedError, NotImplementedError)
    assert issubclass(UntrackedError, TypeError)
    for name in ("DimensionMismatch", "NoRuleError", "UntrackedError", "GraphError", "TraceError"):
        assert issubclass(getattr(nbgrad, name), nbgrad.NbgradError)
