"""`python -m nbgrad.cli`: the same as the command `nbgrad`."""

from . import main

if __name__ == "__main__":
    raise SystemExit(main())
