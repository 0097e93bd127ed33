"""The vocabulary that reads itself: every row and every NumPy function that takes tracked arrays.

A row enters by what it says of itself: an elementwise one by its arguments and domains, another by
its samples. A function that is no row enters by the calls that NumPy accepts.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import nbgrad
from nbgrad.core.array import functions
from nbgrad.core.primitive import Primitive
from nbgrad.rules.families import Elementwise, Interval, Nondifferentiable, positive

from . import control, indices, layout, products
from .draft import Draft, is_array
from .oracle import Unusable
from .reference import Reference
from .vocabulary import OPS, Op, broadcasts

__all__ = ["INNER", "control", "indices", "known", "layout", "products", "vocabulary"]

OPERATORS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//",
    "remainder": "%", "power": "**", "less": "<", "less_equal": "<=", "greater": ">",
    "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip

INNER = {
    "assign_at", "full", "scale", "scatter", "scatter_at", "one_hot", "unbroadcast", "detsign",
    "random_integers", "random_normal", "random_permutation", "random_uniform", "sigmoid_slope",
    "eig", "eigh", "qr", "svd", "lambertw", "polygamma", "logm", "sqrtm", "sliding_product",
    "expm_along", "logm_along", "sqrtm_along", "solve_sylvester", "overlap", "recurrence", "runs",
    "csr_pairs", "csr_product", "csr_transposed", "spsolve", "feedback", "dft", "half_to_real",
    "real_to_half",
}  # fmt: skip
"""Rows that others are made of, or whose draws no oracle knows; those of sparse and of complex
arrays, which are drawn elsewhere; and those of functions that SciPy
writes in Python, which takes tracked arrays apart."""

SIGNED = {"signbit", "copysign", "arctan2"}
"""Rows that tell zeros apart by their signs, which rounding decides."""

POLED = {"beta", "betaln"}
"""Rows of quotients of functions with poles: at these they have slopes in one argument alone."""

SKIPPED = {
    "shape", "ndim", "size", "array_repr", "array_str", "array2string", "iscomplexobj", "argwhere",
    "nonzero", "flatnonzero", "histogram", "histogram2d", "histogramdd", "digitize",
    "empty_like", "allclose", "array_equal",
    "array_equiv", "copy", "slogdet", "where", "clip", "searchsorted", "count_nonzero",
    "histogram_bin_edges", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values", "intersect1d", "setdiff1d", "setxor1d", "union1d", "extract",
    "compress", "trim_zeros", "diag_indices_from", "tril_indices_from", "triu_indices_from",
    "row_stack",
    "eigh", "eigvalsh", "eig", "eigvals", "svd", "svdvals", "matrix_norm", "cond", "poly",
    "qr", "polymul",
}  # fmt: skip
"""Functions that give no array of floats, or one whose size depends on numbers; or whose factors
have no derivative where some are equal, as they often are in programs that are drawn; or one whose
leading zeros NumPy drops."""


def spelled(row: Primitive) -> str | None:
    """The public function of a row as one writes it."""
    if isinstance(row.function, np.ufunc) or inspect.isroutine(row.function):
        home = (row.function.__module__ or "numpy").replace("numpy", "np", 1)
        if home in ("np", "np.linalg"):
            return f"{home}.{row.function.__name__}"
    if hasattr(nbgrad, row.name) and hasattr(Reference, row.name):
        return f"nbgrad.{row.name}"
    for text in (row.spelling, row.reference):
        name = re.search(r"(np|scipy\.special)\.\w+", text) if isinstance(text, str) else None
        if name is not None:
            return name[0].removeprefix("scipy.")
    return None


def elementwise(row: Primitive, call: str) -> Op:
    """An op of an elementwise row: any shapes that broadcast, numbers of Python among them."""
    arity = row.arity if isinstance(row, Elementwise) else row.function.nin
    domains = getattr(row, "domains", (Interval(-2.5, 2.5),) * arity)

    def draw(d: Draft) -> int:
        args, texts, low = [], [], 0.0
        wild = row.name not in POLED and d.chance(0.1)  # any number that NumPy takes
        for k in range(arity):
            low, high = domains[k]
            before = [d.values[i] for i in args]
            if k in getattr(row, "refusals", ()):  # it must be plain
                texts.append(f"np.array({d.rng.uniform(max(low, 0.2), high):.2f})")
                continue
            if k and d.prefers_number(0.3):
                x = round(float(d.rng.uniform(max(low, -2.0), min(high, 2.0))), 2)
                whole = d.one((-1, 0, 1, 1, 2, round(x)))  # of which rules have forms of their own
                if low < whole < high and d.chance(0.6):
                    x = whole if d.chance(0.5) else float(whole)
                texts.append(f"({x})")
                continue
            if before and d.chance(0.1):
                i = args[0]
            else:
                i = d.pick(
                    lambda x, before=before: broadcasts(x, *before),
                    low=max(low, -2.0), high=min(high, 2.0),
                    **({"shape": _part(d, before[0])} if before else {}),
                )  # fmt: skip
            if not wild:
                i = d.within(i, low, high)
            texts.append(f"{{{len(args)}}}")
            args.append(i)
        if row.name in SIGNED and any(np.any(np.asarray(d.values[i]) == 0) for i in args):
            raise Unusable("the sign of a zero is no number's")
        if row.name == "power" and any(_is_bool(d.values[i]) for i in args):
            raise Unusable("of bools NumPy's arrays and numbers have powers of other dtypes")
        if row.name == "power" and len(args) == 2 and np.any(np.asarray(d.values[args[0]]) <= 0):
            raise Unusable("nan is the derivative in the exponent")
        sign = OPERATORS.get(row.name)
        if sign and len(texts) == 2 and d.chance(0.7):
            if "(" in texts[1] and d.chance(0.4) and low <= 0:
                texts.reverse()
            return d.step(row.name, args, f"{texts[0]} {sign} {texts[1]}")
        if row.name in ("negative", "absolute") and d.chance(0.7):
            return d.step(row.name, args, "-{0}" if row.name == "negative" else "abs({0})")
        return d.step(row.name, args, f"{call}({', '.join(texts)})")

    return draw


def _is_bool(x: Any) -> bool:
    return np.ndim(x) == 0 and np.asarray(x).dtype == bool


def _part(d: Draft, x: Any) -> tuple[int, ...]:
    """A shape that broadcasts against that of x."""
    shape = [n if d.chance(0.7) else 1 for n in np.shape(x)]
    return tuple(shape[d.number(0, len(shape)) if d.chance(0.3) else 0 :])


def sampled(row: Primitive, call: str) -> Op:
    """An op of a row by its samples: arrays of the shapes that they name."""
    names = inspect.signature(row.function).parameters if callable(row.function) else {}

    def draw(d: Draft) -> int:
        sample = d.one(list(row.samples))
        args, texts = [], []
        for spec in sample.args:
            if isinstance(spec, tuple) and all(isinstance(n, int) for n in spec):
                low, high = sample.domain
                i = d.shaped(spec, low, high)
                if type(sample.domain) is not Interval:  # far from singular
                    i = d.step("add", [i], f"{{0}} + 2.0 * np.eye({spec[-1]})")
                texts.append(f"{{{len(args)}}}")
                args.append(i)
            else:
                value = np.asarray(spec)
                texts.append(f"np.array({value.tolist()})")
        params = {
            ("axis" if k == "axes" and "axes" not in names else k): v
            for k, v in sample.params.items()
        }
        options = "".join(f", {k}={v!r}" for k, v in params.items())
        given = f"[{', '.join(texts)}]" if "arrays" in names else ", ".join(texts)
        return d.step(row.name, args, f"{call}({given}{options})")

    return draw


_FORMS = ("{f}({{0}})", "{f}({{0}}, {{1}})", "{f}([{{0}}, {{1}}])", "{f}({{0}}, 1)",
          "{f}({{0}}, 2)[0]",
          "{f}({{0}}, 1)[0]", "{f}({{0}})[0]", "{f}({{0}}, {{1}})[1]")  # fmt: skip


def forms_of(call: str) -> list[tuple[str, tuple[int, ...]]]:
    """The calls of a function that NumPy accepts for some arrays, as texts, and the shape of those;
    the calls that tracked arrays refuse by a clear error go, as long as others are left."""
    taken, refused = [], []
    for form in _FORMS:
        text = form.format(f=call)
        for shape in ((3,), (2, 2), (2, 2, 2), (2, 1, 2)):
            x = np.linspace(0.1, 0.9, int(np.prod(shape))).reshape(shape)
            try:
                with np.errstate(all="ignore"):
                    out = eval(text.format("x", "y"), {"np": np, "x": x, "y": x * 0.9})
                    if text.endswith("]") and isinstance(_whole(text, x), np.ndarray):
                        break  # an element hides what the others are
            except Exception:
                continue
            if isinstance(out, (np.ndarray, np.generic)) and out.dtype.kind in "fiub":
                (taken if _takes(text, x) else refused).append((text, shape))
                break
    return taken or refused


def _whole(text: str, x: np.ndarray) -> Any:
    """What a call gives of which only an item is taken."""
    call = text[: text.rindex("[")]
    return eval(call.format("x", "y"), {"np": np, "x": x, "y": x * 0.9})


def _takes(text: str, x: np.ndarray) -> bool:
    """Whether a call is anything but refused for tracked arrays."""
    try:
        eval(text.format("x", "y"), {"np": np, "x": nbgrad.track(x), "y": nbgrad.track(x)})
    except (nbgrad.NbgradError, NotImplementedError):
        return False
    except Exception:
        return True
    return True


def by_trial(name: str, forms: list[tuple[str, tuple[int, ...]]]) -> Op:
    """An op of a function that is known by the calls it takes."""

    def draw(d: Draft) -> int:
        form, shape = d.one(forms)
        if d.chance(0.3):  # whatever there is may not fit
            i = d.shaped(shape)
        else:
            i = d.pick(is_array if d.chance(0.8) else lambda x: True)
        if name == "float_power":
            i = d.within(i, *positive)
        args = [i]
        if "{1}" in form:
            j = d.find(lambda x: np.shape(x) == np.shape(d.values[i]))
            args.append(i if j is None else j)
        return d.step(name, args, form)

    return draw


def vocabulary() -> dict[str, Op]:
    """Every op by name: those written by hand, then what rows and functions say of themselves."""
    ops = dict(OPS)
    for row in Primitive.registry.values():
        call = spelled(row)
        if row.name in ops or row.name in INNER or call is None:
            continue
        if isinstance(row, (Elementwise, Nondifferentiable)):
            ops[row.name] = elementwise(row, call)
        elif row.samples:
            ops[row.name] = sampled(row, call)
    for target in list(functions):
        name = getattr(target, "__name__", "")
        if isinstance(target, str) or not name or name in ops or name in SKIPPED:
            continue
        home = (getattr(target, "__module__", None) or "numpy").replace("numpy", "np", 1)
        forms = forms_of(f"{home}.{name}")
        if forms:
            ops[name] = by_trial(name, forms)
    return ops


def known(ops: Mapping[str, Callable[[Any], int]], d: Draft, name: str) -> int:
    """One step of this name. Raises Unusable where it does not fit."""
    try:
        return ops[name](d)
    except (IndexError, ZeroDivisionError, OverflowError) as error:
        raise Unusable(str(error)) from None
