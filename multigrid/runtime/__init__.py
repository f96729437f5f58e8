"""Step worlds of any game: compilation and its cache, arrays, random streams, threads; with NumPy and Numba only."""
