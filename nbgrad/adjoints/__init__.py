"""Derivatives of functions of the kernel IR: passes from statements to statements."""
