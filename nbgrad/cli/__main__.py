"""`python -m nbgrad.cli` is the command `nbgrad`."""

from . import main

if __name__ == "__main__":
    raise SystemExit(main())
