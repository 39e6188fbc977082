"""Ray actors: thin shells around the library."""
