"""Run the code of README.md with the nbgrad that is installed."""

from pathlib import Path

import pages

import nbgrad

assert not Path(nbgrad.__file__).is_relative_to(pages.ROOT), f"{nbgrad.__file__} is the checkout"
pages.run(pages.ROOT / "README.md")
print(f"README.md runs with {nbgrad.__file__}")
