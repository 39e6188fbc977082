"""Whether perturbed texts keep meaning and gold answer (METHODS section 2, preservation audit)."""

VERDICTS = ("kept", "lost")
"""What a rater says of a perturbed text."""
