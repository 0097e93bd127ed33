"""Prices, risks and time series of markets."""

from collections import namedtuple

import numpy as np

from corpus import AGREED, case, definite, near, normal, uniform


def norm_cdf(x):
    """Hart's polynomial, as it is copied from textbooks."""
    a = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429]
    L = np.abs(x)
    K = 1.0 / (1.0 + 0.2316419 * L)
    w = 0.0
    for i, c in enumerate(a):
        w += c * K ** (i + 1)
    w = 1.0 - 1.0 / np.sqrt(2 * np.pi) * np.exp(-L * L / 2.0) * w
    return np.where(x < 0, 1.0 - w, w)


@case(near(100.0), near(95.0), near(0.5), near(0.03), near(0.2))
def black_scholes(S, K, T, r, sigma, kind="call"):
    d1 = (np.log(S / K) + (r + 0.5 * sigma**2) * T) / (sigma * np.sqrt(T))
    d2 = d1 - sigma * np.sqrt(T)
    if kind == "call":
        return S * norm_cdf(d1) - K * np.exp(-r * T) * norm_cdf(d2)
    return K * np.exp(-r * T) * norm_cdf(-d2) - S * norm_cdf(-d1)


@case(near(100.0), near(0.3), near(0.05))
def binomial_american(S0, sigma, r, K=105.0, T=1.0, N=4):
    dt = T / N
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(r * dt) - d) / (u - d)
    prices = np.zeros(N + 1)
    for i in range(N + 1):
        prices[i] = S0 * u ** (N - i) * d**i
    values = np.maximum(K - prices, 0)
    for n in range(N - 1, -1, -1):
        for i in range(n + 1):
            hold = np.exp(-r * dt) * (p * values[i] + (1 - p) * values[i + 1])
            exercise = K - S0 * u ** (n - i) * d**i
            values[i] = np.maximum(hold, exercise)
    return values[0]


Heston = namedtuple("Heston", "kappa theta xi rho", defaults=(-0.5,))


@case(near(100.0), near(0.04), near([1.5, 0.05, 0.3]))
def heston_path(s, v, params, steps=4, dt=0.1):
    m = Heston(*params)
    z = np.random.RandomState(11).standard_normal((steps, 2))
    path = np.empty((steps + 1, 2))
    path[0] = [s, v]
    for t in range(steps):
        w1 = z[t, 0]
        w2 = m.rho * w1 + np.sqrt(1 - m.rho**2) * z[t, 1]
        v_prev = np.maximum(path[t, 1], 1e-4)
        path[t + 1, 0] = path[t, 0] * np.exp(-0.5 * v_prev * dt + np.sqrt(v_prev * dt) * w1)
        path[t + 1, 1] = (
            v_prev + m.kappa * (m.theta - v_prev) * dt + m.xi * np.sqrt(v_prev * dt) * w2
        )
    return path


@case(near(0.05), near(0.06))
def bond_duration(coupon, y, face=100, years=5, freq=2):
    times = np.arange(1, years * freq + 1) / freq
    flows = np.ones(len(times)) * coupon * face / freq
    flows[-1] += face
    discounted = flows / (1 + y / freq) ** (times * freq)
    price = discounted.sum()
    macaulay = np.dot(times, discounted) / price
    convexity = np.sum(discounted * times * (times + 1 / freq)) / price
    return {"price": price, "modified": macaulay / (1 + y / freq), "convexity": convexity}


@case(uniform(0.1, 1.0, 4), definite(4), normal(4, scale=0.1))
def portfolio(weights, cov, mu, rf=0.01):
    weights = np.asarray(weights) / np.sum(weights)
    assert weights.ndim == 1 and len(weights) == cov.shape[0]
    variance = weights.T @ cov @ weights
    vol = np.sqrt(variance)
    sharpe = (np.dot(weights, mu) - rf) / vol
    marginal = cov.dot(weights) / vol
    contributions = np.multiply(weights, marginal)
    return sharpe, contributions / contributions.sum()


@case(definite(3, 0.5), near([0.25, 0.25, 0.5]))
def risk_parity_steps(cov, budget, steps=3):
    n = cov.shape[0]
    w = np.ones(n) / n
    for _ in range(steps):
        for i in range(n):
            a = cov[i, i]
            b = np.dot(cov[i], w) - cov[i, i] * w[i]
            w[i] = (-b + np.sqrt(b**2 + 4 * a * budget[i])) / (2 * a)
    return w / w.sum()


@case(uniform(-0.1, 0.12, 7))
def max_drawdown(returns):
    wealth = 100 * (1 + returns).cumprod()
    peaks = np.maximum.accumulate(wealth)
    drawdowns = (wealth - peaks) / peaks
    return drawdowns.min(), wealth[-1]


@case(normal(6), uniform(0.1, 0.4))
def ewma_volatility(returns, alpha):
    out = np.zeros_like(returns)
    out[0] = returns[0] ** 2
    for t in range(1, returns.shape[0]):
        out[t] = (1 - alpha) * out[t - 1] + alpha * returns[t] ** 2
    return np.sqrt(out)


@case(near([0.1, 0.15, 0.7]), normal(6))
def garch_likelihood(params, eps):
    omega, alpha, beta = params
    T = len(eps)
    sigma2 = np.ones(T) * omega / (1 - alpha - beta)
    loglik = 0
    for t in range(1, T):
        sigma2[t] = omega + alpha * eps[t - 1] ** 2 + beta * sigma2[t - 1]
        loglik -= 0.5 * (np.log(2 * np.pi) + np.log(sigma2[t]) + eps[t] ** 2 / sigma2[t])
    return -loglik


@case(near([100.0, 101.0, 99.0, 102.0, 104.0, 103.0, 101.5, 99.0], 0.01))
def rsi(prices, period=3):
    deltas = np.diff(prices)
    gains = np.where(deltas > 0, deltas, 0.0)
    losses = np.where(deltas < 0, -deltas, 0.0)
    up, down = np.mean(gains[:period]), np.mean(losses[:period])
    values = []
    for g, l in zip(gains[period:], losses[period:]):
        up = (up * (period - 1) + g) / period
        down = (down * (period - 1) + l) / period
        values.append(100 - 100 / (1 + up / (down + 1e-9)))
    return np.array(values)


@case(near([100.0, 101.0, 99.0, 102.0, 104.0, 103.0], 0.01))
def macd_and_bands(prices, fast=2, slow=4, k=2):
    def ema(x, n):
        a = 2 / (n + 1)
        out = [x[0]]
        for v in x[1:]:
            out.append(a * v + (1 - a) * out[-1])
        return np.array(out)

    line = ema(prices, fast) - ema(prices, slow)
    average = np.convolve(prices, np.ones(3) / 3, mode="valid")
    spread = np.array([np.std(prices[i : i + 3]) for i in range(len(average))])
    return line, np.c_[average - k * spread, average + k * spread]


@case(near([0.02, 0.025, 0.03, 0.034]))
def bootstrap_curve(par_rates):
    """Discount factors of yearly swaps."""
    n = len(par_rates)
    df = np.zeros(n)
    for i in range(n):
        annuity = sum(df[:i]) if i else 0.0
        df[i] = (1 - par_rates[i] * annuity) / (1 + par_rates[i])
    zero = -np.log(df) / np.arange(1, n + 1)
    forward = np.append(1 / df[0], df[:-1] / df[1:]) - 1
    return zero, forward


@case(near(0.03), near(0.2), near(0.01), near(0.02))
def vasicek_bond(r, a, b, sigma, maturities=(0.5, 1, 2, 5)):
    out = []
    for tau in maturities:
        B = (1 - np.exp(-a * tau)) / a
        A = np.exp((b - sigma**2 / (2 * a**2)) * (B - tau) - sigma**2 / (4 * a) * B**2)
        out.append([tau, A * np.exp(-B * r)])
    return np.array(out)[:, 1]


@case(near(10.0), near(100.0), refused=AGREED)
def implied_volatility(price, S, K=100.0, T=1.0, tol=1e-12, max_iter=50):
    """Newton until it is good enough."""
    sigma = 0.3
    for i in range(max_iter):
        d1 = (np.log(S / K) + 0.5 * sigma**2 * T) / (sigma * np.sqrt(T))
        value = S * norm_cdf(d1) - K * norm_cdf(d1 - sigma * np.sqrt(T))
        vega = S * np.exp(-0.5 * d1**2) / np.sqrt(2 * np.pi) * np.sqrt(T)
        diff = value - price
        if abs(diff) < tol:
            break
        sigma = sigma - diff / vega
    return sigma


@case(near([-100.0, 30.0, 40.0, 50.0]), near(0.1))
def net_present_value(flows, rate):
    """And one step of Newton towards the internal rate."""
    npv, slope = 0, 0
    for t, flow in enumerate(flows):
        npv += flow / (1 + rate) ** t
        slope += -t * flow / (1 + rate) ** (t + 1)
    return npv, rate - npv / slope
