"""Verdicts have no more power than any test can have, and not much less."""

from __future__ import annotations

import pytest
from best_possible import best_of_groups, best_of_model, passed_groups, passed_models


@pytest.mark.parametrize("world", [(5, 60, 0.25), (3, 40, 0.25)])
def test_even_shares_pass_nearly_as_often_as_they_can(world):
    assert best_of_groups(*world) - 0.15 < passed_groups(*world) < best_of_groups(*world) + 0.05


def test_a_fair_model_passes_nearly_as_often_as_it_can():
    world = (0, 20, 20, 0.25)
    assert best_of_model(*world) - 0.15 < passed_models(*world) < best_of_model(*world) + 0.05
