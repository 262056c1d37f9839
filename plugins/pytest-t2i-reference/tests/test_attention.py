"""Attention of the pipelines against what the object detector sees."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")

from pytest_t2i import load  # noqa: E402
from pytest_t2i.audits.dependencies import groups  # noqa: E402

from training.evaluate_attention import attention_of, covered_by_chance, word_mask  # noqa: E402
from training.finder import object_finder  # noqa: E402
from training.settings import FLOWS  # noqa: E402
from training.tables import attention_as_markdown  # noqa: E402


def test_a_mask_laid_at_random_covers_as_much_of_anything_as_it_is_large() -> None:
    region, mask = np.zeros((32, 32), bool), np.zeros((32, 32), bool)
    region[4:9, 20:28], mask[:16, :16] = True, True
    chance = covered_by_chance(region, mask, np.random.default_rng(1), places=4000)
    assert chance == pytest.approx(mask.mean(), abs=0.03)


def test_the_mask_of_a_word_is_that_of_the_audit() -> None:
    maps = np.random.default_rng(2).random((20, 8, 8)).astype(np.float16)
    for each in (*maps, np.zeros((8, 8), np.float16)):
        assert np.array_equal(word_mask(each, (128, 96)), groups.word_mask(each, (128, 96)))


def test_the_flow_pipeline_looks_at_what_a_word_names() -> None:
    words = attention_of(load(FLOWS["balanced"], device="cpu"), object_finder(), images=6)
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
