"""English words that a question is understood without, in lower case.

A usual list of stop words is much longer. Left out of this one is what a fact may hang on: negations, comparisons and
amounts, prepositions that give a direction or an operation (from, to, by, before, over, up, out ...), conjunctions (or,
if, but, while ...), personal pronouns, modal verbs and question words.
"""

from __future__ import annotations

_LIST = """
a an the this that these those
am is are was were be been being has have had having do does did doing
of in at for into upon
it its there here also very quite rather really indeed
"""

STOP_WORDS = frozenset(_LIST.split())
