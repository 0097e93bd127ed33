"""The names that a module's text takes from elsewhere, told by Python's own compiler."""

import types


def names_used(text: str) -> set[str]:
    """The global names and attributes that the functions of a module read.

    >>> sorted(names_used("def f(x):\\n    return np.sqrt(x) + square(x)\\n"))
    ['f', 'np', 'sqrt', 'square']
    """
    names: set[str] = set()
    open_codes = [compile(text, "<module>", "exec")]
    while open_codes:
        code = open_codes.pop()
        names.update(code.co_names)
        open_codes += [x for x in code.co_consts if isinstance(x, types.CodeType)]
    return names
