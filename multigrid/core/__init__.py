"""The game: NumPy and Numba only. It knows no Gymnasium, no PettingZoo and no pygame."""
