"""One file per benchmark: items, prompts, extraction and scoring."""
