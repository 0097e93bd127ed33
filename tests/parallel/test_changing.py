"""What changes between two steps: each engine gives the number of a serial run, or refuses."""

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from helpers.parallel import changing

import nbgrad
from nbgrad import parallel
from nbgrad.kernels.checksum import checksum
from nbgrad.parallel.reads import CARRIED, checksums

DASK = pytest.param("dask", marks=pytest.mark.full)


@pytest.fixture(scope="module", params=["threads", "processes", DASK])
def engine(request):
    if request.param == "threads":
        yield None
    elif request.param == "processes":
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            yield pool
    else:
        distributed = pytest.importorskip("distributed", reason="needs the extra dask")
        options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
            yield client


def made(loss, engine):
    return parallel.value_and_grad(loss, engine, "sum", compile=True)


def shards():
    return [(np.ones(3),), (np.ones(3),)]


@pytest.mark.parametrize("change", changing.CARRIED)
def test_a_change_of_data_or_loss_is_seen(change, engine):
    loss, data = changing.Loss(), shards()
    vg = made(loss, engine)
    assert vg(1.0, data) == vg(1.0, data) == (6.0, 6.0)
    changing.CARRIED[change](loss, data)
    assert vg(1.0, data) == vg(1.0, data) == (12.0, 12.0)
    serial = nbgrad.value_and_grad(lambda w: sum(loss(w, x) for (x,) in data))(1.0)
    assert serial == (12.0, 12.0)


@pytest.mark.parametrize("change", changing.NAMED)
def test_a_change_of_what_is_read_by_name_is_refused(change, engine):
    name, do, undo = changing.NAMED[change]
    vg, data = made(changing.Loss(), engine), shards()
    assert vg(1.0, data) == (6.0, 6.0)
    try:
        do()
        if engine is None:
            assert vg(1.0, data) == (12.0, 12.0)
        else:
            refused = rf"changing\.{name} differs between the caller and the worker"
            with pytest.raises(nbgrad.WorkerError, match=refused):
                vg(1.0, data)
            with pytest.raises(nbgrad.WorkerError, match=refused):
                parallel.map(changing.total, [1.0], engine)
    finally:
        undo()
    assert vg(1.0, data) == (6.0, 6.0)


def test_what_a_closure_holds(engine):
    held, factor = np.ones(2), 1.0

    def loss(w, x):
        return np.sum(w * x) * held[0] * factor

    vg, data = made(loss, engine), shards()
    if isinstance(engine, ProcessPoolExecutor):
        with pytest.raises(TypeError, match="cannot be sent to another process"):
            vg(1.0, data)
        return
    assert vg(1.0, data) == (6.0, 6.0)
    held *= 2.0
    assert vg(1.0, data) == (12.0, 12.0)
    factor = 2.0
    assert vg(1.0, data) == (24.0, 24.0)
    for i in range(3):  # from now on before anything is sent
        data[i % 2][0][...] = 0.0
        assert vg(1.0, data)[0] == (12.0, 0.0, 0.0)[i]


def test_checksums_of_equal_values_are_equal():
    assert checksums(changing.Loss()) == checksums(changing.Loss())
    for change in changing.CARRIED.values():
        loss, data = changing.Loss(), shards()
        before = checksums((loss, data))
        change(loss, data)
        assert checksums((loss, data))[CARRIED] != before[CARRIED]
    nested: list = [{1, "a"}, os.path.join, lambda: nested]
    nested.append(nested)
    assert checksums(nested) == checksums(nested)


@pytest.mark.parametrize("dtype", ["f8", "f4", "u1", "?", "i2"])
def test_a_checksum_sees_each_element_and_its_place(dtype):
    x = np.zeros(37, dtype)
    seen = {checksum(x), checksum(x[:-1])}
    for i in range(x.size):
        y = x.copy()
        y[i] = 1
        seen.add(checksum(y))
    assert len(seen) == x.size + 2
    signs = np.arange(8.0) + 1.0
    assert checksum(signs) != checksum(-signs) != checksum(np.flip(-signs))
    assert checksum(signs[::2]) == checksum(signs[::2].copy())
    assert checksum(np.ones((2, 3)).T) == checksum(np.ones((3, 2)))


SCRIPT = """
import numpy as np
from nbgrad import njit, parallel


def square(x):
    return x * x


@njit
def total(x, w):
    s = 0.0
    for i in range(x.size):
        s += w * x[i]
    return s


class Scale:
    factor = 3.0


def loss(w, x):
    return total(square(x), w) * Scale.factor


if __name__ == "__main__":
    for compile in (True, False):
        vg = parallel.value_and_grad(loss, "processes", "sum", workers=1, compile=compile)
        print(*map(float, vg(2.0, [(np.ones(3),), (np.ones(2),)])))
"""


@pytest.mark.full
def test_functions_of_a_script_are_the_same_in_the_worker(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["30.0 15.0"] * 2, done.stderr
