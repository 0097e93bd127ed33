"""The static form of random draws: a call on pointers."""

from ..values import INT, Call
from .table import form


@form("random_uniform", "random_normal", "random_integers", "random_permutation")
def _draw(graph, symbol, state):
    n, row = symbol.aval.size, symbol.primitive
    sizes = (n, *(symbol.params[name] for name in row.order))
    flat = graph.new(Call, (n,), symbol.dtype, (graph.cast(state, INT),), row.fill, sizes)
    return graph.reshape(flat, symbol.shape)
