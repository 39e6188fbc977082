"""A run that holds nothing but perturbed texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from taboo_cluster.records.schema import TABLES, arrow_schema
from taboo_cluster.records.storage import Store
from taboo_cluster.records.writer import write_table


def text(item_id: str = "i1", perturbations: str = "typos(rate=0.1)", **values: Any) -> dict[str, Any]:
    """A changed text of gsm8k."""
    made: dict[str, Any] = {"benchmark": "gsm8k", "split": "test", "item_id": item_id, "perturbations": perturbations}
    made |= {"perturbation_seed": 5, "changed": True, "clean": f"Clean {item_id}?", "question": f"Claen {item_id}?"}
    return made | {"gold": "3"} | values


def run_of_texts(run_dir: Path, *texts: dict[str, Any], name: str = "part-a") -> Path:
    """Write these rows of the table `texts`."""
    run_dir.mkdir(exist_ok=True)
    (run_dir / "config.yaml").write_text("sweep: brittleness\n")
    rows = pa.Table.from_pylist(list(texts), schema=arrow_schema(TABLES["texts"]))
    write_table(Store.open(str(run_dir)), f"tables/texts/{name}.parquet", rows)
    return run_dir
