"""Kernels with loops in C++, whose derivatives Enzyme makes of LLVM code, through `cpp_call` of
enzyme-ad. Arrays that a kernel writes to are copied into memory of its own."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from loop_kernels import LoopKernel


def enzyme_runner(name: str, kernel: LoopKernel) -> Callable[[], Any] | None:
    """A call of the value and gradients, until they are there; None without enzyme-ad, and for
    kernels that are not written here."""
    if name not in SOURCES or find_spec("enzyme_ad") is None:
        return None
    import jax
    import jax.numpy as jnp
    from enzyme_ad.jax import cpp_call

    jax.config.update("jax_enable_x64", True)
    places, source = SOURCES[name]
    given = kernel.given()
    arrays = [np.atleast_1d(np.asarray(given[i], float)) for i in places]
    numbers = {f"N{i}": repr(x) for i, x in enumerate(given) if isinstance(x, (int, float))}
    for number, value in numbers.items():
        source = source.replace(number, value)
    sizes = [n for x in arrays for n in x.shape]
    parameters = ", ".join(f"std::size_t s{i}" for i in range(len(sizes)))
    declared, left = [], iter(range(len(sizes)))
    for i, x in zip(places, arrays, strict=True):
        shape = ", ".join(f"s{next(left)}" for _ in x.shape)
        declared.append(f"const enzyme::tensor<double, {shape}>& x{i}")
    head = f"template<{parameters}>\nvoid f(enzyme::tensor<double, 1>& out, {', '.join(declared)})"
    text = f"{head} {{\n{source}\n}}\n"
    out = [jax.core.ShapedArray([1], jnp.float64)]

    def value(*args: Any) -> Any:
        return cpp_call(*args, out_shapes=out, source=text, fn="f", argv=("-O3",))[0][0]

    wrt = tuple(places.index(i) for i in kernel.wrt)
    program = jax.jit(jax.value_and_grad(value, wrt))
    held = [jax.device_put(x) for x in arrays]
    return lambda: jax.block_until_ready(program(*held))


COPY = """
  const int n = s0, m = s1;
  double* a = (double*)__builtin_malloc(sizeof(double) * n * m);
  for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i * m + j] = x0[i][j];
"""
SQUARES = """
  double total = 0.0;
  for (int i = 0; i < n * m; i++) total += a[i] * a[i];
  out[0] = total;
  __builtin_free(a);
"""
SOURCES: dict[str, tuple[tuple[int, ...], str]] = {
    "Gauss-Seidel": ((0,), COPY + """
  for (int t = 0; t < N1; t++)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m - 1; j++)
        a[i * m + j] = (a[(i - 1) * m + j] + a[(i + 1) * m + j]
                        + a[i * m + j - 1] + a[i * m + j + 1]) / 4.0;
""" + SQUARES),
    "Jacobi": ((0,), COPY + """
  double* b = (double*)__builtin_malloc(sizeof(double) * n * m);
  for (int t = 0; t < N2; t++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m - 1; j++)
        b[i * m + j] = (a[(i - 1) * m + j] + a[(i + 1) * m + j]
                        + a[i * m + j - 1] + a[i * m + j + 1]) * 0.25;
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m - 1; j++) a[i * m + j] = b[i * m + j];
  }
  __builtin_free(b);
""" + SQUARES),
    "LU": ((0,), COPY + """
  for (int k = 0; k < n; k++)
    for (int i = k + 1; i < n; i++) {
      a[i * m + k] /= a[k * m + k];
      for (int j = k + 1; j < n; j++) a[i * m + j] -= a[i * m + k] * a[k * m + j];
    }
""" + SQUARES),
    "Cholesky": ((0,), COPY + """
  for (int j = 0; j < n; j++) {
    for (int k = 0; k < j; k++)
      for (int i = j; i < n; i++) a[i * m + j] -= a[i * m + k] * a[j * m + k];
    double d = __builtin_sqrt(a[j * m + j]);
    for (int i = j; i < n; i++) a[i * m + j] /= d;
  }
  double total = 0.0;
  for (int j = 0; j < n; j++) total += __builtin_log(a[j * m + j]);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++) total += a[i * m + j] * a[i * m + j];
  out[0] = total;
  __builtin_free(a);
"""),
    "Durbin": ((0,), """
  const int n = s0;
  double* y = (double*)__builtin_malloc(sizeof(double) * n);
  double* z = (double*)__builtin_malloc(sizeof(double) * n);
  double alpha = -x0[0], beta = 1.0;
  y[0] = -x0[0];
  for (int k = 1; k < n; k++) {
    beta = (1 - alpha * alpha) * beta;
    double s = 0.0;
    for (int i = 0; i < k; i++) s += x0[k - i - 1] * y[i];
    alpha = -(x0[k] + s) / beta;
    for (int i = 0; i < k; i++) z[i] = y[i] + alpha * y[k - i - 1];
    for (int i = 0; i < k; i++) y[i] = z[i];
    y[k] = alpha;
  }
  double total = 0.0;
  for (int i = 0; i < n; i++) total += y[i] * y[i];
  out[0] = total;
  __builtin_free(y);
  __builtin_free(z);
"""),
    "N-body": ((0, 1), """
  const int n = s0;
  double* x = (double*)__builtin_malloc(sizeof(double) * 2 * n);
  double* v = (double*)__builtin_malloc(sizeof(double) * 2 * n);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 2; k++) { x[2 * i + k] = x0[i][k]; v[2 * i + k] = x1[i][k]; }
  for (int t = 0; t < N2; t++) {
    for (int i = 0; i < n; i++) {
      double ax = 0.0, ay = 0.0;
      for (int j = 0; j < n; j++) {
        double dx = x[2 * j] - x[2 * i], dy = x[2 * j + 1] - x[2 * i + 1];
        double r2 = dx * dx + dy * dy + 0.1;
        double w = 1.0 / (r2 * __builtin_sqrt(r2));
        ax += dx * w;
        ay += dy * w;
      }
      v[2 * i] += 0.01 * ax;
      v[2 * i + 1] += 0.01 * ay;
    }
    for (int i = 0; i < 2 * n; i++) x[i] += 0.01 * v[i];
  }
  double total = 0.0;
  for (int i = 0; i < n; i++) total += x[2 * i] * x[2 * i + 1];
  out[0] = total;
  __builtin_free(x);
  __builtin_free(v);
"""),
    "Lotka-Volterra": ((0,), """
  const double p = x0[0], q = x0[1], r = x0[2], s = x0[3], dt = N2;
  double x = 1.0, y = 0.5;
  for (int t = 0; t < N1; t++) {
    double k1x = p * x - q * x * y, k1y = r * x * y - s * y;
    double x2 = x + 0.5 * dt * k1x, y2 = y + 0.5 * dt * k1y;
    double k2x = p * x2 - q * x2 * y2, k2y = r * x2 * y2 - s * y2;
    double x3 = x + 0.5 * dt * k2x, y3 = y + 0.5 * dt * k2y;
    double k3x = p * x3 - q * x3 * y3, k3y = r * x3 * y3 - s * y3;
    double x4 = x + dt * k3x, y4 = y + dt * k3y;
    double k4x = p * x4 - q * x4 * y4, k4y = r * x4 * y4 - s * y4;
    x = x + dt / 6 * (k1x + 2 * k2x + 2 * k3x + k4x);
    y = y + dt / 6 * (k1y + 2 * k2y + 2 * k3y + k4y);
  }
  out[0] = x * x + y;
"""),
    "GARCH": ((0, 1), """
  double h = 0.1, total = 0.0;
  for (int t = 0; t < (int)s1; t++) {
    total += __builtin_log(h) + x1[t] * x1[t] / h;
    h = x0[0] + x0[1] * x1[t] * x1[t] + x0[2] * h;
  }
  out[0] = total;
"""),
    "soft-DTW": ((0, 1, 2), """
  const int n = s0, m = s1, w = m + 1;
  const double gamma = x2[0];
  double* r = (double*)__builtin_malloc(sizeof(double) * (n + 1) * w);
  for (int i = 0; i <= n; i++) for (int j = 0; j <= m; j++) r[i * w + j] = x1[i][j];
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= m; j++) {
      double a = -r[(i - 1) * w + j - 1] / gamma;
      double b = -r[(i - 1) * w + j] / gamma;
      double c = -r[i * w + j - 1] / gamma;
      double most = a > b ? a : b;
      most = most > c ? most : c;
      double z = __builtin_exp(a - most) + __builtin_exp(b - most) + __builtin_exp(c - most);
      r[i * w + j] = x0[i - 1][j - 1] - gamma * (__builtin_log(z) + most);
    }
  out[0] = r[n * w + m];
  __builtin_free(r);
"""),
    "alignment": ((0, 1, 2), """
  const int n = s0, m = s1, w = m + 1;
  double* c = (double*)__builtin_malloc(sizeof(double) * (n + 1) * w);
  for (int i = 0; i <= n; i++) for (int j = 0; j <= m; j++) c[i * w + j] = x2[i][j];
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= m; j++) {
      double both = c[(i - 1) * w + j - 1] + x0[i - 1] * x1[j - 1];
      double up = c[(i - 1) * w + j] - 0.3, left = c[i * w + j - 1] - 0.3;
      if (both >= up && both >= left) c[i * w + j] = both;
      else if (up >= left) c[i * w + j] = up;
      else c[i * w + j] = left;
    }
  out[0] = c[n * w + m];
  __builtin_free(c);
"""),
    "barrier option": ((0, 1, 2), """
  const double sigma = x2[0], dt = 1.0 / s1;
  double total = 0.0;
  for (int i = 0; i < (int)s0; i++) {
    double s = x1[0];
    bool alive = true;
    for (int t = 0; t < (int)s1; t++) {
      s = s * __builtin_exp(-0.5 * sigma * sigma * dt + sigma * __builtin_sqrt(dt) * x0[i][t]);
      if (s > 130.0) { alive = false; break; }
    }
    if (alive && s > N3) total += s - N3;
  }
  out[0] = total / s0;
"""),
    "Newton": ((0,), """
  double total = 0.0;
  for (int i = 0; i < (int)s0; i++) {
    double x = x0[i];
    while (__builtin_fabs(x * x * x - x0[i]) > 1e-10)
      x = x - (x * x * x - x0[i]) / (3 * x * x);
    total += x * x;
  }
  out[0] = total;
"""),
}  # fmt: skip
