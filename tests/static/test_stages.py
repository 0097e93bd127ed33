"""Every stage of the compiler makes what its checker accepts, for all programs of the tests, and
the loop IR means what the function says; the checkers find what is wrong."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import test_programs
import test_static_programs
from fuzz.written import check_stages, check_written, watched

import nbgrad
from nbgrad.codegen.affine import Affine
from nbgrad.codegen.check import check_core
from nbgrad.codegen.core import Core, Pointer, Repeat, Run, Scratch, Step
from nbgrad.codegen.interpret import interpret
from nbgrad.codegen.loops import Kernel, Let, Literal, Load, Loop, Store
from nbgrad.codegen.scalar import parse
from nbgrad.errors import TraceError
from nbgrad.static.loops.check import check_loops, check_memory
from nbgrad.static.loops.nest import Nest
from nbgrad.static.lower.check import check_values
from nbgrad.static.lower.values import Loop as LoopValue
from nbgrad.static.lower.values import Map, topological
from nbgrad.static.schedule.check import check_schedule
from nbgrad.static.schedule.fuse import Group

FLOAT, INT, BOOL = np.dtype(float), np.dtype(np.int64), np.dtype(bool)


@test_static_programs.named(test_static_programs.PROGRAMS)
def test_programs_of_the_emitter(program):
    f = test_static_programs.value_and_slopes(program)
    check_written(nbgrad.compile(f), *program.args)


@pytest.mark.parametrize(
    "p",
    [p for p in test_programs.PROGRAMS if not p.branches and not p.eager],
    ids=lambda p: p.name,
)
def test_programs_of_users(p):
    f = nbgrad.value_and_grad(test_programs.scalar(p))
    check_written(nbgrad.compile(f), p.args)


def layers(x, w):
    """Loops over layers, sums over rows, and a part that is written over."""
    y = nbgrad.loop(3, lambda i, s: np.tanh(s @ w) + x[0], x)
    shares = nbgrad.softmax(np.pad(y, ((0, 0), (1, 2))), axis=1)
    return np.sum(shares[:, 1:5] * y) + np.sum(np.cumsum(y, axis=1)[:, -1])


X, W = np.linspace(-1.0, 1.0, 12).reshape(3, 4), np.eye(4) * 0.3 + 0.1


@pytest.fixture
def variant():
    made = nbgrad.compile(nbgrad.value_and_grad(layers, (0, 1))).variant(X, W)
    check_stages(made)
    return made


def test_many_arrays_behind_a_table_and_steps_that_were_made_loops():
    def f(arrays):
        out = X
        for a in arrays:
            out = np.tanh(out @ a)
        return np.sum(out)

    arrays = [W + 0.01 * i for i in range(14)]
    compiled = nbgrad.compile(nbgrad.value_and_grad(f))
    made = compiled.variant(arrays)
    assert made.packed
    assert any(isinstance(step.statement, Repeat) for step in made.loops.core.steps)
    check_written(compiled, arrays)


DRAWS = {
    "uniform": lambda key: nbgrad.random.uniform(key, (5,), 2.0, 3.0),
    "normal": lambda key: nbgrad.random.normal(key, (3, 3)),
    "choice": lambda key: nbgrad.random.choice(key, 11, (7,)),
    "permutation": lambda key: nbgrad.random.permutation(key, 9),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_of_the_interpreter_have_the_same_bits(name):
    key = nbgrad.random.key(5)
    found = watched(nbgrad.compile(DRAWS[name]), key)
    for mine, theirs in zip(found, DRAWS[name](key), strict=True):
        np.testing.assert_array_equal(mine, theirs)


# -- what the checkers find -----------------------------------------------------------------------


def test_a_schedule_in_another_order_is_found(variant):
    schedule = variant._emitted.plan.schedule
    with pytest.raises(TraceError, match="which comes later"):
        check_schedule(replace(schedule, steps=schedule.steps[::-1]))
    with pytest.raises(TraceError, match=r"never computed|comes later"):
        check_schedule(replace(schedule, steps=schedule.steps[:-1]))
    with pytest.raises(TraceError, match="computed twice"):
        check_schedule(replace(schedule, steps=[*schedule.steps, schedule.steps[0]]))


def test_a_group_that_does_not_fit_its_members_is_found(variant):
    schedule = variant._emitted.plan.schedule
    at, group = next(
        (i, s) for i, s in enumerate(schedule.steps)
        if isinstance(s, Group) and max(s.sweeps.values()) > 0
    )  # fmt: skip
    for change, told in (
        ({"sweeps": dict.fromkeys(group.sweeps, 0)}, "another element"),
        ({"domain": (*group.domain, 2)}, "does not run over"),
        ({"edges": {}}, "not cut"),
        ({"split": 0}, "do not begin at axis"),
    ):
        wrong = [*schedule.steps[:at], replace(group, **change), *schedule.steps[at + 1 :]]
        with pytest.raises(TraceError, match=told):
            check_schedule(replace(schedule, steps=wrong))


def test_memory_of_two_that_are_needed_at_one_time_is_found(variant):
    plan = variant._emitted.plan
    memory = plan.memory
    places = dict(memory.places)
    parts = {place for place in places.values() if isinstance(place, Scratch)}
    assert len(parts) > 2
    memory.places = {
        value: next(iter(parts)) if place in parts else place for value, place in places.items()
    }
    with pytest.raises(TraceError, match=r"one place|bytes has"):
        check_memory(plan)
    memory.places = {
        value: replace(place, offset=place.offset + 64) if place in parts else place
        for value, place in places.items()
    }
    with pytest.raises(TraceError, match=r"beyond the scratch|one place"):
        check_memory(plan)
    memory.places = places
    for name, told in (("dropped", "has no buffer"), ("rows", "is read later")):
        read = next(v for v in places if any(v in values for values in later_reads(plan)))
        getattr(memory, name).add(read)
        with pytest.raises(TraceError, match=told):
            check_memory(plan)
        getattr(memory, name).discard(read)
    check_memory(plan)


def later_reads(plan):
    """What groups read that others have made."""
    for step, nest in plan.nests.items():
        yield [a.value for a in nest.accesses if not a.store and a.value not in step.sweeps]


def test_an_argument_that_is_written_over_is_found(variant):
    step = next(s for s in variant._emitted.plan.schedule.steps if getattr(s, "inner", None))
    check_memory(step.inner)
    plan = nbgrad.compile(lambda x: np.exp(x) * 2.0).variant(X)._emitted.plan
    (value,) = plan.outputs
    plan.memory.places[value] = plan.memory.places[plan.graph.inputs[0]]
    with pytest.raises(TraceError, match="written over an argument"):
        check_memory(plan)


def test_a_loop_nest_that_may_run_twice_and_writes_over_what_it_reads_is_found(monkeypatch):
    monkeypatch.setattr(Nest, "is_ranged", False)
    f = nbgrad.compile(lambda x: np.cumsum(np.sin(np.cumsum(x) + 1.0)))
    with pytest.raises(TraceError, match="in one place"):
        check_memory(f.variant(np.ones(5))._emitted.plan)
    with pytest.raises(AssertionError):
        check_written(f, np.linspace(1.0, 2.0, 5))


# -- kernels --------------------------------------------------------------------------------------


def at(const, *terms):
    return Affine(const, terms)


def doubled(*body: Any, stop: int = 4, stored: str = "w") -> Core:
    """A core that doubles 4 numbers."""
    inside = body or (
        Load("v", 0, at(0, (0, 1)), FLOAT),
        Let("w", parse("x * 2.0"), ("v",), FLOAT, FLOAT),
        Store(1, at(0, (0, 1)), stored, FLOAT),
    )
    kernel = Kernel("loop", (FLOAT, FLOAT), (), (Loop(0, 0, stop, inside),))
    run = Run(kernel, (Pointer(0, at(0), FLOAT), Pointer(1, at(0), FLOAT)))
    return Core("core", (0, 1), [Step(run)], (), 0, False)


SIZES: dict[Hashable, int] = {0: 32, 1: 32}


def test_a_kernel_is_interpreted():
    result = np.zeros(4)
    assert interpret(doubled(), [np.arange(4.0), result]) == []
    np.testing.assert_array_equal(result, [0.0, 2.0, 4.0, 6.0])
    check_core(doubled(), SIZES, {})


def test_the_interpreter_stays_within_buffers():
    for core in (doubled(stop=5), doubled(Store(1, at(-1), Literal(1.0, FLOAT), FLOAT))):
        with pytest.raises(IndexError, match="lies beyond"):
            interpret(core, [np.arange(4.0), np.zeros(4)])
    with pytest.raises(ValueError, match="contiguous"):
        interpret(doubled(), [np.arange(8.0)[::2], np.zeros(4)])


LOAD = Load("v", 0, at(0, (0, 1)), FLOAT)
UNSOUND = {
    "loop": (doubled(stop=5), "lie outside"),
    "before": (doubled(Load("v", 0, at(-1), FLOAT)), "lie outside"),
    "name": (doubled(stored="z"), "z is used before it is defined"),
    "axis": (doubled(Load("v", 0, at(0, (1, 1)), FLOAT)), "1 is used before"),
    "after its loop": (
        doubled(Loop(1, 0, 2, (LOAD,)), Store(1, at(0), "v", FLOAT)), "v is used before",
    ),
    "dtype of a load": (doubled(Load("v", 0, at(0), INT)), "the buffer holds float64"),
    "dtype of a store": (doubled(Store(1, at(0), Literal(1, INT), FLOAT)), "is int64, not float64"),
    "dtype of code": (doubled(LOAD, Let("w", parse("x < 1.0"), ("v",), FLOAT, FLOAT)), "gives 'b'"),
    "width of code": (
        doubled(LOAD, Let("w", parse("x * 2.0"), ("v",), FLOAT, np.dtype(np.float32))), "constants",
    ),
    "arguments of code": (doubled(LOAD, Let("w", parse("x * y"), ("v",), FLOAT, FLOAT)), "reads y"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSOUND)
def test_a_kernel_that_is_not_sound_is_found(name):
    core, told = UNSOUND[name]
    with pytest.raises(TraceError, match=told):
        check_core(core, SIZES, {})


def test_a_core_that_is_not_sound_is_found(variant):
    core = doubled()
    run: Any = core.steps[0].statement
    (a, r) = run.pointers
    for pointers, told in (
        ((replace(a, at=at(1)), r), "lie outside"),
        ((replace(a, dtype=INT), r), "in place of"),
        ((replace(a, buffer=7), r), "no buffer"),
        ((r, r), "is written and lies where"),
        ((replace(a, buffer=Scratch(64, 0)), r), "beyond the scratch"),
    ):
        wrong = Step(replace(run, pointers=pointers))
        with pytest.raises(TraceError, match=told):
            check_core(Core("core", core.parameters, [wrong], (), 32, False), SIZES, {})
    emitted = variant._emitted
    steps = emitted.core.steps
    emitted.core.steps = [s for s in steps if not getattr(s.statement, "results", ())]
    with pytest.raises(TraceError, match="used before it is defined"):
        check_loops(emitted.core, emitted.plan)


def test_a_program_that_says_another_dtype_is_found(variant):
    equation = variant.program.equations[-1]
    equation.aval = equation.aval.__class__.of(equation.shape, np.dtype(np.float32))
    with pytest.raises(TraceError, match="should be"):
        variant.program.check()


def test_a_value_that_does_not_fit_is_found_in_the_step_of_a_loop(variant):
    outputs = variant._emitted.plan.outputs
    (loop, *_) = [v for v in topological(outputs) if isinstance(v, LoopValue)]
    inner = next(v for v in topological(loop.step.outputs) if isinstance(v, Map))
    object.__setattr__(inner, "shape", (7, 7))
    with pytest.raises(TraceError, match="do not fit together"):
        check_values(outputs)


# -- stages as text -------------------------------------------------------------------------------


def test_each_stage_prints(variant):
    texts = {name: str(getattr(variant, name)) for name in ("lowered", "schedule", "loops")}
    assert texts == {name: repr(getattr(variant, name)) for name in texts}
    values = texts["lowered"].splitlines()
    assert values[0].startswith("layers: ") and values[-1].startswith("    return v")
    assert any("= loop of 3 steps from " in line for line in values)
    assert any("matmul(" in line and "test_stages.py" in line for line in values)
    assert "sweep 1: " in texts["schedule"] and "loop nest over 3 x 7" in texts["schedule"]
    assert len(variant.schedule.steps) == int(texts["schedule"].split()[1])
    assert variant.lowered.outputs == variant._emitted.plan.outputs
    for part in (
        "kernel product0(p0: float64",
        "core layers_step0_core(",
        "core layers_core(a0, a1",
    ):
        assert part in texts["loops"]
    assert interpret(variant.loops.core, [X, W, np.zeros((3, 4)), np.zeros((4, 4))]) == [
        pytest.approx(layers(X, W), rel=1e-12)
    ]


def test_stages_of_the_only_variant():
    f = nbgrad.compile(lambda x: np.sum(np.exp(x) * x))
    with pytest.raises(TraceError, match="lowered: there are 0 variants"):
        _ = f.lowered
    f.variant(np.ones(3))
    for name in ("lowered", "schedule", "loops"):
        assert str(getattr(f, name)) == str(getattr(f.variant(np.ones(3)), name))


def test_every_kind_of_value_and_statement_prints():
    """Text for all programs: what has no words of its own raises."""
    for program in test_static_programs.PROGRAMS[:40]:
        made = nbgrad.compile(test_static_programs.value_and_slopes(program)).variant(*program.args)
        for stage in (made.lowered, made.schedule, made.loops):
            assert " object at 0x" not in str(stage) and "<" not in str(stage).splitlines()[0]
