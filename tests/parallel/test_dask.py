"""A Dask cluster of two processes: the same bits, data that stays, workers that die."""

import os
import signal
import time
from importlib import import_module
from typing import Any, cast

import numpy as np
import pytest
from helpers.parallel.losses import (
    CUTS,
    LOSSES,
    DiesOnce,
    Fragile,
    Loader,
    bits,
    cut,
    grow_old,
    leaves_interrupts,
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
from nbgrad import parallel, train
from nbgrad.parallel import cluster
from nbgrad.parallel.cluster import Cluster

distributed = pytest.importorskip(
    "distributed", reason='needs the extra dask: pip install "nbgrad[dask]"'
)
dask = pytest.importorskip("dask")
PARAMS = problem()[0]


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.parametrize("n", CUTS)
def test_shards_on_a_cluster_equal_all_the_data(n, client):
    vg = parallel.value_and_grad(mean_loss, client)
    first = vg(PARAMS, cut(n))
    require_right(first)
    assert bits(vg(PARAMS, [Loader(n, i) for i in range(n)])) == bits(first)
    assert bits(parallel.value_and_grad(mean_loss)(PARAMS, cut(n))) == bits(first), "as in threads"


def test_sums_and_shards_that_are_there_already(client):
    vg = parallel.value_and_grad(LOSSES["sum"], client, reduce="sum", compile=False)
    shards = cut(7)
    arrays = [dask.delayed(x) for x in shards[2]]
    mixed = [
        client.submit(Loader(7, 0)),
        dask.delayed(Loader(7, 1))(),
        tuple(arrays),
        client.scatter([shards[3]])[0],
        list(shards[4]),
        tuple(client.scatter(list(shards[5]))),
        Loader(7, 6),
    ]
    require_right(vg(PARAMS, mixed), "sum")
    require_right(vg(PARAMS, mixed), "sum")


def test_parameters_that_look_like_tasks(client):
    """Dask reads tuples that begin with a function, and names of results, as work to do."""
    f = client.submit(abs, -3, key="three")
    f.result()
    vg = parallel.value_and_grad(lambda p, x: np.sum(p["w"][0] * x), client, "sum", compile=False)
    for size in (3, 50_000):
        params = {"w": (np.ones(size), abs), "name": "three"}
        value, slope = vg(params, [(np.full(size, 2.0),), (np.ones(size),)])
        assert value == 3.0 * size and slope["name"] is None and slope["w"][1] is None
        np.testing.assert_array_equal(slope["w"][0], np.full(size, 3.0))


def test_data_goes_out_once(client):
    vg = parallel.value_and_grad(mean_loss, client, compile=False)
    shards = cut(3)
    engine = cast(Cluster, vg._engine)
    vg(PARAMS, shards)
    placed = [shard.future for shard in engine._placed.values()]
    vg(PARAMS, shards)
    again = [shard.future for shard in engine._placed.values()]
    assert all(a is b for a, b in zip(placed, again, strict=True))
    vg(PARAMS, cut(2))
    assert len(engine._placed) == 2, "what is no shard any more is let go"


def test_more_shards_than_one_sum_takes(client):
    x = np.arange(20.0)
    vg = parallel.value_and_grad(lambda w, x: np.sum(w * x), client, "sum", compile=False)
    value, slope = vg(3.0, [(x[i : i + 1],) for i in range(20)])
    assert (value, slope) == (570.0, 190.0)
    assert [one.shard for one in vg.report.seen] == list(range(20))
    assert 1 <= len(vg.report.workers) <= 2


def test_a_worker_that_dies_in_a_step_is_replaced(client, tmp_path):
    expected = bits(parallel.value_and_grad(mean_loss)(PARAMS, cut(3)))
    vg = parallel.value_and_grad(mean_loss, client)
    found = vg(PARAMS, [Loader(3, 0), DiesOnce(tmp_path / "mark", 1), Loader(3, 2)])
    assert bits(found) == expected
    shards = cut(3)
    assert bits(vg(PARAMS, shards)) == expected
    for pid in client.run(os.getpid).values():  # with all the data that was sent to them
        os.kill(pid, signal.SIGKILL)
    assert bits(vg(PARAMS, shards)) == expected


def test_errors_come_back_and_the_cluster_goes_on(client):
    vg = parallel.value_and_grad(mean_loss, client, compile=False)
    with pytest.raises(nbgrad.DimensionMismatch) as caught:
        vg(PARAMS, [*cut(2), (np.ones((3, 5)), np.ones(3))])
    assert any("in shard 2, by the worker" in note for note in caught.value.__notes__)
    with pytest.raises(TypeError, match="a shard must be a tuple of arrays"):
        vg(PARAMS, list(cut(1)[0]))
    require_right(vg(PARAMS, cut(2)))


def test_a_worker_with_other_versions_is_refused():
    """At the start, and where it joins later."""
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        vg = parallel.value_and_grad(mean_loss, client, compile=False)
        require_right(vg(PARAMS, cut(2)))
        client.run(grow_old)
        with pytest.raises(nbgrad.WorkerError, match=r"worker \S+:\d+ .*has nbgrad 0\.0\.1 and"):
            vg(PARAMS, cut(2))
        with pytest.raises(nbgrad.WorkerError, match=r"worker tcp://.* has nbgrad 0\.0\.1 and"):
            parallel.value_and_grad(mean_loss, client)


@pytest.mark.parametrize("what", ["loss", "load"])
def test_a_worker_that_cannot_import_a_function_says_so(client, tmp_path, monkeypatch, what):
    monkeypatch.syspath_prepend(tmp_path)
    module = import_module(write_module(tmp_path))
    loss = module.loss if what == "loss" else lambda w, x: np.sum(w * x)
    shards = [(np.ones(2),)] if what == "loss" else [module.load]
    vg = parallel.value_and_grad(loss, client, "sum", compile=False)
    with pytest.raises(nbgrad.WorkerError, match=r"cannot import a function .*'of_the_caller'"):
        vg(1.0, shards)
    with pytest.raises(nbgrad.WorkerError, match=r"cannot import a function .*'of_the_caller'"):
        parallel.map(module.load, [1], client)


def test_ctrl_c_is_left_to_the_caller(client):
    vg = parallel.value_and_grad(mean_loss, client, compile=False)
    assert client.run(leaves_interrupts) == dict.fromkeys(client.nthreads(), True)
    require_right(vg(PARAMS, cut(2)))


def test_workers_and_a_scheduler_that_are_lost(monkeypatch):
    """Errors of one line, within seconds; a cluster that has workers again goes on."""
    monkeypatch.setattr(cluster, "_WAIT", 0.5)
    monkeypatch.setattr(cluster, "_LOOK", 0.5)
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as local, distributed.Client(local) as client:
        vg = parallel.value_and_grad(mean_loss, client, compile=False)
        require_right(vg(PARAMS, cut(2)))
        local.scale(0)
        while client.nthreads():
            time.sleep(0.05)
        for shards in (cut(2), [Loader(2, 0), Loader(2, 1)]):
            with pytest.raises(nbgrad.WorkerError, match=r"cluster at tcp://.* has no workers, an"):
                vg(PARAMS, shards)
        monkeypatch.setattr(cluster, "_WAIT", 60.0)
        local.scale(1)
        require_right(vg(PARAMS, cut(2)))
        local.close()
        with pytest.raises(nbgrad.WorkerError, match="scheduler of the cluster is lost"):
            vg(PARAMS, cut(2))


def test_a_straggler_is_named(client):
    name_the_slow(parallel.value_and_grad(mean_loss, client, compile=False))


def test_dask_arrays_and_bags(client):
    """Their pieces are the shards, and are read where they are."""
    of_dask, bags = pytest.importorskip("dask.array"), pytest.importorskip("dask.bag")
    _, x, y = problem()
    chunks = (5, 24, 8)
    pieces = (of_dask.from_array(x, (chunks, 4)), of_dask.from_array(y, (chunks,)))
    shards = list(zip(*(piece.to_delayed().ravel() for piece in pieces), strict=True))
    bag = bags.from_sequence(range(3), npartitions=3).map(lambda i: cut(3)[i])
    vg = parallel.value_and_grad(mean_loss, client, compile=False)
    expected = bits(vg(PARAMS, cut(3)))
    assert bits(vg(PARAMS, shards)) == expected
    assert bits(vg(PARAMS, [delayed[0] for delayed in bag.to_delayed()])) == expected


@pytest.mark.parametrize("batch", [8, None])
def test_a_training_outlives_a_worker(client, batch, tmp_path):
    """And has the bits of one on threads: data that went out once is there again."""
    _, x, y = problem()
    settings: Any = {"batch": batch, "steps": 9, "every": 4, "workers": 2}
    settings["optimiser"] = nbgrad.optim.Adam(0.05)
    mark = tmp_path / "mark"
    model = Fragile(mark)
    steady = train.fit(model, nbgrad.mse, (x, y), engine="threads", **settings)
    watch = lambda moment, _: mark.touch() if moment.step == 4 else None  # noqa: E731
    found = train.fit(model, nbgrad.mse, (x, y), engine=client, watch=watch, **settings)
    assert not mark.exists(), "a worker died"
    np.testing.assert_array_equal(found.losses, steady.losses)
    np.testing.assert_array_equal(found.model.w, steady.model.w)


def test_map_and_jacobian(client):
    found = parallel.map(root, [1.0, 5.0, -2.0], client)
    np.testing.assert_allclose(found, np.sqrt(2.0) * np.array([1, 1, -1]), rtol=1e-14)
    with pytest.raises(ArithmeticError, match="two is too many"):
        parallel.map(square_or_fail, [1, 2, 3], client)
    x = np.array([0.3, -1.2, 0.7])
    found = parallel.jacobian(swirl, x, client, together=2)
    np.testing.assert_allclose(found, swirl_jacobian(x), rtol=1e-14)


def test_a_cluster_by_its_name():
    with parallel.value_and_grad(mean_loss, "dask", workers=1, compile=False) as vg:
        require_right(vg(PARAMS, cut(2)))
