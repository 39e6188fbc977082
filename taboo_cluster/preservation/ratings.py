"""Verdicts on perturbed texts: kept in the run's table `preservation`, and what they come to.

A verdict belongs to a rater and to the text as it was seen: it is not asked for again, and does not count for another
text in the same place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations

from taboo_cluster.analysis.agreement import Agreement, krippendorff_alpha
from taboo_cluster.analysis.statistics import bootstrap_ratio, wilson
from taboo_cluster.preservation import VERDICTS
from taboo_cluster.preservation.judging import PROMPT_VERSION
from taboo_cluster.preservation.texts import PLACE, Place, Text
from taboo_cluster.records.reader import side_table
from taboo_cluster.rows import Row
from taboo_cluster.trial import ResolvedModel

PAPER: Row = {"perturbations": "the paper", "n": 2400, "kept": 0.998, "alpha": 0.833, "kappa": 0.714, "cosine": 0.962}
"""BrittleBench's own audit: three experts and a judge model."""

RATER = ("rater", "rater_kind", "judge_revision", "judge_quantization", "judge_dtype", "engine", "prompt_version")
"""Columns that say who rates, and by which rules."""

KEPT, LOST = VERDICTS

Verdicts = Mapping[Place, str | None]
"""None where a judge gave no verdict in the form asked for; a text left out was not rated."""


def model_rater(model: ResolvedModel, engine: str) -> Row:
    """The columns RATER of a judge model."""
    made_of = (model.name, "model", model.revision, model.quantization, model.dtype, engine, PROMPT_VERSION)
    return dict(zip(RATER, made_of, strict=True))


def human_rater(name: str) -> Row:
    """The columns RATER of a person."""
    return dict.fromkeys(RATER) | {"rater": name, "rater_kind": "human"}


def known_verdicts(run_dir: str, rater: Row, texts: Collection[Text]) -> dict[Place, str | None]:
    """The latest verdict of a rater on each of these texts, as they are, that it has rated already."""
    same = " AND ".join(f"{name} IS NOT DISTINCT FROM ${name}" for name in RATER)
    seen = ", ".join((*PLACE, "text_hash"))
    query = f"""
        SELECT {seen}, verdict FROM parts WHERE {same}
        QUALIFY row_number() OVER (PARTITION BY {seen} ORDER BY judged_at DESC, filename DESC) = 1
    """
    found = {
        (Place(**{name: row[name] for name in PLACE}), row["text_hash"]): row["verdict"]
        for row in side_table(run_dir, "preservation", query, **rater)
    }
    return {text.place: found[text.place, text.digest] for text in texts if (text.place, text.digest) in found}


def verdict_row(text: Text, rater: Row) -> Row:
    """The columns of a row of the table `preservation` that say what is rated and who rates it."""
    return {**{name: getattr(text.place, name) for name in PLACE}, "text_hash": text.digest, **rater}


def report(
    chosen: Collection[Place], raters: Sequence[Verdicts], cosines: Mapping[Place, float], seed: int
) -> Iterator[Row]:
    """One row for each stack, one for all of them, and the paper's.

    A text is kept where more than half of those who rated it say so. The interval is Wilson's where no item comes in
    twice, else a bootstrap over items.

    Args:
        chosen: the texts that were to be rated.
        raters: what each rater said.
        cosines: of clean and perturbed text, where they were compared.
        seed: of the bootstrap.
    """
    stacks = sorted({place.perturbations for place in chosen})
    for stack in stacks:
        yield _summary(stack, [place for place in chosen if place.perturbations == stack], raters, cosines, seed)
    if len(stacks) > 1:
        yield _summary("all", list(chosen), raters, cosines, seed)
    yield PAPER


def pairs(names: Sequence[str], raters: Sequence[Verdicts]) -> Iterator[Row]:
    """How far each two raters agree, on the texts that both have rated."""
    for (one, first), (other, second) in combinations(zip(names, raters, strict=True), 2):
        found = _agreement(first, second)
        low, high = found.interval
        yield {
            "rater": one,
            "other": other,
            "n": found.n,
            "agreement": found.share,
            "ci_low": low,
            "ci_high": high,
            "kappa": found.kappa,
            "n_only_rater_kept": found.only_first,
            "n_only_other_kept": found.only_second,
        }


def lost(chosen: Collection[Place], names: Sequence[str], raters: Sequence[Verdicts]) -> Iterator[Row]:
    """The texts that some rater calls lost, and who."""
    for place in sorted(chosen):
        who = [name for name, verdicts in zip(names, raters, strict=True) if verdicts.get(place) == LOST]
        if who:
            yield {**{name: getattr(place, name) for name in PLACE}, "lost_to": ", ".join(who)}


def _summary(
    name: str, chosen: Sequence[Place], raters: Sequence[Verdicts], cosines: Mapping[Place, float], seed: int
) -> Row:
    ratings = {place: [verdicts.get(place) for verdicts in raters] for place in chosen}
    rated = {place: _majority(values) for place, values in ratings.items() if any(values)}
    kept, n = sum(rated.values()), len(rated)
    by_item: dict[tuple[str, str, str], Counter[str]] = {}
    for place, right in rated.items():
        by_item.setdefault(place.item, Counter()).update(n=1, kept=right)
    independent = len(by_item) == n
    if independent:
        low, high = wilson(kept, n)
    else:
        clusters: Counter[tuple[int, ...]] = Counter((counts["kept"], counts["n"]) for counts in by_item.values())
        found = bootstrap_ratio(clusters, seed, "preservation", name)
        low, high = found.low, found.high
    near = [cosines[place] for place in chosen if place in cosines]
    seen = {place for verdicts in raters for place in verdicts}
    return {
        "perturbations": name,
        "n": n,
        "kept": kept / n if n else None,
        "ci_low": low,
        "ci_high": high,
        "interval": "wilson" if independent else "bootstrap",
        "alpha": krippendorff_alpha(ratings.values()),
        "kappa": _agreement(*({p: v for p, v in r.items() if p in ratings} for r in raters)).kappa
        if len(raters) == 2
        else None,
        "cosine": sum(near) / len(near) if near else None,
        "n_no_verdict": sum(place in seen and place not in rated for place in chosen),
        "n_not_rated": sum(place not in seen for place in chosen),
    }


def _majority(ratings: Sequence[str | None]) -> bool:
    given = [rating for rating in ratings if rating is not None]
    return 2 * given.count(KEPT) > len(given)


def _agreement(first: Verdicts, second: Verdicts) -> Agreement:
    counts = Counter((first[place], second[place]) for place in first.keys() & second.keys())
    order = ((KEPT, KEPT), (KEPT, LOST), (LOST, KEPT), (LOST, LOST))
    return Agreement(*(counts[pair] for pair in order))
