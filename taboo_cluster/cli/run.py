"""Run a sweep, or resume and extend one.

  python -m taboo_cluster +sweep=alignment limit=20
  python -m taboo_cluster +sweep=alignment models=[qwen2.5,olmo2] engine=vllm
  python -m taboo_cluster +sweep=alignment 'models=[{path: /models/mine, aligned: true}]'

With run_dir=DIR of an earlier run only what is missing is done; added models, ranks and benchmarks or a larger limit
extend it. Settings are Hydra overrides, with or without "+"; `list sweeps`, `list models` ... show what there is.
"""

from __future__ import annotations

import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    """The overrides and --config-dir."""
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="settings; +sweep=NAME is needed")
    parser.add_argument("--config-dir", metavar="DIR", help="your own conf tree, searched beside the shipped one")


def run(arguments: argparse.Namespace) -> int:
    """Compose the config and hand it to the driver."""
    from taboo_cluster.checkout import check_packages
    from taboo_cluster.compose import load_config

    check_packages()
    config = load_config(arguments.overrides, arguments.config_dir)
    from jobs.sweep import run_sweep

    return run_sweep(config)
