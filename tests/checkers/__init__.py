"""Checkers of the stages of the static tier, and an interpreter of the kernel IR in NumPy."""
