"""Compiled functions inside of transformations."""
