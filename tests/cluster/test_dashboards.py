"""The dashboards draw metrics that are really reported, and the list of names is complete."""

import json
import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
DASHBOARDS = ROOT / "dashboards"


def reported():
    """Names as Ray exports them: a prefix, and a suffix for counters."""
    code = (ROOT / "actors" / "metrics.py").read_text() + (ROOT / "jobs" / "monitor.py").read_text()
    found = re.findall(r'(Counter|Gauge)\(\s*"(taboo_\w+)"', code)
    return {f"ray_{name}_total" if kind == "Counter" else f"ray_{name}" for kind, name in found}


def drawn(text):
    return set(re.findall(r"ray_taboo_\w+", text))


def test_the_list_of_metrics_is_what_is_reported():
    assert len(reported()) == 7
    assert drawn((DASHBOARDS / "README.md").read_text()) == reported()


def test_dashboards_and_rules_use_only_what_is_reported():
    panels = json.loads((DASHBOARDS / "grafana.json").read_text())["panels"]
    queries = " ".join(target["expr"] for panel in panels for target in panel["targets"])
    assert drawn(queries) == reported()
    rules = yaml.safe_load((DASHBOARDS / "rules.yml").read_text())
    queries = " ".join(rule["expr"] for group in rules["groups"] for rule in group["rules"])
    assert drawn(queries) <= reported()
    assert yaml.safe_load((DASHBOARDS / "prometheus.yml").read_text())["rule_files"] == ["rules.yml"]
