"""The sweep uncanny_valley with a scripted model whose valley is known, from the command to the views."""

import json

from scripted_runs import here, rows, view

from taboo_cluster.benchmarks.base import BENCHMARKS
from taboo_cluster.benchmarks.detection import Options
from taboo_cluster.documents import PAGES
from taboo_cluster.hashing import stable_hash
from taboo_cluster.perturbations.stack import perturb, variant_seed

DOCUMENTS = 40
NAMED = {0.0: 1.0, 0.2: 0.7, 0.4: 0.2, 0.6: 0.5, 0.8: 0.8, 1.0: 0.9}
"""Share of the documents whose targets are all named, by p; of the others none is."""


def script():
    """What the model says to each document at each p, and the F1 that this gives: {p: F1} by benchmark."""
    lines, expected = {}, {}
    for task in ("absence", "needle"):
        items = BENCHMARKS.get(task).build(Options(n=DOCUMENTS)).items()
        for p, share in NAMED.items():
            hits = targets = 0
            for item in items:
                asked = perturb(item, f"fragment(p={p})", variant_seed(0, 0)).subject.item
                knows = int(stable_hash(item.item_id), 16) / 2**128 < (share if task == "absence" else 1)
                count = len(asked.gold.split("\n"))
                hits, targets = hits + count * knows, targets + count
                second = "\n".join(asked.extras[PAGES].versions.second)
                lines[f"<second version>\n{second}\n</second version>"] = asked.gold if knows else "none"
            expected.setdefault(task, {})[p] = 2 * hits / (hits + targets)
    return lines, expected


def test_a_known_valley_is_found_where_it_is(joined, tmp_path):
    lines, expected = script()
    path = tmp_path / "script.json"
    path.write_text(json.dumps(lines))
    levels = ",".join(f"fragment(p={p:g})" for p in NAMED if p)
    arguments = [
        "+sweep=uncanny_valley",
        f"models=[{{path: {joined.folder}/models/one}}]",
        "benchmarks=[absence,needle]",
        "suite_domains=[numbers]",
        f"benchmark.absence.n={DOCUMENTS}",
        f"benchmark.needle.n={DOCUMENTS}",
        f"conditions=[{levels}]".replace("fragment", '"fragment').replace(")", ')"'),
        "engine=scripted",
        f"engine.script_path={path}",
        "replicates=1",
        "cluster.dashboard=false",
        *joined.settings,
        f"run_dir={tmp_path / 'run'}",
    ]
    status, output = here(arguments)
    assert status == 0, output
    assert len(rows(tmp_path / "run")) == 2 * DOCUMENTS * len(NAMED)

    points = view(tmp_path / "run", "SELECT benchmark, fragment_p, f1, n FROM valley ORDER BY ALL")
    assert len(points) == 2 * len(NAMED)
    for point in points:
        assert abs(point["f1"] - expected[point["benchmark"]][point["fragment_p"]]) < 1e-12
        assert point["n"] == DOCUMENTS
    absence, needle = view(tmp_path / "run", "FROM valley_summary ORDER BY benchmark")
    curve = expected["absence"]
    assert (absence["u_shaped"], needle["u_shaped"], absence["valley"]) == (True, False, False)
    assert absence["location"] == absence["location_cross_fitted"] == 0.4
    assert abs(absence["depth"] - (curve[0.0] - curve[0.4])) < 1e-12
    assert abs(absence["recovery"] - (curve[1.0] - curve[0.4])) < 1e-12
    assert (needle["depth"], needle["copying"]) == (0, False)

    # The scripted tokenizer gives a letter or digit and the space before it one token: none is longer at p = 1.
    measured = view(tmp_path / "run", "SELECT fragment_p, n, single_character_share FROM tokenization ORDER BY ALL")
    assert {row["n"] for row in measured} == {DOCUMENTS}
    assert {row["fragment_p"] or 0.0 for row in measured} == set(NAMED)
    assert "0.4" in output
