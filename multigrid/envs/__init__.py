"""The environments: they check arguments, translate containers and own a window; the rules are in `core`."""
