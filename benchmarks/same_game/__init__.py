"""The same episodes here and in POGEMA: positions, rewards and metrics are compared."""
