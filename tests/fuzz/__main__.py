"""`python -m tests.fuzz`: look for differences for as long as you like."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
