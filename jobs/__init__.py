"""Ray drivers."""
