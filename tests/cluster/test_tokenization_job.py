"""The table of tokenizations is filled once, beside the models or after them."""

from pathlib import Path

import duckdb
from scripted_runs import rows

from jobs.cluster import cluster
from jobs.tokenization import Tokenizers
from taboo_cluster import compose
from taboo_cluster.launch import new_launch
from taboo_cluster.models import resolve
from taboo_cluster.perturbations.stack import canonical

FRAGMENTING = ("fragment(p=0.5)", "fragment_regular(p=0.5)")
ITEMS = 10


def start(workspace, run_dir, *more):
    status, output = workspace.command(
        run_dir,
        f"limit={ITEMS}",
        "benchmark.arithmetic.n=100",
        "taboo.ranks=[0]",
        "replicates=1",
        f"conditions=[{','.join(repr(stack) for stack in (*FRAGMENTING, 'typos(rate=0.3)'))}]",
        *more,
        models=("one", "two"),
    )
    assert status == 0, output
    assert "warning" not in output


def parts(run_dir):
    return sorted(str(path) for path in Path(run_dir, "tables/tokenization").glob("*.parquet"))


def table(run_dir, query):
    return duckdb.sql(f"WITH t AS (FROM read_parquet({parts(run_dir)!r})) {query}").fetchall()


def test_the_table_is_filled_once_also_after_the_records(joined, tmp_path):
    run_dir = tmp_path / "run"
    start(joined, run_dir)
    assert parts(run_dir) == []
    records = rows(run_dir, "trial_id, attempt")

    start(joined, run_dir, "tokenization=true")
    assert sorted(rows(run_dir, "trial_id, attempt")) == sorted(records)
    # two models have one tokenizer; a stack without fragmentation is not measured
    found = table(run_dir, "SELECT perturbations, count(*), count(DISTINCT item_id) FROM t GROUP BY ALL")
    assert set(found) == {(stack, ITEMS, ITEMS) for stack in (None, *map(canonical, FRAGMENTING))}
    assert table(run_dir, "SELECT DISTINCT tokenizer_hash FROM t") == rows(run_dir, "DISTINCT tokenizer_hash")
    wrong = """
        SELECT * FROM t WHERE NOT (
            fixed_tokens <= tokens AND entropy <= log2(tokens) AND entropy_fixed <= log2(fixed_tokens)
            AND single_character_share BETWEEN 0 AND 1 AND coalesce(fragment_p, 0.5) = 0.5
            AND (perturbations IS NULL) = (word_fragmentation_rate IS NULL)
        )
    """
    assert table(run_dir, wrong) == []
    # one byte a token: the clean text is the shortest
    assert table(run_dir, "SELECT * FROM t WHERE perturbations IS NULL AND tokens <> fixed_tokens") == []
    assert table(run_dir, "SELECT max(n) FROM (SELECT count(DISTINCT characters) AS n FROM t GROUP BY item_id)") == [
        (1,)
    ]

    before = parts(run_dir)
    start(joined, run_dir, "tokenization=true")
    assert parts(run_dir) == before


def test_a_tokenizer_that_cannot_be_loaded_is_one_warning(joined, tmp_path):
    arguments = joined.arguments(tmp_path / "run", "tokenization=true", "engine=transformers", models=("one",))
    config = compose.load_config([one for one in arguments if not one.startswith(("engine.", "engine=scripted"))])
    launch, _ = new_launch(config)
    said = []
    with cluster(config.cluster):
        tokenizers = Tokenizers(config, [resolve(model) for model in config.models], launch, said.append)
        tokenizers.start()
        tokenizers.wait(lambda: None, lambda: False)
        tokenizers.close()
    (warning,) = said
    assert warning.startswith("warning: tokenization of one was not measured: the tokenizer of one cannot be loaded")
    assert "\n" not in warning
