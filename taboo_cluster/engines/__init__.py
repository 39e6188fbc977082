"""One file per engine: vllm, transformers, scripted."""
