"""Documents by domain: contracts, diffs, poems, documents of GSM8K problems, and number sequences made here.

A row of a local file holds its text in the first of the columns `COLUMNS` that it has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from taboo_cluster.benchmarks import gsm8k
from taboo_cluster.benchmarks.sources import DataSet, Row
from taboo_cluster.documents import Document
from taboo_cluster.errors import UserError, unknown
from taboo_cluster.hashing import stable_hash, stable_rng

COLUMNS = ("text", "patch", "original_context", "context")
"""Where a row may hold a document's text."""

PROBLEMS = 80
"""GSM8K problems in a document, as in the paper."""

_SENTENCE_END = re.compile(r"(?<=\.)\s+|\n")
_CALCULATOR = re.compile(r"<<[^<>]*>>")
"""GSM8K's calculator annotations, no part of the solution's text."""


@dataclass(frozen=True)
class DocumentOptions:
    """Which documents there are."""

    domains: list[str] = field(default_factory=lambda: ["numbers"])
    """contracts, diffs, poems, gsm8k (hub, or the file named by `<domain>_path`), numbers (made here)."""
    contracts_path: str | None = None
    """JSONL file, or folder with `<split>.jsonl`; null loads CUAD from the hub."""
    diffs_path: str | None = None
    """As above; null loads AbsenceBench's pull requests."""
    poems_path: str | None = None
    """As above; null loads AbsenceBench's poems."""
    gsm8k_path: str | None = None
    """As above, of problems with `question` and `answer`; null loads GSM8K's training split."""
    revisions: dict[str, str] = field(default_factory=dict)
    """Branch, tag or commit of a domain's data set on the hub."""
    n: int = 100
    """Documents of each domain, drawn by a hash of their text; a larger number contains the smaller one's."""
    min_lines: int = 20
    """A document with fewer lines is left out; one that would be cut below is skipped."""
    number_lines: int = 24
    """Lines of a document of domain `numbers`."""


@dataclass(frozen=True)
class Domain:
    """Where the documents of a domain come from."""

    kind: str
    """What a prompt calls one of them."""
    read: Callable[[DocumentOptions, int], Iterable[tuple[str, ...]]]
    """(options, number of documents that can be made) -> the lines of each, always in the same order."""
    changed_only: bool = False


def load_documents(options: DocumentOptions, name: str, spare: int) -> tuple[list[Document], int]:
    """The first documents of a domain, and how many were left out as too short.

    Args:
        options: which there are.
        name: of the domain.
        spare: documents beyond `options.n` that are wanted, for worked examples and added lines.

    Raises:
        UserError: an unknown domain, a missing or malformed source, or none of its documents is long enough.
    """
    if name not in DOMAINS:
        raise unknown("domain", name, DOMAINS)
    domain, found, short = DOMAINS[name], dict[str, Document](), set[str]()
    for lines in domain.read(options, options.n + spare):
        document = Document(f"{name}-{stable_hash(list(lines))[:12]}", name, lines, domain.changed_only)
        if len(lines) >= options.min_lines and any(document.candidates()):
            found[document.name] = document
        else:
            short.add(document.name)
    if not found:
        raise UserError(f"domain {name}: none of {len(short)} documents has {options.min_lines} lines and a target")
    return list(found.values())[: options.n + spare], len(short)


def gsm8k_lines(question: str, answer: str) -> list[str]:
    """A problem and its solution, split into lines at full stops and newlines."""
    return [
        line.strip()
        for text in (question, _CALCULATOR.sub("", answer))
        for line in _SENTENCE_END.split(text)
        if line.strip()
    ]


def _texts(data_set: DataSet, domain: str, split: str, options: DocumentOptions, _: int) -> Iterable[tuple[str, ...]]:
    """In the order of a hash of their text: neither place nor order in a file matters."""
    path = getattr(options, f"{domain}_path")
    rows = data_set.rows(path, split, options.revisions.get(domain, _REVISIONS.get(domain)))
    return sorted(map(_lines, rows), key=lambda lines: stable_hash("documents", list(lines)))


def _lines(row: Row) -> tuple[str, ...]:
    column = next((column for column in COLUMNS if column in row.values), COLUMNS[0])
    text = row.text(column).replace("\r\n", "\n").replace("\r", "\n")
    return tuple(text.strip("\n").split("\n"))


def _problems(options: DocumentOptions, count: int) -> Iterable[tuple[str, ...]]:
    rows = gsm8k.DATA.rows(options.gsm8k_path, "train", options.revisions.get("gsm8k"))
    if len(rows) < PROBLEMS:
        raise UserError(f"domain gsm8k: a document takes {PROBLEMS} problems, and there are {len(rows)}")
    problems = [gsm8k_lines(row.text("question"), row.text("answer")) for row in rows]
    for index in range(count):
        chosen = stable_rng("gsm8k document", index).choice(len(problems), PROBLEMS, replace=False)
        yield tuple(line for problem in chosen for line in problems[problem])


def _numbers(options: DocumentOptions, count: int) -> Iterable[tuple[str, ...]]:
    """Each line a number of three digits, all different."""
    if not 1 <= options.number_lines <= 900:
        raise UserError(f"number_lines is from 1 to 900, not {options.number_lines}")
    for index in range(count):
        order = stable_rng("numbers document", index).permutation(900)[: options.number_lines]
        yield tuple(str(100 + number) for number in order)


_REVISIONS: Mapping[str, str] = {"contracts": "refs/convert/parquet"}
"""Of data sets whose main branch holds a loading script alone."""

_CUAD = DataSet("theatticusproject/cuad-qa", "default", ("default/*/*",))
_PULL_REQUESTS = DataSet("harveyfin/AbsenceBench", "github_prs", ("*",))
_POEMS = DataSet("harveyfin/AbsenceBench", "poetry", ("*",))

DOMAINS: Mapping[str, Domain] = {
    "contracts": Domain("a contract", partial(_texts, _CUAD, "contracts", "test")),
    "diffs": Domain("a diff", partial(_texts, _PULL_REQUESTS, "diffs", "validation"), changed_only=True),
    "poems": Domain("a poem", partial(_texts, _POEMS, "poems", "validation")),
    "gsm8k": Domain("a sheet of math homework", _problems),
    "numbers": Domain("a list of numbers", _numbers),
}
