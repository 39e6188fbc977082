"""Letters beside each other on a QWERTY keyboard."""

from __future__ import annotations

_ROWS = """
q aw    w aeqs   e drsw   r deft   t fgry   y ghtu   u hijy   i jkou   o iklp   p lo
a qswz  s adewxz d cefrsx f cdgrtv g bfhtvy h bgjnuy j hikmnu k ijlmo  l kop
z asx   x cdsz   c dfvx   v bcfg   b ghnv   n bhjm   m jkn
"""

_PAIRS = _ROWS.split()

NEIGHBOURS = dict(zip(_PAIRS[::2], _PAIRS[1::2], strict=True))
"""Letter -> the letters beside it, in the same row or the next."""
