"""Rewrites of recorded programs, before they are lowered."""
