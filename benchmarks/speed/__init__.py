"""The speed of this package beside the documented code, and beside lower bounds of the times."""
