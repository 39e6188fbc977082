"""Meaning-preserving changes of a prompt: one file per family, a registry, and stacks of them (METHODS section 2)."""
