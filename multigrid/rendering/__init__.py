"""Draw worlds from their arrays and a configuration; the first picture imports pygame."""
