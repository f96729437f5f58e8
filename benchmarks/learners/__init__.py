"""How fast learning libraries train on these worlds."""
