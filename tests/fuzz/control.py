"""Steps that contain functions: loops, scans, samples, checkpoints, rules, derivatives."""

import numpy as np

from .draft import Draft, is_array, is_float
from .vocabulary import op

SMOOTH = (
    "np.sin({})", "np.tanh({})", "{} * 0.5", "{} * {}", "np.cos({}) + {}", "1.0 - {}",
    "np.exp(-{} * {})",
    "{} / (1.0 + {} ** 2)", "np.arctan({})", "nbgrad.sigmoid({})",
)  # fmt: skip
ANALYTIC = SMOOTH[:6]
# Which states a loop keeps.
KEPT = ("", "", ', checkpoint="sqrt"', ", checkpoint=2", ', checkpoint="log"')


def body(d: Draft, name: str, forms=SMOOTH) -> str:
    """A smooth expression of one value, which keeps its shape."""
    text = name
    for _ in range(d.number(1, 2)):
        form = d.one(forms)
        text = form.replace("{}", text if text == name else f"({text})")
    return text


@op
def loop(d: Draft) -> int:
    i = d.pick(is_float, dtype="float64")
    n = d.number(0, 4)
    if is_array(d.values[i]) and np.size(d.values[i]) and d.chance(0.2):
        return d.step(
            "loop", [i], f"nbgrad.loop({n}, lambda i, s: {body(d, 's')} + i * 0.1, {{0}})"
        )
    if d.chance(0.3):
        state = "({0} * 1.0, {0} * 2.0)"
        text = f"nbgrad.loop({n}, lambda i, s: (s[1], {body(d, 's[0]')}), {state})[1]"
        return d.step("loop", [i], text)
    kept = d.one(KEPT)
    return d.step("loop", [i], f"nbgrad.loop({n}, lambda i, s: {body(d, 's')}, {{0}}{kept})")


@op
def loop_of_constants(d: Draft) -> int:
    """The carry begins as a number that no derivative reaches."""
    i = d.pick(is_float, dtype="float64")
    dtype = ", np.float32" if np.asarray(d.values[i]).dtype == np.float32 else ""
    start = d.one([f"np.zeros({np.shape(d.values[i])}{dtype})", "{0} * 0.0"])
    return d.step(
        "loop", [i], f"nbgrad.loop({d.number(0, 3)}, lambda i, s: np.sin(s) + {{0}}, {start})"
    )


@op
def scan(d: Draft) -> int:
    i = d.pick(lambda x: is_array(x) and is_float(x), shape=(3,), dtype="float64")
    shape = np.shape(d.values[i])[1:]
    start = d.alike(d.shaped(shape), d.values[i])
    which = d.number(0, 1)
    step = f"lambda s, x: ({body(d, '(s + x)')}, s * x)"
    text = f"nbgrad.scan({step}, {{1}}, {{0}}{d.one(KEPT)})[{which}]"
    return d.step("scan", [i, start], text)


@op
def while_loop(d: Draft) -> int:
    """A count and a truth of the numbers together end it."""
    i = d.pick(is_float, dtype="float64")
    test = f"np.logical_and(s[1] < {d.number(0, 4)}, np.sum(s[0]) > -{d.number(1, 9)}.5)"
    text = f"nbgrad.while_loop(lambda s: {test}, lambda s: ({body(d, 's[0]')}, s[1] + 1)"
    return d.step("while_loop", [i], f"{text}, ({{0}}, 0), 6)[0]")


@op
def cond(d: Draft) -> int:
    i = d.pick(is_float, dtype="float64")
    sides = f"lambda x: {body(d, 'x')}, lambda x: {body(d, 'x')}"
    text = f"nbgrad.cond(np.sum({{0}}) > {d.number(-2, 3)}.25, {sides}, {{0}})"
    return d.step("cond", [i], text)


@op
def vmap(d: Draft) -> int:
    i = d.pick(lambda x: is_array(x) and is_float(x), shape=(3, 2), dtype="float64")
    rank = np.ndim(d.values[i]) - 1
    inner = body(d, "r")
    if rank and d.chance(0.3):
        inner = d.one([f"np.sum({inner}, axis=0)", f"({inner})[0]",
                       f"np.cumsum({inner}, axis=0)",
                       "np.sort(r, axis=0)", f"np.max({inner})",
                       "r.T", "r[::-1]", "np.sum(r)"])  # fmt: skip
    if d.chance(0.25):
        j = d.shaped(np.shape(d.values[i])[1:])
        text = f"nbgrad.vmap(lambda r, s: {inner} * s, in_axes=(0, None))({{0}}, {{1}})"
        return d.step("vmap", [i, j], text)
    if rank and d.chance(0.2):
        return d.step("vmap", [i], f"nbgrad.vmap(nbgrad.vmap(lambda r: {body(d, 'r')}))({{0}})")
    return d.step("vmap", [i], f"nbgrad.vmap(lambda r: {inner})({{0}})")


@op
def vmap_gather(d: Draft) -> int:
    """A position for each sample, in the rows of samples or of one shared array."""
    i = d.pick(
        lambda x: is_array(x) and np.ndim(x) > 1 and np.size(x) > 0 and is_float(x),
        shape=(3, 2),
        dtype="float64",
    )
    n, m = np.shape(d.values[i])[:2]
    shared = d.chance(0.4)
    top = n if shared else m
    wild = d.chance(0.06)
    j = d.given(d.rng.integers(-top, 3 * top if wild else top, n))
    if shared:
        return d.step(
            "gather", [i, j], "nbgrad.vmap(lambda r, k: r[k], in_axes=(None, 0))({0}, {1})"
        )
    return d.step("gather", [i, j], "nbgrad.vmap(lambda r, k: r[k])({0}, {1})")


@op
def vmap_integers(d: Draft) -> int:
    i = d.new((d.number(1, 3),), d.one(["int64", "int32", "uint8", "bool"]))
    inner = d.one(
        [
            "k + 1",
            "k * 2",
            "k // 2",
            "k ** 2",
            "np.maximum(k, 1)",
            "np.where(k > 1, k, 0)",
            "-k",
            "k / 2",
        ]
    )
    return d.step("vmap", [i], f"nbgrad.vmap(lambda k: {inner})({{0}})")


@op
def map(d: Draft) -> int:
    i = d.pick(lambda x: is_array(x) and is_float(x) and len(x) > 0, shape=(3, 2), dtype="float64")
    return d.step("map", [i], f"nbgrad.map(lambda r: {body(d, 'r')}, {{0}})")


@op
def checkpoint(d: Draft) -> int:
    i = d.pick(is_float, dtype="float64")
    j = d.find(lambda x: is_float(x) and np.shape(x) == np.shape(d.values[i]))
    if j is not None and d.chance(0.5):
        return d.step(
            "checkpoint",
            [i, j],
            f"nbgrad.checkpoint(lambda a, b: {body(d, 'a')} * b)({{0}}, {{1}})",
        )
    return d.step("checkpoint", [i], f"nbgrad.checkpoint(lambda a: {body(d, 'a')})({{0}})")


@op
def closure(d: Draft) -> int:
    """A checkpoint over what it closes over."""
    i = d.pick(is_float, dtype="float64")
    return d.step("checkpoint", [i], f"nbgrad.checkpoint(lambda a: {body(d, 'a')} * {{0}})({{0}})")


@op
def custom_rule(d: Draft) -> int:
    i = d.pick(is_float, dtype="float64")
    f, slope = d.one([("np.sin(a)", "np.cos(a)"), ("np.exp(-a)", "(-out)"), ("a * a", "2.0 * a")])
    rule = f"pullback=lambda ct, out, a: ct * {slope}"
    text = f"nbgrad.custom_rule(lambda a: {f}, {rule})({{0}})"
    return d.step("custom_rule", [i], text)


@op
def custom_elementwise(d: Draft) -> int:
    i = d.pick(is_float, dtype="float64")
    f, slope = d.one([("np.sin(a)", "np.cos(a)"), ("np.exp(-a)", "-out"), ("a * a", "2.0 * a")])
    text = f"nbgrad.custom_elementwise(lambda a: {f}, partials=[lambda a, out: {slope}])({{0}})"
    return d.step("custom_elementwise", [i], text)


@op
def stop_gradient(d: Draft) -> int:
    i = d.pick(is_float, dtype="float64")
    return d.step("stop_gradient", [i], "nbgrad.stop_gradient({0}) * {0}")


@op
def slope(d: Draft) -> int:
    i = d.pick(is_float, dtype="float64")
    inner = body(d, "a", ANALYTIC)
    text = d.one([f"nbgrad.grad(lambda a: np.sum({inner}))({{0}})",
                  f"nbgrad.elementwise_grad(lambda a: {inner})({{0}})",
                  f"nbgrad.jvp(lambda a: {inner}, ({{0}},), ({{0}} * 0.5,))[1]"])  # fmt: skip
    return d.step("slope", [i], text)


@op
def chain(d: Draft) -> int:
    """A loop of Python: many steps."""
    i = d.pick(is_float, dtype="float64")
    n = 200 if d.chance(0.15) else d.number(1, 6)
    form = d.one(["np.sin({out})", "{out} * 0.9 + {0}", "{out} * {0} * 0.3 + 0.5"])
    return d.step(
        "chain", [i], f"{{out}} = {{0}} * 1.0\nfor _ in range({n}):\n    {{out}} = {form}"
    )
