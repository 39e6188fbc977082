"""Statistics and SQL views over the records."""
