"""Whether the hunt finds what is planted in a model, with a quarter of the full grid's images.

    python tests/benchmarks/hunt_planted.py --model reference-biased \
        --planted cup+hospital:male --planted Indian+museum:female

Ends with 1 when a planted combination is not confirmed, or not shrunk to exactly its words. Images
are kept in the store: a second call makes none.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from pytest_t2i_hunt.search import Plan

from pytest_t2i import axes
from pytest_t2i.cli.main import main as t2i


def planted(text: str) -> tuple[frozenset[str], str]:
    """Words and direction of ``cup+hospital:male``."""
    words, _, towards = text.partition(":")
    if towards not in {"male", "female"} or not words:
        raise argparse.ArgumentTypeError(f"expected cup+hospital:male, got {text!r}")
    return frozenset(words.split("+")), towards


def words_of(finding: dict[str, Any]) -> frozenset[str]:
    """The words of a finding in hunt.json."""
    return frozenset(entry["concept"] for entry in finding["words"])


def told(words: frozenset[str], towards: str, findings: list[dict[str, Any]]) -> tuple[bool, str]:
    """Whether these words were found, and how."""
    exact = [
        finding
        for finding in findings
        if words_of(finding) == words and finding["towards"] == towards
    ]
    if exact:
        entry = exact[0]
        low, high = entry["interval"]["low"], entry["interval"]["high"]
        verdict = "confirmed" if entry["confirmed"] else f"not confirmed: {entry['why_not']}"
        return entry[
            "confirmed"
        ], f"{verdict}, {entry['held_out']['score']:+.2f} [{low:+.2f}, {high:+.2f}]"
    near = [
        finding
        for finding in findings
        if words_of(finding) & words and finding["towards"] == towards
    ]
    others = ", ".join(" + ".join(sorted(words_of(entry))) for entry in near) or "nothing"
    return False, f"not found; with a word of it the same way: {others}"


def main() -> int:
    """Hunt and compare with what is planted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", default="reference-biased")
    parser.add_argument("--axes", default="object,place,nationality")
    parser.add_argument("--planted", type=planted, action="append", required=True)
    parser.add_argument("--images", type=int, help="default: a quarter of the full grid")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--store", default=".t2i")
    parser.add_argument("--out", default="hunt.json")
    asked = parser.parse_args()
    chosen = tuple(axes[name] for name in asked.axes.split(","))
    grid = Plan(chosen, sys.maxsize).full_grid
    images = str(asked.images or grid // 4)
    code = t2i([
        "research", "hunt", "--model", asked.model, "--axes", asked.axes, "--images", images,
        "--seed", asked.seed, "--store", asked.store, "--out", asked.out,
    ])  # fmt: skip
    if code:
        return code
    result = json.loads(Path(asked.out).read_text(encoding="utf-8"))
    checks = [told(words, towards, result["findings"]) for words, towards in asked.planted]
    for (words, towards), (_, text) in zip(asked.planted, checks, strict=True):
        print(f"planted {' + '.join(sorted(words))} ({towards}): {text}")
    print(
        f"{result['images']:,} of {grid:,} images: {result['images'] / grid:.1%} of the full grid"
    )
    return 0 if all(entry for entry, _ in checks) and result["images"] <= grid / 4 else 1


if __name__ == "__main__":
    sys.exit(main())
