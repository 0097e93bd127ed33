"""A toy target: the C text of programs, compiled and compared with what nbgrad's own code gives."""

import ctypes
import shutil
import subprocess

import c_target
import numpy as np
import pytest

import nbgrad
from nbgrad.bench.libraries import nbgrad_library
from nbgrad.bench.workloads import workloads
from nbgrad.static.loops.memory import ArgumentBuffer, ResultBuffer

RNG = np.random.default_rng(3)


def two_moons():
    """Value and gradients of a network of two layers with relu and cross entropy."""
    workload = workloads["W5"]

    def function(*parameters):
        return workload.function(nbgrad_library(), *parameters, *workload.data())

    return function, workload.parameters()


def regression():
    x, y = RNG.normal(size=(50, 3)), RNG.normal(size=50)

    def function(w, b):
        rest = np.tanh(x @ w + b) - y
        return np.mean(rest * rest) + 0.1 * np.sum(np.exp(-w * w))

    return function, [RNG.normal(size=3), 0.3]


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("make", [two_moons, regression])
def test_programs_as_c(make, tmp_path):
    function, arguments = make()
    fn = nbgrad.compile(nbgrad.value_and_grad(function, argnums=tuple(range(len(arguments)))))
    variant = fn.variant(*arguments)
    core, captured = variant.loops.core, list(variant.captured)
    inputs = [np.array(x, np.float64) for x in [*arguments, *captured]]
    wanted, slopes = fn(*arguments)
    outputs = [np.zeros(()), *(np.zeros(np.shape(x)) for x in slopes)]
    dtypes, buffers = {}, []
    for parameter in core.parameters:
        if isinstance(parameter, ArgumentBuffer):
            array = np.ascontiguousarray([*arguments, *captured][parameter.position])
        elif isinstance(parameter, ResultBuffer):
            array = outputs[parameter.position]
        else:
            array = inputs[int(str(parameter)[1:])]
        dtypes[parameter] = array.dtype
        buffers.append(array)
    text, library = tmp_path / "program.c", tmp_path / "program.so"
    text.write_text(c_target.program(core, dtypes), encoding="utf-8")
    command = ["cc", "-O1", "-shared", "-fPIC", str(text), "-o", str(library), "-lm"]
    subprocess.run(command, check=True, capture_output=True)
    places = (ctypes.c_void_p * len(buffers))(*(array.ctypes.data for array in buffers))
    results = (ctypes.c_double * max(len(core.results), 1))()
    ctypes.CDLL(str(library)).run(places, results)
    numbers = iter(results)
    for output, expected in zip(outputs, [wanted, *slopes], strict=True):
        found = next(numbers) if np.ndim(expected) == 0 else output
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
