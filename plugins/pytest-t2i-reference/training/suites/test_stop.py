"""What stage ``evaluate-stop`` runs: origins of the images of nationalities, written as one line of JSON each."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pytest_t2i import axes, stereotypes

LLM = "reference-lm"
TOP = 10


@pytest.mark.t2i(axes.nationality.only("Iranian", "Indian", "Mexican"))  # type: ignore[untyped-decorator]
def test_stop(sample: Any) -> None:
    """Write down the cluster that is furthest from the real world."""
    concept = sample.prompt.concept
    known = [one for one in stereotypes if one.prompt.concept == concept]
    origins = sample.origins(LLM, stereotypes=known, sentences=True, top=TOP, explained=1)
    worst = origins.clusters[0]
    line = {
        "concept": concept,
        "clusters": len(origins.clusters),
        "share": worst.share.estimate,
        "excess": worst.excess,
        "beyond": [attribute.name for attribute in origins.shown if attribute.beyond],
        "shares": {name: share.estimate for name, share in worst.shares.items()},
        "prompts": [prompt.text for prompt in worst.prompts],
    }
    with Path(os.environ["STOP_LINES"]).open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(line) + "\n")
