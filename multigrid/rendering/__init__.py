"""Pictures of a world, made of arrays and a configuration; pygame is imported when the first one is drawn."""
