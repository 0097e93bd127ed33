"""Random programs of complex numbers: values as NumPy's, derivatives in all modes and tiers."""

import warnings
from typing import Any

import numpy as np

import nbgrad

__all__ = ["draw", "fault"]

_UNARY = (
    "np.exp({})", "np.sin({})", "np.cos({})", "np.tanh({})", "np.sinh({}) * 0.1", "np.sqrt({})",
    "np.log({} + 2.5)", "np.arctan({} * 0.3)", "np.arcsinh({})", "np.log1p({} * 0.2)",
    "np.expm1({})", "np.square({})", "{} ** 3", "{} ** -1", "{} ** 0.5", "np.conj({})", "-{}",
    "np.abs({})", "np.angle({} + 3)", "{}.real", "{}.imag", "{} * 1j", "{} * (0.5 - 1j)", "1j - {}",
    "np.sign({})", "np.reciprocal({})", "np.sinc({} * 0.2)", "{}.conj()", "np.fft.fft({})",
    "np.fft.ifft({})", "np.cumsum({})", "{}[::-1]", "np.roll({}, 1)", "np.flip({})",
    "np.mean({}) + {}", "np.where(w > 0, {}, 1j)", "np.concatenate([{}[1:], {}[:1]])",
    "m @ {}", "{} @ m", "np.linalg.solve(m + 4 * np.eye(4), {})", "{}.copy()",
    "np.cumprod({} * 0.5)",
    "np.diff({}, append=1j)", "np.reshape({}, (2, 2)).T.ravel()", "np.take({}, [3, 0, 0, 1])",
    "np.tile({}, 2)[2:6]", "np.prod({} * 0.7) * w", "np.var({}) * w", "np.stack([{}, w]).sum(0)",
    "np.einsum('ij,j->i', m, {})", "np.convolve({}, w, 'same')", "np.pad({}[1:], (0, 1))",
)  # fmt: skip
_BINARY = (
    "{} + {}", "{} - {}", "{} * {}", "{} / ({} + 3)", "({} + 2.5) ** (0.3 * {})",
    "np.dot({}, {}) * w",
    "np.vdot({}, {}) + w", "np.outer({}, {})[1]", "np.where(w > 0, {}, {})", "{} * {}.real",
    "np.convolve({}, {}, 'same')", "np.stack([{}, {}])[:, ::-1].sum(axis=0)",
)  # fmt: skip
_WRITES = (
    "x{0} = x{0}.copy(); x{0}[1:3] = {1}[:2]", "x{0} = x{0} + 0j; x{0}.real[0] = 0.5",
    "x{0} = 1j * x{0}; x{0}[::2] *= 1 - 0.5j", "x{0} = x{0} + 0j; x{0}.imag += {1}.real",
    "x{0} = x{0} + 0j; v = x{0}[1:]; v += 0.3j; x{0}[0] = v[1]",
)  # fmt: skip


def draw(seed: int) -> tuple[str, tuple[Any, ...]]:
    """The text of a function of complex z, y and m and real w, and its arguments."""
    rng = np.random.default_rng(seed)
    lines, names = ["x0 = z", "x1 = y", "x2 = w"], 3

    def some() -> str:
        return f"x{rng.integers(names)}"

    for _ in range(rng.integers(2, 7)):
        kind = rng.random()
        if kind < 0.15:
            lines.append(_WRITES[rng.integers(len(_WRITES))].format(rng.integers(names), some()))
            continue
        form = (_UNARY if kind < 0.65 else _BINARY)[
            rng.integers(len(_UNARY if kind < 0.65 else _BINARY))
        ]
        one = some()
        parts = [one, one] if kind < 0.65 else [some(), some()]
        lines.append(f"x{names} = {form.format(*parts)}")
        names += 1
    text = "def f(z, y, m, w):\n    " + "\n    ".join([*lines, f"return x{names - 1}"])
    real, imag = rng.normal(size=(2, 24))
    numbers = np.round(real + 1j * imag, 3)
    args = numbers[:4], numbers[4:8], numbers[8:].reshape(4, 4), np.round(rng.normal(size=4), 3)
    return text + "\n", args


def fault(seed: int, compiled: bool = True) -> str:
    """What is wrong with the program of a seed, as text; "" if nothing is, or nothing can be said,
    as of values that are not finite or of differences that do not settle."""
    text, args = draw(seed)
    scope: dict[str, Any] = {"np": np}
    exec(text, scope)
    f = scope["f"]
    rng = np.random.default_rng(seed + 1)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = np.asarray(f(*args))
        if not np.all(np.isfinite(expected)) or np.max(np.abs(expected)) > 1e4:
            return ""
        told = _compared(f, args, expected, rng, compiled)
    return f"# seed {seed}\n{text}# {told}" if told else ""


def _compared(f: Any, args: tuple, expected: Any, rng: Any, compiled: bool) -> str:
    value, pullback = nbgrad.vjp(f, *args)
    if not np.allclose(value, expected, 1e-8, 1e-9):
        return f"the value is {value}, and must be {expected}"
    ways = tuple(_noise(rng, x) for x in args)
    tangent = nbgrad.jvp(f, args, ways)[1]
    ct = _noise(rng, expected)
    pulled = pullback(ct)
    left, right = _inner(pulled, ways), _inner([ct], [tangent])
    if not np.isfinite(left) or not np.isfinite(right):
        return ""
    size = 1.0 + abs(left) + sum(float(np.sum(np.abs(x))) for x in pulled)
    if abs(left - right) > 1e-8 * size:
        return f"the adjoint identity is off: {left} and {right}"
    first, second = (_difference(f, args, ways, step) for step in (1e-5, 3e-6))
    if np.allclose(first, second, 1e-6, 1e-7) and not np.allclose(tangent, second, 1e-4, 1e-5):
        return f"the tangent is {tangent}, and must be {second}"
    if compiled:
        both = nbgrad.compile(lambda *args: (f(*args), nbgrad.vjp(f, *args)[1](ct)))
        found = both(*args)
        for x, y in zip((found[0], *found[1]), (value, *pulled), strict=True):
            if not np.allclose(x, y, 1e-8, 1e-8 * size):
                return f"compiled it is {x}, and must be {y}"
    return ""


def _noise(rng: Any, like: Any) -> Any:
    x = rng.normal(size=like.shape)
    return x + 1j * rng.normal(size=like.shape) if np.iscomplexobj(like) else x


def _inner(a: Any, b: Any) -> float:
    return sum(float(np.sum((np.conj(x) * y).real)) for x, y in zip(a, b, strict=True))


def _difference(f: Any, args: tuple, ways: tuple, step: float) -> Any:
    high = f(*(x + step * d for x, d in zip(args, ways, strict=True)))
    low = f(*(x - step * d for x, d in zip(args, ways, strict=True)))
    return (high - low) / (2 * step)
