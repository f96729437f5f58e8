"""Adapters to other libraries; each module imports its library, so import only the one that is needed."""
