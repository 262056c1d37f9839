"""One command for everything: ``python -m training`` from the plugin's folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

PLUGIN = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PLUGIN / "src"))

from training.settings import DEFAULT_MINUTES, Settings, use_threads  # noqa: E402 - the path above comes first
from training.stages import OPTIONAL, STAGES  # noqa: E402


def parse(arguments: list[str]) -> tuple[Settings, list[str]]:
    """Settings and the stages to run."""
    parser = argparse.ArgumentParser(prog="python -m training", description="Train the reference models.")
    parser.add_argument("stages", nargs="*", help=f"default: {' '.join(STAGES)}; optional: {' '.join(OPTIONAL)}")
    parser.add_argument(
        "--work",
        type=Path,
        default=PLUGIN / "training" / "work",
        help="folder for everything made on the way",
    )
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2, help="CPU threads")
    parser.add_argument(
        "--minutes",
        action="append",
        default=[],
        metavar="STAGE=MINUTES",
        help=f"training time; default {DEFAULT_MINUTES}",
    )
    chosen = parser.parse_args(arguments)
    known = OPTIONAL | STAGES
    unknown = sorted(set(chosen.stages) - set(known))
    if unknown:
        parser.error(f"unknown stage {unknown[0]!r}; there are: {' '.join(known)}")
    minutes = {stage: float(value) for stage, _, value in (item.partition("=") for item in chosen.minutes)}
    chosen.work.mkdir(parents=True, exist_ok=True)
    return Settings(chosen.work, chosen.seed, chosen.threads, minutes), chosen.stages or list(STAGES)


def main() -> None:
    """Run the stages in their order."""
    settings, chosen = parse(sys.argv[1:])
    use_threads(settings.threads)
    for stage, run in (OPTIONAL | STAGES).items():
        if stage in chosen:
            run(settings)


if __name__ == "__main__":
    main()
