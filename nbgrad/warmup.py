"""`warmup`: fill the kernel cache by running every operation once."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .compiler.kernel import DISABLED, stats
from .core.primitive import Primitive, bind
from .errors import DtypeError
from .kernels import gemm
from .rules.families import Elementwise, Interval
from .runtime.progress import Bar
from .values.track import track
from .values.tracked import TrackedArray

if TYPE_CHECKING:
    from concurrent.futures import Executor


class Example(NamedTuple):
    """A call of a primitive: plain arguments, the positions of those to track, and parameters."""

    primitive: Primitive
    args: tuple[Any, ...]
    tracked: tuple[int, ...]
    params: dict[str, Any]


def warmup(
    dtypes: Sequence[str] = ("float64",),
    on_op: Callable[[int, int, str], None] | None = None,
    executor: "Executor | None" = None,
) -> dict[str, int]:
    """Compile the common kernels of every operation, forward and backward, into the disk cache.

    Use ``RUN nbgrad warmup`` in a Dockerfile to compile while the image is built. Kernels for less
    common operands (a column and a matrix, three arrays of different shapes) are still compiled
    when they are first used.

    Arguments:
        dtypes: "float64", "float32" or both.
        on_op: called for each operation as `on_op(done, total, name)`: when it starts or, with an
            executor, when it is done. Without it, a terminal or a notebook shows a bar.
        executor: a process pool that shares the work, such as
            ``ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn"))``. By default,
            this process compiles all kernels, and can use them without loading.

    Returns the numbers of kernels compiled and loaded from the cache. Raises TypeError for other
    dtypes.

    >>> nbgrad.warmup(dtypes=())
    {'compiled': 0, 'loaded': 0}
    """
    kinds = [_float_type(dtype).name for dtype in dtypes]
    work = [(kind, primitive.name) for kind in kinds for primitive in _sampled()]
    total = Counter(compiled=0, loaded=0)
    with Bar(len(work), on_op is None) as bar:
        tell = on_op or (lambda done, count, name: bar.update(done, name))
        if executor is None:
            for done, (kind, name) in enumerate(work):
                tell(done, len(work), name)
                total.update(_warmed(kind, name))
        else:
            from concurrent.futures import as_completed  # not needed at import

            # The longest first, so that all processes end at about the same time.
            work.sort(key=lambda item: -len([*_calls(*item)]))
            tasks = {executor.submit(_warmed, *item): item[1] for item in work}
            for done, task in enumerate(as_completed(tasks)):
                tell(done, len(work), tasks[task])
                total.update(task.result())
    return dict(total)


def _warmed(kind: str, name: str) -> dict[str, int]:
    """Compile the kernels of a primitive for a dtype; return how many were compiled and loaded."""
    before = stats()
    if name == _PRODUCT and not DISABLED:
        gemm.prepare(np.dtype(kind))
    for call in _calls(kind, name):
        _make(call)
    after = stats()
    return {key: after[key] - before[key] for key in ("compiled", "loaded")}


def _calls(kind: str, name: str) -> Iterator[Example]:
    return calls_of(Primitive.registry[name], np.dtype(kind))


_PRODUCT = "matmul"
"""The primitive that uses separate kernels for large arrays."""


def _sampled() -> list[Primitive]:
    """Return the primitives that have samples, sorted by name."""
    return [primitive for _, primitive in sorted(Primitive.registry.items()) if primitive.samples]


def calls_of(primitive: Primitive, dtype: np.dtype) -> Iterator[Example]:
    """Yield the common calls of a primitive, from its samples."""
    if not isinstance(primitive, Elementwise):
        for sample in primitive.samples:
            args = tuple(_filled(arg, sample.domain, dtype) for arg in sample.args)
            drawn = [i for i, arg in enumerate(sample.args) if _is_shape(arg)]
            yield Example(
                primitive, args, tuple(drawn if primitive.differentiable else ()), sample.params
            )
        return
    for params in primitive.samples:
        for specs in _layouts(primitive):
            args = []
            for i, (spec, domain) in enumerate(zip(specs, primitive.domains, strict=True)):
                kind = np.dtype(bool) if i in primitive.conditions else dtype
                args.append(_filled(spec, domain, kind))
            tracked = [
                i
                for i, (spec, partial) in enumerate(zip(specs, primitive.partials, strict=True))
                if spec is not float and partial is not None
            ]
            yield Example(primitive, tuple(args), tuple(tracked), params)
            if primitive.arity == 2 and specs == _EQUAL * 2:
                for i in tracked:
                    yield Example(primitive, tuple(args), (i,), params)
                if len(tracked) == 2:  # x * x is one leaf
                    yield Example(primitive, (args[0], args[0]), (0, 1), params)


_EQUAL: tuple[tuple[int, ...]] = ((3,),)
_PAIRS = (
    ((3,), float), (float, (3,)), ((2, 3), (3,)), ((3,), (2, 3)), ((), float), (float, ()),
)  # fmt: skip


def _layouts(primitive: Elementwise) -> list[tuple]:
    """Return the common combinations: equal shapes, with and without axes, an array and a number, a
    matrix and a row."""
    equal = [shape * primitive.arity for shape in (_EQUAL, ((),))]
    return [*equal, *(_PAIRS if primitive.arity == 2 else ())]


def _is_shape(arg: Any) -> bool:
    return isinstance(arg, tuple) and all(isinstance(n, int) for n in arg)


def _filled(spec: Any, domain: Interval, dtype: np.dtype) -> Any:
    """Return an array or number in the middle of its domain; other arguments are unchanged."""
    middle = 0.5 * sum(domain)
    if spec is float:
        return float(middle)
    if not _is_shape(spec):
        return spec
    filled = np.full(spec, middle, dtype)
    if len(spec) > 1:
        filled += 2 * np.eye(*spec[-2:], dtype=dtype)  # full rank, which some primitives need
    return filled


def _make(call: Example) -> None:
    """Run a call forward and, if an argument is tracked, backward."""
    leaves = {id(arg): track(arg) for i, arg in enumerate(call.args) if i in call.tracked}
    args = [leaves[id(arg)] if i in call.tracked else arg for i, arg in enumerate(call.args)]
    with np.errstate(all="ignore"):
        out = bind(call.primitive, *args, **call.params)
        if isinstance(out, TrackedArray):
            out.backward(np.ones(out.shape, out.dtype))


def _float_type(dtype: Any) -> np.dtype:
    kind = np.dtype(dtype)
    if kind not in (np.float64, np.float32):
        raise DtypeError(f"warmup: dtype {kind} is not supported: use float64, float32 or both")
    return kind
