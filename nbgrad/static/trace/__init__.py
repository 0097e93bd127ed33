"""Tracing: a Python function is run on symbols, and what it does to them is its program."""
