"""Loops: from a schedule to kernels and cores of the loop IR, and where their buffers lie."""
