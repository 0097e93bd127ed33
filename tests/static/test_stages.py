"""Every stage of the compiler makes what its checker accepts, for all programs of the tests, and
the loop IR means what the function says; the checkers find what is wrong."""

from dataclasses import replace

import numpy as np
import pytest
import test_emitted_programs
import test_programs
from checkers.interpret import interpret
from checkers.loops import check_loops, check_memory
from checkers.lowered import check_values
from checkers.schedules import check_schedule
from fuzz.written import check_stages, check_written, watched

import nbgrad
from nbgrad.errors import TraceError
from nbgrad.ir.core import Repeat, Scratch
from nbgrad.static.entry import signature
from nbgrad.static.loops.nest import Nest
from nbgrad.static.lower.buffered import Scan
from nbgrad.static.lower.values import Map, topological
from nbgrad.static.schedule.fuse import FusionGroup

FLOAT, INT, BOOL = np.dtype(float), np.dtype(np.int64), np.dtype(bool)


@test_emitted_programs.named(test_emitted_programs.PROGRAMS)
def test_programs_of_the_emitter(program):
    f = test_emitted_programs.value_and_slopes(program)
    check_written(nbgrad.compile(f), *program.args)


@pytest.mark.parametrize(
    "p",
    [p for p in test_programs.PROGRAMS if not p.branches],
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
        if isinstance(s, FusionGroup) and max(s.sweeps.values()) > 0
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
    for inner in step.inner:
        check_memory(inner)
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


# -- programs -------------------------------------------------------------------------------------


def test_a_step_without_its_result_is_found(variant):
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
    (loop, *_) = [v for v in topological(outputs) if isinstance(v, Scan)]
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
    for program in test_emitted_programs.PROGRAMS[:40]:
        made = nbgrad.compile(test_emitted_programs.value_and_slopes(program)).variant(
            *program.args
        )
        for stage in (made.lowered, made.schedule, made.loops):
            assert " object at 0x" not in str(stage) and "<" not in str(stage).splitlines()[0]


def test_no_two_modules_of_a_program_share_a_name():
    names = [name for names in signature._IMPORTS.values() for name in names]
    assert sorted(set(names)) == sorted(names)


def test_a_program_of_the_name_of_a_device_function_calls_that_by_another():
    def cumsum(x):
        return np.cumsum(x)

    source = nbgrad.compile(cumsum).variant(np.ones(3)).source
    assert "import cumsum as cumsum_device\n" in source and "def cumsum(a0)" in source
    assert "cumsum_device(a0, r0, 1, 3, 1)" in source
