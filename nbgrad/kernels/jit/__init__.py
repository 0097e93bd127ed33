"""Where functions become kernels: Numba's flags, passes and private pieces, and the disk cache."""
