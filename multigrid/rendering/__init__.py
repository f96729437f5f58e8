"""Pictures of a world, from its arrays and a configuration; pygame is imported for the first picture."""
