"""A small network that scores the actions of each agent by its surroundings."""
