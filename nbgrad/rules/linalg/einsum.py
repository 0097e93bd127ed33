"""einsum: pairs of operands become batched matrix products, in the order that opt_einsum finds.

An operand is an array with one label per axis. einsum has no row of its own: it calls other rows,
from which its pullback follows.
"""

import math
from collections.abc import Collection, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ...core.array import implements
from ...core.memory import view
from ...core.primitive import shape_of
from ...core.steps import ReadOnly
from ...errors import ArgumentError, ArgumentTypeError, DimensionMismatch
from ...runtime.kinds import is_a
from .products import summed


@implements(np.einsum)
def einsum(*operands, optimize: Any = True):
    """Sums of products by labels of axes, `einsum("ij,jk->ik", x, y)`, in NumPy's notation.

    The order of many operands is found by opt_einsum; each step is a batched matmul, or a product
    with broadcasting where nothing is summed. Raises ValueError where the subscripts are wrong,
    DimensionMismatch where the shapes do not fit them.
    """
    if isinstance(operands[0], str):
        arrays, notation = operands[1:], operands[:1]
    else:
        arrays = operands[: len(operands) // 2 * 2 : 2]
        given = [*operands[1::2], *(operands[-1:] if len(operands) % 2 else ())]
        if not arrays or not all(_is_labels(labels) for labels in given):
            raise ArgumentTypeError(
                "einsum: give a text of subscripts first, as in einsum('ij,jk->ik', x, y), or "
                "behind each array a list of whole numbers that name its axes"
            )
        notation = tuple(map(tuple, given))
    order = optimize if isinstance(optimize, str) else "auto"
    inputs, output, sizes, path = _plan(notation, tuple(map(shape_of, arrays)), order)
    arrays = _alike(arrays)
    terms = [_stretchable(x, labels, sizes) for x, labels in zip(arrays, inputs, strict=True)]
    for empty in [label for label, n in sizes.items() if not n and label not in output]:
        # A sum of no terms is 0, whatever the other operands are.
        terms = [_emptied(x, labels, empty) for x, labels in terms]
    for positions in path:
        picked = [terms.pop(i) for i in sorted(positions, reverse=True)]
        term = picked.pop()
        while picked:
            rest = {label for _, labels in (*terms, *picked[:-1]) for label in labels}
            term = _product(*term, *picked.pop(), rest.union(output))
        terms.append(term)
    ((out, labels),) = terms
    out, labels = _reduced(out, labels, output)
    out = _arranged(out, labels, output)
    if len(arrays) == 1 and set(inputs[0]) == set(output):
        return view(arrays[0], out, ReadOnly(partial(_again, notation), "np.einsum"))
    # Sums widen small integers, and einsum does not.
    return out.astype(arrays[0].dtype) if out.dtype.kind in "iub" else out


def _again(notation: tuple, x: Any) -> Any:
    """einsum of one operand."""
    return np.einsum(*notation, x) if isinstance(notation[0], str) else np.einsum(x, *notation)


def _alike(arrays: Sequence) -> Sequence:
    """The operands, with integers and bools in the dtype to which all are promoted."""
    arrays = [x if hasattr(x, "dtype") else np.asarray(x) for x in arrays]
    if not any(x.dtype.kind in "iub" for x in arrays):
        return arrays
    kind = np.result_type(*(x.dtype for x in arrays))
    return [x.astype(kind) if x.dtype != kind and x.dtype.kind in "iub" else x for x in arrays]


def _is_labels(labels: Any) -> bool:
    """Whether a list names axes by whole numbers, as NumPy's second notation does."""
    if not isinstance(labels, (list, tuple, range)):
        return False
    return all(x is Ellipsis or is_a(x, (int, np.integer)) for x in labels)


@lru_cache(maxsize=1024)
def _plan(notation: tuple, shapes: tuple, order: Any):
    """The labels of the operands and of the result, the length of each label, and the operands to
    contract in each step."""
    # Imported here, since importing nbgrad loads no other packages than NumPy and Numba do.
    from opt_einsum import contract_path
    from opt_einsum.parser import parse_einsum_input

    if isinstance(notation[0], str):
        parsed: list[Any] = [*notation, *shapes]
    else:
        parsed = [part for pair in zip(shapes, notation, strict=False) for part in pair]
        parsed += notation[len(shapes) :]
    try:
        inputs, output, _ = parse_einsum_input(parsed, shapes=True)
    except KeyError as error:
        raise ArgumentError(f"einsum: no array has the axis {error} of the result") from None
    except ValueError as error:
        raise ArgumentError(f"einsum: {error}") from None
    listed = inputs.split(",")
    sizes: dict[str, int] = {}
    for labels, shape in zip(listed, shapes, strict=True):
        if len(labels) != len(shape):
            raise DimensionMismatch(
                f"einsum: the subscripts {labels!r} do not name the axes of {shape}: write one "
                "letter for each axis, or ... for those left out"
            )
        for label, length in zip(labels, shape, strict=True):
            known = sizes.get(label, 1)
            if known != length and 1 not in (known, length):
                raise DimensionMismatch(
                    f"einsum: the label {label!r} has lengths {known} and {length} in the shapes "
                    f"{', '.join(map(str, shapes))}; they must be equal, or 1"
                )
            sizes[label] = length if known == 1 else known
    if len(shapes) < 3:
        return listed, output, sizes, [tuple(range(len(shapes)))]
    path, _ = contract_path(f"{inputs}->{output}", *shapes, shapes=True, optimize=order)
    return listed, output, sizes, path


def _stretchable(x, labels: str, sizes: dict[str, int]):
    """x without the axes of length 1 that broadcast."""
    shape = shape_of(x)
    kept = [i for i, label in enumerate(labels) if shape[i] == sizes[label]]
    if len(kept) == len(shape):
        return x, labels
    return np.reshape(x, tuple(shape[i] for i in kept)), "".join(labels[i] for i in kept)


def _emptied(x, labels: str, empty: str):
    """x with an axis of length 0 of that label."""
    if empty in labels:
        return x, labels
    return np.broadcast_to(np.expand_dims(x, -1), (*shape_of(x), 0)), labels + empty


def _reduced(x, labels: str, kept: Collection[str]):
    """x with the diagonal of repeated labels, summed over labels that are not kept."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = np.diagonal(x, 0, first, second)
            labels = labels[:first] + labels[first + 1 : second] + labels[second + 1 :] + label
    gone = tuple(i for i, label in enumerate(labels) if label not in kept)
    if not gone:
        return x, labels
    return summed(x, gone), "".join(label for label in labels if label in kept)


def _product(x, mine: str, y, theirs: str, kept: Collection[str]):
    """The product of two operands, summed over the labels of both that are not kept."""
    x, mine = _reduced(x, mine, {*kept, *theirs})
    y, theirs = _reduced(y, theirs, {*kept, *mine})
    left = [label for label in mine if label not in theirs]
    right = [label for label in theirs if label not in mine]
    batch = [label for label in mine if label in theirs and label in kept]
    inner = [label for label in mine if label in theirs and label not in kept]
    x, y = _arranged(x, mine, batch + left + inner), _arranged(y, theirs, batch + inner + right)
    ends = len(batch), len(batch) + len(left)
    x_shape, y_shape = shape_of(x), shape_of(y)
    common, rows, columns = x_shape[: ends[0]], x_shape[ends[0] : ends[1]], y_shape[ends[0] :]
    if batch and inner and not (left or right):
        out = summed(x * y, tuple(range(len(batch), len(batch) + len(inner))))
    elif inner:
        columns = columns[len(inner) :]
        length = math.prod(x_shape[ends[1] :])
        stacked = (math.prod(common),) if batch else ()
        a = _shaped(x, (*stacked, *((math.prod(rows),) if rows or batch else ()), length))
        b = _shaped(y, (*stacked, length, *((math.prod(columns),) if columns or batch else ())))
        out = _shaped(a @ b, (*common, *rows, *columns))
    else:
        ones = (1,) * len(rows), (1,) * len(columns)
        out = _shaped(x, x_shape + ones[1]) * _shaped(y, (*common, *ones[0], *columns))
    return out, "".join(batch + left + right)


def _shaped(x, shape: tuple[int, ...]):
    return x if shape_of(x) == shape else np.reshape(x, shape)


def _arranged(x, labels: str, order: Sequence[str]):
    """x with its axes in the order of labels."""
    if list(labels) == list(order):
        return x
    return np.transpose(x, tuple(labels.index(label) for label in order))
