"""The static form of random draws: a call on pointers."""

from .forms.table import form
from .values import INT


@form("random_uniform", "random_normal", "random_integers", "random_permutation")
def _draw(graph, symbol, state):
    shape = symbol.shape
    n = symbol.aval.size
    row = symbol.primitive
    called = (row.fill, (n, *(symbol.params[name] for name in row.order)))
    flat = graph.new("call", (n,), symbol.dtype, (graph.cast(state, INT),), called)
    return graph.reshape(flat, shape)
