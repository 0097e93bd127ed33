"""Errors about functions that are compiled, batched, or loops."""

from .explained import Explanation

EXPLANATIONS = (
    Explanation(
        "NB-BRANCH",
        "A branch depends on a value that is not known",
        "`nbgrad.compile` records the function once, with symbols in place of numbers, and vmap "
        "runs it for all samples at once. So `if`, `while`, `and` and `or` cannot look at such a "
        "value.",
        """
@nbgrad.compile
def bounded(x):
    return x if x > 0.0 else 0.1 * x


bounded(1.0)
""",
        "Choose by `np.where(x > 0.0, x, 0.1 * x)`, or run one of two functions with "
        "`nbgrad.cond`. Use `nbgrad.while_loop` in place of while. A condition on an option, not "
        "on data, may be named in `static_argnames`.",
    ),
    Explanation(
        "NB-TRACE",
        "A number is needed while the function is recorded",
        "`nbgrad.compile` records the function once, with symbols in place of numbers. `float()`, "
        "math functions, `.item()`, and functions outside of NumPy need the number.",
        """
import math


@nbgrad.compile
def area(r):
    return math.pi * math.exp(r)


area(2.0)
""",
        "Use functions of NumPy, such as `np.exp`. Compute what needs the number outside of the "
        "compiled function, and pass the result as an argument.",
    ),
    Explanation(
        "NB-STATIC",
        "A number of steps or elements is not known",
        "The shapes of a compiled function are fixed when it is recorded. The number of steps of a "
        "loop, or the shape of an array, depends on the value of an argument.",
        """
@nbgrad.compile
def powers(x, n):
    for _ in range(n):
        x = x * x
    return x


powers(2.0, 3)
""",
        'Name the argument in `static_argnames`: `nbgrad.compile(powers, static_argnames=["n"])`; '
        "each value is compiled once. Or use `nbgrad.loop`, or `nbgrad.while_loop` with "
        "`max_steps`. In place of `x[mask]` use `np.where(mask, x, 0.0)`.",
    ),
    Explanation(
        "NB-EAGER",
        "A function cannot be compiled",
        "The function works on tracked arrays, and not in compiled functions, because its result "
        "depends on numbers in a way that cannot be recorded.",
        """
@nbgrad.compile
def count(x):
    return np.sum(np.unique(x))


count(np.array([1.0, 1.0, 2.0]))
""",
        "Compute this part outside of the compiled function, and pass the result as an argument.",
    ),
    Explanation(
        "NB-CAPTURE",
        "A compiled function uses a value from outside",
        "Compiled functions copy plain arrays that they close over. A tracked array from outside "
        "has a graph, which has no place in a compiled program.",
        """
w = nbgrad.track(np.ones(3))


@nbgrad.compile
def loss(x):
    return np.sum(w * x)


loss(np.ones(3))
""",
        "Pass the array as an argument, or its numbers, `w.data`.",
    ),
    Explanation(
        "NB-RANDOM",
        "Random numbers are drawn while the function is recorded",
        "A compiled function that draws from a NumPy Generator would use the same numbers in each "
        "call, those of the recording.",
        """
rng = np.random.default_rng(0)


@nbgrad.compile
def noisy(x):
    return x + rng.normal(size=3)


noisy(np.ones(3))
""",
        "Use `nbgrad.random`: `state, noise = nbgrad.random.normal(state, 3)`. Create the state by "
        "`nbgrad.random.key(seed)` outside, pass it in, and return the new one.",
    ),
    Explanation(
        "NB-COMPILED",
        "A compiled function does not take this argument",
        "Compiled functions take numbers and arrays of floats, integers and bools, nested in "
        "dicts, lists, tuples and registered classes. Static arguments must be hashable. Arrays "
        "for `out=` must have the shape and dtype of the result.",
        """
half = nbgrad.compile(lambda x: 0.5 * x)
half(np.array(["a", "b"]))
""",
        "Convert the argument with `np.asarray`, or name it in `static_argnames`.",
    ),
    Explanation(
        "NB-SIZES",
        "Named sizes do not fit",
        "With `dynamic=`, lengths have names and a program is compiled for all of them. The arrays "
        "of a call have other lengths than their names say, or the function does something that "
        "depends on a length in a way that has no formula.",
        """
add = nbgrad.compile(lambda x, y: x + y, dynamic={"x": ("n",), "y": ("n",)})
add(np.ones(3), np.ones(4))
""",
        "Pass arrays whose lengths agree with the names. Name fewer sizes: a length without a name "
        "is compiled once for each value.",
    ),
    Explanation(
        "NB-CFUNC",
        "The function has no such C interface",
        "`cfunc('quad')` is for functions that return one number; `cfunc('ode')` for `f(t, u)` or "
        "`f(t, u, parameters)` that returns an array of the shape of u. All values are float64.",
        """
f = nbgrad.compile(lambda x: np.stack([x, 2.0 * x]))
f(1.0)
f.cfunc("quad")
""",
        "Return what the interface asks for, or use `.address`, which takes pointers to all "
        "arguments and results.",
    ),
    Explanation(
        "NB-CONDITION",
        "A condition for an exception holds",
        "Your function has `if condition: raise Error` or `assert`, and the condition depends on "
        "values. Compiled, the check runs with the program, and the exception has its class but "
        "not its text, which may contain values.",
        """
@nbgrad.compile
def root(x):
    if x < 0.0:
        raise ValueError("negative")
    return np.sqrt(x)


root(-1.0)
""",
        "The message names the line of the check: correct the arguments.",
    ),
    Explanation(
        "NB-STATE",
        "A loop changes its state, or branches differ",
        "The state of `nbgrad.loop`, scan and `while_loop` must keep its structure, shapes and "
        "dtypes from step to step, and both functions of `nbgrad.cond` must return the same ones.",
        """
nbgrad.loop(3, lambda i, x: np.append(x, 1.0), np.zeros(0))
""",
        "Start with the final shape and dtype, such as `np.zeros(3)` or 0.0 for 0, and write to "
        "elements with `x.at[i].set(v)`. What each step adds can be stacked by `nbgrad.scan`.",
    ),
    Explanation(
        "NB-STEPS",
        "A loop took too many steps",
        "The condition of `nbgrad.while_loop` still holds after `max_steps` steps, or a solver, "
        "such as `nbgrad.newton`, has not converged.",
        """
nbgrad.while_loop(lambda x: x > 1.0, lambda x: 0.5 * x, 1000.0, 3)
""",
        "Increase `max_steps`, or count the steps in the state and end the loop by the count. "
        "Start a solver nearer to the solution, or allow it more steps.",
    ),
    Explanation(
        "NB-LOOP",
        "A compiled loop has no derivative",
        "`nbgrad.njit`, and the rules for @njit functions, differentiate numbers, arrays and "
        "loops. The function does something else; the message names the line.",
        """
@nbgrad.njit
def total(x):
    parts = {0: 0.0}
    for i in range(len(x)):
        parts[0] += x[i]
    return parts[0]


nbgrad.grad(total)(np.ones(3))
""",
        "Write this part with numbers, arrays and loops; the page on loops lists what there is. Or "
        "define the derivative with `nbgrad.custom_rule`, or run the plain Python function on "
        "tracked arrays.",
    ),
    Explanation(
        "NB-NJIT",
        "A tracked array was passed to a compiled function",
        "A function of `numba.njit` was called with a tracked array. Compiled code takes plain "
        "arrays, which have no derivative.",
        """
import numba


@numba.njit("float64(float64[:])")
def total(x):
    return x.sum()


total(nbgrad.track(np.ones(3)))
""",
        "Import njit from nbgrad, `from nbgrad import njit`, without signatures, or wrap the "
        "function: `nbgrad.njit(total)`.",
    ),
    Explanation(
        "NB-UNROLLED",
        "A loop is recorded step by step",
        "A Python loop inside of a compiled function is recorded anew in each step, so the program "
        "grows and takes long to compile. This is a warning.",
        """
@nbgrad.compile
def decay(x):
    for _ in range(20000):
        x = x - 1e-3 * x
    return x


decay(1.0)
""",
        "Use `nbgrad.loop` or `nbgrad.scan`, which record one step, or `nbgrad.njit` for loops "
        "over elements.",
    ),
    Explanation(
        "NB-RECOMPILED",
        "A function is compiled again and again",
        "Each set of shapes, dtypes and static values takes a compilation, and the function was "
        "called with many. This is a warning.",
        """
mean = nbgrad.compile(np.mean)
for n in range(1, 40):
    mean(np.ones(n))
""",
        'Name lengths that change: `nbgrad.compile(f, dynamic={"x": ("n",)})`. Pass numbers that '
        "change as arrays or floats, not as static arguments.",
    ),
)
