"""The dashboards draw metrics that are really reported, and the list of names is complete."""

import json
import re
import signal
import urllib.request
from pathlib import Path

import yaml
from scripted_runs import ended, wait_for

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


def test_ray_exports_every_metric_under_its_name_and_labels(joined, tmp_path):
    failing = ["engine.fail=0.2", "max_error_share=0.5", "engine.delay_s=0.02"]
    process = joined.start(tmp_path / "run", "limit=100", *failing)

    def scraped():
        """Each of our metrics with its labels, those that Ray adds left out, and its value."""
        with urllib.request.urlopen(joined.metrics, timeout=30) as answer:
            lines = re.findall(r"^(ray_taboo_\w+)\{(.*)\} (\S+)$", answer.read().decode(), re.MULTILINE)
        found = {}
        for name, labels, value in lines:
            labels = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            if labels.get("model") == "one":
                own = tuple(sorted(labels.keys() & {"model", "benchmark"}))
                found.setdefault((name, own), []).append(float(value))
        return found

    def complete():
        found = scraped()
        return found if {name for name, _ in found} == reported() else None

    metrics = wait_for(complete, process)
    process.send_signal(signal.SIGINT)
    ended(process)
    readme = (DASHBOARDS / "README.md").read_text()
    listed = dict(re.findall(r"^\| `(ray_taboo_\w+)` \| ([a-z, ]+) \|", readme, re.MULTILINE))
    assert {name: ", ".join(sorted(own, reverse=True)) for name, own in metrics} == listed
    assert all(max(values) > 0 for values in metrics.values())
