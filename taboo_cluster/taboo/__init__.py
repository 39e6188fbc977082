"""Taboo, the decoding-level intervention: word starts, triggers, the mask core, its cost in bits, and the hooks."""
