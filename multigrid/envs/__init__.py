"""The environments: they check arguments, convert observations and render; the rules are in `multigrid.core`."""
