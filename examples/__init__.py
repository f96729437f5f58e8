"""Train on multigrid's environments with other libraries, and with learners of one file.

Run a module with ``python -m examples.NAME``; its docstring lists what to install. Importing this package
imports none of the modules.
"""
