"""Properties of a compiled function that has one variant: its stages, source and entry points."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import TraceError
from .trace.program import Program

if TYPE_CHECKING:
    from ..compiler.numba_api import CFunc
    from .inspect.report import Plan
    from .inspect.stages import Loops, Lowered, Scheduled
    from .variant import Variant


class OfOnlyVariant:
    """Base class of compiled functions. Its properties are those of the only variant, and raise
    TraceError if there is none, or more than one."""

    _f: Callable
    _variants: dict[Any, "Variant"]

    @property
    def name(self) -> str:
        """The name of the function."""
        return getattr(self._f, "__name__", type(self._f).__name__)

    @property
    def njit(self) -> Callable[..., Any]:
        """The Numba function, for `@njit` code."""
        return self.only_variant("njit").njit

    @property
    def njit_into(self) -> Callable[..., Any]:
        """The Numba function that writes its results into the arrays passed to it."""
        return self.only_variant("njit_into").njit_into

    @property
    def address(self) -> int:
        """The address of the C function, whose arguments are two tables of pointers."""
        return self.only_variant("address").address

    def cfunc(self, kind: str) -> "CFunc":
        """Return the C function that integrators ("quad") or solvers ("ode") call."""
        return self.only_variant(f'cfunc("{kind}")').cfunc(kind)

    @property
    def program(self) -> Program:
        """The recorded program."""
        return self.only_variant("program").program

    @property
    def lowered(self) -> "Lowered":
        """The lowered program: values of about twenty kinds."""
        return self.only_variant("lowered").lowered

    @property
    def schedule(self) -> "Scheduled":
        """The groups of values that share a loop nest, and the order of the steps."""
        return self.only_variant("schedule").schedule

    @property
    def loops(self) -> "Loops":
        """The kernels and the core, as statements over buffers."""
        return self.only_variant("loops").loops

    @property
    def source(self) -> str:
        """The text of the Numba module, with the user's lines as comments."""
        return self.only_variant("source").source

    @property
    def plan(self) -> "Plan":
        """The steps with their operation counts and bytes moved, and the buffers."""
        return self.only_variant("plan").plan

    def only_variant(self, property: str) -> "Variant":
        """Return the only variant. Raises TraceError, which names the property, if there is none,
        or more than one."""
        every = list(self._variants.values())
        every = [variant for variant in every if variant.sizes] or every
        if len(every) != 1:
            raise TraceError(
                f"{self.name}.{property}: there are {len(every)} variants; call the function "
                f"once with an example, or use .variant(*example).{property}",
                code="NB-COMPILED",
            )
        return every[0]

    def __repr__(self) -> str:
        count = len(self._variants)
        return f"<compiled {self.name}, {count} variant{'s' * (count != 1)}>"

    def _repr_html_(self) -> str:
        """The stages of each variant in folds, for notebooks."""
        from ..runtime import markup

        every = list(self._variants.values())
        if not every:
            return markup.framed(
                markup.facts([("compiled function", self.name)]) + ": not called yet"
            )
        stages = ("program", "lowered", "schedule", "loops", "source")
        parts = []
        for variant in every:
            head = str(variant.program).partition(":\n")[0]
            parts.append(markup.facts([("compiled function", head)]))
            parts.append(markup.fold("plan", str(variant.plan), is_open=len(every) == 1))
            parts += [markup.fold(stage, str(getattr(variant, stage))) for stage in stages]
        return markup.framed("".join(parts))
