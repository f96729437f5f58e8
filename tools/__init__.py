"""What is run once: it trains the shipped network, writes the suite, compiles kernels. It is not in the wheel."""
