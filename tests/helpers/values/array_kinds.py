"""Every kind of array that a function may be given."""

import numpy as np

import nbgrad
from nbgrad import track

X = np.array([0.7, -1.3, 2.1])

KINDS = {
    "tracked": lambda f: f(track(X)),
    "nested": lambda f: nbgrad.grad(lambda x: (f(x), np.sum(x))[1])(X),
    "dual": lambda f: nbgrad.jvp(f, (X,), (X,)),
    "batched": lambda f: nbgrad.vmap(f)(np.stack([X, X])),
    "symbol": lambda f: nbgrad.compile(f)(X),
}
