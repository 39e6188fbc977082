"""taboo_cluster: how language models hold up when they are pushed off their preferred path."""

__version__ = "0.1.0"
