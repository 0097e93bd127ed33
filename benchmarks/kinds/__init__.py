"""Programs of the kinds that users write, each once for nbgrad and JAX: beside the board's."""

from .likelihoods import likelihoods
from .mechanics import mechanics
from .networks import networks
from .sequences import sequences
from .tools import Kind

kinds: dict[str, Kind] = likelihoods | sequences | mechanics | networks
