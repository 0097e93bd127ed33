"""Threads, processes and any executor: the numbers of all the data, the same bits, clear errors."""

import os
import pickle
import signal
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib import import_module
from multiprocessing import get_context

import numpy as np
import pytest
from helpers.children import run
from helpers.parallel.losses import (
    CUTS,
    LOSSES,
    DiesOnce,
    Loader,
    bits,
    cut,
    grow_old,
    mean_loss,
    name_the_slow,
    problem,
    require_right,
    root,
    square_or_fail,
    swirl,
    swirl_jacobian,
    write_module,
)

import nbgrad
from nbgrad import parallel
from nbgrad.parallel import executors, versions
from nbgrad.parallel.report import Report
from nbgrad.parallel.work import Part, Seen, Tree, fold

PARAMS = problem()[0]


@pytest.fixture(scope="module")
def processes():
    with parallel.value_and_grad(mean_loss, "processes", workers=2) as vg:
        yield vg


@pytest.mark.parametrize("reduce", ["mean", "sum"])
@pytest.mark.parametrize("n", CUTS)
def test_shards_in_threads_equal_all_the_data(n, reduce):
    vg = parallel.value_and_grad(LOSSES[reduce], reduce=reduce, compile=n == 3)
    first = vg(PARAMS, cut(n))
    require_right(first, reduce)
    require_right(vg(PARAMS, cut(n)), reduce)
    one = parallel.value_and_grad(LOSSES[reduce], "threads", reduce, workers=1, compile=n == 3)
    for _ in range(5):
        assert bits(one(PARAMS, cut(n))) == bits(vg(PARAMS, cut(n))) == bits(first)


@pytest.mark.parametrize("n", CUTS)
def test_shards_in_processes_equal_all_the_data(n, processes):
    first = processes(PARAMS, cut(n))
    require_right(first)
    assert bits(processes(PARAMS, [Loader(n, i) for i in range(n)])) == bits(first)
    assert bits(parallel.value_and_grad(mean_loss)(PARAMS, cut(n))) == bits(first)


def test_an_executor_of_the_users_goes_on():
    with ThreadPoolExecutor(2) as pool:
        vg = parallel.value_and_grad(mean_loss, pool, compile=False)
        require_right(vg(PARAMS, cut(7)))
        vg.close()
        assert pool.submit(abs, -1).result() == 1


def test_shards_in_files_are_mapped(tmp_path, processes):
    shards = parallel.store(tmp_path / "data", (shard for shard in cut(3)))
    assert [x.shape for x in shards[1]()] == [(24, 4), (24,)]
    assert not shards[1]()[0].flags.writeable
    require_right(processes(PARAMS, shards))
    with pytest.raises(TypeError, match="shard 0 is a ndarray: pass tuples"):
        parallel.store(tmp_path, [np.ones(3)])  # pyright: ignore[reportArgumentType]


def test_a_shard_without_rows_weighs_nothing():
    empty = np.zeros((0, 4)), np.zeros(0)
    vg = parallel.value_and_grad(mean_loss, compile=False)
    require_right(vg(PARAMS, [empty, *cut(2), empty]))
    with pytest.raises(ValueError, match="no shard has a row to average"):
        vg(PARAMS, [empty])


def test_numbers_and_float32_keep_their_kind():
    vg = parallel.value_and_grad(lambda w, x: np.sum(w * x), reduce="sum", compile=False)
    value, slope = vg(np.ones(3, np.float32), [(np.ones(3, np.float32),)] * 2)
    assert value == 6.0 and slope.dtype == np.float32 and slope.tolist() == [2.0] * 3
    value, slope = vg(2.0, [(np.ones(2),), (np.ones(3),)])
    assert value == 10.0 and slope == 5.0 and type(slope) is np.float64


@pytest.mark.parametrize("n", [1, 2, 8, 9, 17, 64, 65, 100])
def test_the_tree_of_sums_is_that_of_levels(n, rng):
    """Parts that come one by one are summed as a cluster sums them, level by level."""
    parts = [Part(rng.normal(size=3), (Seen(i, "", 1, 0.0),)) for i in range(n)]
    tree = Tree()
    for part in parts:
        tree.add(part)
    found, level = tree.sum(), parts
    while len(level) > 1:
        level = [fold(level[i : i + 8]) for i in range(0, len(level), 8)]
    assert found.total.tobytes() == level[0].total.tobytes()
    assert [seen.shard for seen in found.seen] == list(range(n))
    np.testing.assert_allclose(found.total, sum(part.total for part in parts), rtol=1e-12)


def test_what_is_sent_is_kept_and_compiles_once():
    vg = parallel.value_and_grad(mean_loss)
    sent = pickle.dumps(vg._share)
    first = pickle.loads(sent)
    assert pickle.loads(sent) is first and first is not vg._share


def test_a_dead_process_is_an_error_that_names_its_shard(tmp_path):
    with parallel.value_and_grad(mean_loss, "processes", workers=1, compile=False) as vg:
        shards = [Loader(3, 0), DiesOnce(tmp_path / "mark", 1), Loader(3, 2)]
        with pytest.raises(nbgrad.WorkerError, match=r"of 3 there is no result of shard 1(, 2)?\."):
            vg(PARAMS, shards)
        require_right(vg(PARAMS, shards))  # by new processes


def test_an_error_of_the_loss_names_the_shard(processes):
    bad = [*cut(2), (np.ones((3, 5)), np.ones(3))]
    for vg in (parallel.value_and_grad(mean_loss, compile=False), processes):
        with pytest.raises(nbgrad.DimensionMismatch) as caught:
            vg(PARAMS, bad)
        assert any("in shard 2, by the worker" in note for note in caught.value.__notes__)


def test_a_function_that_cannot_be_sent(processes):
    with parallel.value_and_grad(lambda w, x: np.sum(w * x), "processes") as vg:
        with pytest.raises(TypeError, match="<lambda> cannot be sent to another process"):
            vg(np.ones(2), [(np.ones(2),)])


def test_a_process_that_cannot_import_the_loss_says_so(tmp_path, monkeypatch):
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(abs, -1).result()
        monkeypatch.syspath_prepend(tmp_path)
        module = import_module(write_module(tmp_path))
        vg = parallel.value_and_grad(module.loss, pool, "sum", compile=False)
        with pytest.raises(nbgrad.WorkerError, match=r"cannot import a function .*'of_the_caller'"):
            vg(1.0, [(np.ones(2),)])


def test_of_many_workers_one_warns_of_a_full_disk():
    found = run(
        "import multiprocessing; from helpers.parallel import losses\n"
        "pools = [multiprocessing.get_context('fork').Pool(1) for _ in range(3)]\n"
        "result = [pool.apply(losses.warns_of_the_cache) for pool in pools]\n"
        "result.append(losses.warns_of_the_cache())"
    ).result
    assert found == [1, 0, 0, 1]


def test_wrong_input():
    vg = parallel.value_and_grad(mean_loss, compile=False)
    _, x, y = problem()
    with pytest.raises(
        TypeError, match=r"a shard that is a ndarray: a shard must be a tuple of arrays"
    ):
        vg(PARAMS, [x, y])
    with pytest.raises(TypeError, match="a function that returns a ndarray"):
        vg(PARAMS, [lambda: x])
    with pytest.raises(TypeError, match="there is none in a shard of 1 values"):
        parallel.value_and_grad(lambda w, x: w * x, compile=False)(1.0, [(2.0,)])
    with pytest.raises(ValueError, match="shards is empty: pass at least one"):
        vg(PARAMS, [])
    with pytest.raises(TypeError, match="hold no float"):
        vg({"w": 1}, cut(1))
    with pytest.raises(TypeError, match="tracked parameters"):
        vg(nbgrad.track(np.ones(4)), cut(1))
    with pytest.raises(ValueError, match='reduce=\'max\': use "mean" or "sum"'):
        parallel.value_and_grad(mean_loss, reduce="max")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="unknown engine 'spark'"):
        parallel.value_and_grad(mean_loss, "spark")
    with pytest.raises(TypeError, match="a int is not an engine"):
        parallel.value_and_grad(mean_loss, 3)
    with pytest.raises(ValueError, match="workers=0: it must be at least 1"):
        parallel.value_and_grad(mean_loss, "threads", workers=0)
    with pytest.raises(ValueError, match="no report before the first step"):
        print(vg.report)


@pytest.mark.parametrize("name, package", [("dask", "distributed"), ("mpi", "mpi4py")])
def test_an_engine_that_is_not_installed_names_the_extra(name, package, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(nbgrad.MissingExtra, match=rf'pip install "nbgrad\[{name}\]"'):
        parallel.value_and_grad(mean_loss, name)


def test_a_worker_with_other_versions_is_refused():
    mine = versions.here()
    theirs = mine._replace(numba="0.1", python="3.0")
    with pytest.raises(nbgrad.WorkerError, match=r"worker w7 has numba 0\.1 and the call"):
        versions.require_same(mine, theirs, "w7")
    spawn = get_context("spawn")
    with ProcessPoolExecutor(1, spawn, grow_old) as pool:
        vg = parallel.value_and_grad(mean_loss, pool, compile=False)
        for _ in range(2):
            with pytest.raises(nbgrad.WorkerError, match=r"worker \S+:\d+ has nbgrad 0\.0\.1 and"):
                vg(PARAMS, cut(2))
        with pytest.raises(nbgrad.WorkerError, match=r"has nbgrad 0\.0\.1 and"):
            parallel.map(root, [1.0], pool)


@pytest.mark.full
def test_a_straggler_is_named():
    for engine in ("threads", "processes"):
        with parallel.value_and_grad(mean_loss, engine, workers=2, compile=False) as vg:
            name_the_slow(vg)


def test_the_report_names_who_was_late():
    seen = Seen(0, "a", 5, 1.0), Seen(1, "b", 5, 1.1), Seen(2, "c", 5, 2.0), Seen(3, "a", 1, 0.2)
    report = Report(2.5, seen)
    assert report.rows == {"a": 6, "b": 5, "c": 5}
    assert report.workers == {"a": 1.2, "b": 1.1, "c": 2.0} and report.stragglers == ["c"]
    assert str(report).splitlines() == [
        "2.5000 s for 4 shards",
        "  a: 1.2000 s, 6 rows, shards 0, 3",
        "  b: 1.1000 s, 5 rows, shards 1",
        "  c: 2.0000 s, 5 rows, shards 2  straggler",
    ]
    fair = Report(1.0, (Seen(0, "a", 50, 1.0), Seen(1, "b", 5, 0.1), Seen(2, "a", 50, 1.0)))
    assert fair.stragglers == [], "it had more to do"
    assert Report(1.0, (Seen(0, "a", 5, 1.0), Seen(1, "b", 5, 2.0))).stragglers == ["b"]
    vg = parallel.value_and_grad(mean_loss, compile=False)
    vg(PARAMS, cut(3))
    assert [(one.shard, one.rows) for one in vg.report.seen] == [(0, 5), (1, 24), (2, 8)]


def test_an_interrupt_ends_a_step(monkeypatch):
    """What has not begun never does, and the next step is right."""

    def stop():
        signal.raise_signal(signal.SIGINT)
        raise KeyboardInterrupt

    vg = parallel.value_and_grad(mean_loss, "threads", workers=1, compile=False)
    begun = []

    def counted():
        begun.append(1)
        return cut(1)[0]

    with pytest.raises(KeyboardInterrupt):
        vg(PARAMS, [stop] + [counted] * 50)
    assert len(begun) < 50
    require_right(vg(PARAMS, cut(2)))


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
def test_an_interrupt_of_a_worker_that_imports_leaves_no_traceback(capfd):
    worker = executors._Context().Process(target=executors._leave_interrupts)
    worker.start()
    assert worker.pid
    os.kill(worker.pid, signal.SIGINT)
    worker.join()
    assert (worker.exitcode, capfd.readouterr().err) == (0, "")
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_map_gives_results_in_order():
    starts = [1.0, 5.0, -2.0, 0.3]
    for engine in (None, "processes"):
        found = parallel.map(root, starts, engine, workers=2 if engine else None)
        np.testing.assert_allclose(found, np.sqrt(2.0) * np.sign(starts), rtol=1e-14)
    assert parallel.map(root, []) == []
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        with pytest.raises(ArithmeticError, match="two is too many"):
            parallel.map(square_or_fail, [1, 2, 3], pool)


@pytest.mark.parametrize("together", [1, 2, 64])
def test_a_jacobian_by_columns(together):
    x = np.array([0.3, -1.2, 0.7])
    found = parallel.jacobian(swirl, x, together=together)
    np.testing.assert_allclose(found, swirl_jacobian(x), rtol=1e-14)


def test_a_jacobian_of_matrices_and_wrong_input(rng):
    a, x = rng.normal(size=(2, 3)), rng.normal(size=(3, 2))
    found = parallel.jacobian(lambda x: a @ x, x, together=4)
    expected = np.einsum("ik,jl->ijkl", a, np.eye(2))
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    with pytest.raises(nbgrad.DimensionMismatch, match="has no columns to divide"):
        parallel.jacobian(np.sin, np.arange(3))
    with pytest.raises(ValueError, match="together=0"):
        parallel.jacobian(np.sin, np.ones(3), together=0)
