"""Triggers: where the intervention fires, one file each."""
