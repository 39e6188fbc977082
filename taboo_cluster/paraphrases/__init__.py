"""Paraphrases by a language model: written once, checked, kept in a folder that every later run reads."""

KINDS = ("lexical", "syntactic", "free")
"""Other words, other sentences, or both."""

LEAST_COSINE = 0.8
"""Of the embeddings of question and paraphrase, where they are compared."""
