"""Steps worlds of any game: compiling and its cache, arrays, random streams, threads; NumPy and Numba only."""
