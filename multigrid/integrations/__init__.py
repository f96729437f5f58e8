"""Adapters to other libraries; each module imports its library, so import only the modules that you need."""
