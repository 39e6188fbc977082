"""Running generated code, which is taken to be hostile."""
