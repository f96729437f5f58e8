"""Recipes: how other libraries, and small learners of one file, train on these worlds.

Each module is run with ``python -m multigrid.examples.NAME`` and says at its top what it needs. To import this package
imports none of them.
"""
