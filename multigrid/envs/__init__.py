"""The faces of the game. They translate containers, check arguments and own a window; the rules are in `core`."""
