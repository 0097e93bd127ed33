"""Where the time of a program goes: by line, by op and by kernel, forward, backward and compiling.

`profile` is the context manager. While one is open, `swaps.py` has timed versions of a few entry
points of the other rooms in their places; when none is, these rooms know nothing of it.
"""

from .profile import profile as profile
