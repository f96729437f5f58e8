"""Compile kernels and cache them, give them arrays, random streams and threads; with NumPy and Numba only."""
