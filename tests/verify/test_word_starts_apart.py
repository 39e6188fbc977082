"""How often the two kinds of word starts differ on English text, and where; written to docs/measured/word_starts.md."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
import torch
from measured import table, write_page
from transformers import AutoTokenizer

from taboo_cluster.taboo.pieces import Pieces, read_pieces
from taboo_cluster.taboo.word_start import TAIL, word_start_table

pytestmark = pytest.mark.verify
ROOT = Path(__file__).parents[3] / "shared" / "data"
MODELS = ("SmolLM2-135M-Instruct", "gemma-3-270m")
SOURCES = {
    "gsm8k answers": (ROOT / "gsm8k" / "test.jsonl", "answer", 300),
    "poems": (ROOT / "poems" / "poems.jsonl", "text", 60),
    "HumanEval prompts": (ROOT / "humaneval" / "HumanEval.jsonl", "prompt", 100),
}


def where(before: str, token: str) -> str:
    """What a word start is that only one kind sees."""
    text = token.lstrip()
    if not before:
        return "first token"
    if text[:1].isdigit():
        return "number"
    if not text[:1].isalnum():
        return "after punctuation inside the token"
    last = before.rstrip(" ")[-1:]
    if last == "\n":
        return "after a newline"
    if last in "\"'“‘(":
        return "after an opening quote or bracket"
    return "after other punctuation"


def texts(path: Path, column: str, count: int) -> list[str]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[:count]]
    return [str(row[column if column in row else next(iter(row))]) for row in rows]


def test_marker_and_unicode_word_starts_on_english() -> None:
    folder = Path(os.environ.get("TABOO_MODELS", ""))
    if not all((folder / name / "tokenizer.json").is_file() for name in MODELS):
        pytest.skip("no models (set TABOO_MODELS)")
    if not all(path.is_file() for path, *_ in SOURCES.values()):
        pytest.skip("no benchmark files")
    rows: list[list[object]] = []
    kinds: dict[str, Counter[str]] = {}
    for name in MODELS:
        tokenizer = AutoTokenizer.from_pretrained(folder / name)
        marker, unicode = (word_start_table(tokenizer, kind) for kind in ("marker", "unicode"))
        pieces: Pieces = read_pieces(tokenizer)
        for source, (path, column, count) in SOURCES.items():
            seen: Counter[str] = Counter()
            for text in texts(path, column, count):
                ids = tokenizer(text, add_special_tokens=False).input_ids
                tails = torch.tensor([[*[-1] * TAIL, *ids[:n]][-TAIL:] for n in range(len(ids))])
                tokens = torch.tensor(ids)
                by_unicode = unicode.start[unicode.state(tails), tokens].tolist()
                by_marker = marker.start[0, tokens].tolist()
                spelled = b""
                for token, one, other in zip(ids, by_marker, by_unicode, strict=True):
                    seen["tokens"] += 1
                    seen["marker"] += one
                    seen["unicode"] += other
                    if other and not one:
                        seen["unicode only"] += 1
                        reason = where(spelled.decode(errors="ignore"), pieces.readable(token))
                        kinds.setdefault(source, Counter())[f"unicode only: {reason}"] += 1
                    if one and not other:
                        seen["marker only"] += 1
                        kinds.setdefault(source, Counter())[f"marker only: {pieces.readable(token)!r}"] += 1
                    spelled += pieces.spelled(token)
            columns = ("tokens", "marker", "unicode", "unicode only", "marker only")
            share = (seen["unicode only"] + seen["marker only"]) / seen["unicode"]
            rows.append([name, source, *(seen[column] for column in columns), f"{share:.1%}"])
    header = ["tokenizer", "text", "tokens", "marker starts", "unicode starts", "unicode only", "marker only", "differ"]
    lines = ["`differ`: starts that only one of the two sees, of those by Unicode.", "", *table(header, rows), ""]
    for source, counts in kinds.items():
        lines += [f"{source}, both tokenizers:", "", *table(["where they differ", "n"], counts.most_common(8)), ""]
    write_page("word_starts", "Word starts: space marker against Unicode word boundaries", lines)
    assert all(row[4] > row[3] for row in rows)
