"""Value and gradient of losses with Fourier transforms, in microseconds on one thread.

    python benchmarks/fourier.py nbgrad|jax|torch [longest power of two]

`fft`: the sum of |fft(re + i im)|**4 with respect to both parts, for lengths from 2**8 on.
`deblur`: the misfit of a picture of n x n numbers that is blurred by a product of spectra, with
respect to the scene. The fastest of some calls; pin the process to a core, as in `taskset -c 1`.
"""

import os
import sys
import time
from collections.abc import Callable
from types import FunctionType
from typing import Any

os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)
import numpy as np

SIDES = 64, 256, 512


def fastest(call: Callable[[], Any]) -> float:
    """Microseconds of the fastest of some calls, after two that compile."""
    call(), call()
    times = []
    end = time.perf_counter() + 1.0
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * min(times)


def spectrum(re, im):
    z = np.fft.fft(re + 1j * im)
    return np.sum((z.real**2 + z.imag**2) ** 2)


def misfit(scene, picture, blur):
    error = np.fft.irfft2(np.fft.rfft2(scene) * blur, scene.shape) - picture
    return 0.5 * np.sum(error**2)


def by_nbgrad() -> tuple[Callable, Callable, Callable]:
    import nbgrad

    nbgrad.set_threads(1)
    both = nbgrad.value_and_grad(spectrum, (0, 1)), nbgrad.value_and_grad(misfit)
    return *map(nbgrad.compile, both), np.asarray


def by_jax() -> tuple[Callable, Callable, Callable]:
    import jax
    import jax.numpy

    jax.config.update("jax_enable_x64", True)

    def rewritten(function: Callable, argnums: Any) -> Callable:
        """The same code with JAX's functions."""
        code = FunctionType(function.__code__, {"np": jax.numpy})
        run = jax.jit(jax.value_and_grad(code, argnums))
        return lambda *args: jax.block_until_ready(run(*args))

    return rewritten(spectrum, (0, 1)), rewritten(misfit, 0), jax.numpy.asarray


def by_torch() -> tuple[Callable, Callable, Callable]:
    import torch

    torch.set_num_threads(1)

    def spectrum(re, im):
        re, im = (x.detach().requires_grad_() for x in (re, im))
        z = torch.fft.fft(torch.complex(re, im))
        loss = torch.sum((z.real**2 + z.imag**2) ** 2)
        return loss, torch.autograd.grad(loss, (re, im))

    def misfit(scene, picture, blur):
        scene = scene.detach().requires_grad_()
        error = torch.fft.irfft2(torch.fft.rfft2(scene) * blur, scene.shape) - picture
        loss = 0.5 * torch.sum(error**2)
        return loss, torch.autograd.grad(loss, scene)

    return spectrum, misfit, lambda x: torch.from_numpy(np.array(x))


def main(engine: str, longest: int) -> None:
    spectrum, misfit, array = {"nbgrad": by_nbgrad, "jax": by_jax, "torch": by_torch}[engine]()
    rng = np.random.default_rng(0)
    for power in range(8, longest + 1, 2):
        re, im = (array(x) for x in rng.normal(size=(2, 2**power)))
        print(f"{engine} fft 2**{power}: {fastest(lambda: spectrum(re, im)):.1f}", flush=True)  # noqa: B023
    for n in SIDES:
        scene, picture = (array(x) for x in rng.normal(size=(2, n, n)))
        blur = array(np.exp(-np.hypot(np.fft.fftfreq(n)[:, None], np.fft.rfftfreq(n)) * 9))
        each = fastest(lambda: misfit(scene, picture, blur))  # noqa: B023
        print(f"{engine} deblur {n} x {n}: {each:.1f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20)
