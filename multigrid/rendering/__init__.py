"""Draw worlds from their arrays and a configuration; pygame is imported for the first picture."""
