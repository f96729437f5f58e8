"""The same episodes here and in POGEMA; `benchmarks/tests/recipes/test_pogema.py` compares all that can be seen."""
