"""Stability of the next token: the token constraint bound of a model's output distribution (METHODS section 4)."""
