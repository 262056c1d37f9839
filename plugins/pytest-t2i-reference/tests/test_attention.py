"""Attention of the pipelines against what the object finder sees."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")

from pytest_t2i.adapters.finders.yolo_objects import YoloObjects  # noqa: E402

from training.evaluate import SHOT  # noqa: E402
from training.evaluate_attention import attention_of, covered_by_chance  # noqa: E402
from training.sampling import Studio  # noqa: E402
from training.settings import FLOWS, WEIGHTS  # noqa: E402
from training.tables import attention_as_markdown  # noqa: E402


def test_a_mask_laid_at_random_covers_as_much_of_anything_as_it_is_large() -> None:
    region, mask = np.zeros((32, 32), bool), np.zeros((32, 32), bool)
    region[4:9, 20:28], mask[:16, :16] = True, True
    chance = covered_by_chance(region, mask, np.random.default_rng(1), places=4000)
    assert chance == pytest.approx(mask.mean(), abs=0.03)


def test_the_flow_pipeline_looks_at_what_a_word_names() -> None:
    studio = Studio(WEIGHTS / FLOWS["balanced"], WEIGHTS / "clip", SHOT)
    words = attention_of(studio, YoloObjects(str(WEIGHTS / "yolo" / "objects.pt")), images=6)
    for word in ("book", "cup", "person"):
        row = words[word]
        assert row["pictures with the object"] >= 4  # type: ignore[operator]
        assert row["covers more than by chance"] >= 0.8 * row["pictures with the object"]  # type: ignore[operator]


def test_a_word_whose_object_was_never_seen_has_no_share() -> None:
    row = {
        "pictures with the object": 0,
        "covers more than by chance": 0,
        "share": None,
        "covered": None,
        "by chance": None,
    }
    assert "| reference | hat | 0 | none | None | None |" in attention_as_markdown({"reference": {"hat": row}})
