"""Planners: joint actions for all agents, computed by search over the cells of a map."""
