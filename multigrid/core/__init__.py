"""The game, with NumPy and Numba only; it imports no Gymnasium, no PettingZoo and no pygame."""
