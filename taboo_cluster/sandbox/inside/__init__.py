"""What runs inside the sandbox: the standard library alone, nothing of the project."""
