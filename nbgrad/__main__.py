"""`python -m nbgrad`: the same as the command `nbgrad`."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
