"""Each trial at a small size; its table is made by run.py."""

from __future__ import annotations

import budget_kills
import corruptions
import endpoints
import hostile_answers
import instant
import kills
import label_kills
import pytest
import raw_requests
import requests_to_label
import seeding
import stop_attacks
import store_beside_runs
import store_crowds
from tally import Tally

pytestmark = pytest.mark.slow


def test_kills(tmp_path):
    tally = kills.go(tmp_path, 4, kills.ALONE[:1], Tally("kills", kills.WANTED), seed=1)
    assert tally.faults == []
    assert tally.done >= 4


def test_kills_of_workers(tmp_path):
    tally = kills.go(tmp_path, 2, kills.WITH_WORKERS, Tally("kills", kills.WANTED), seed=1)
    assert tally.faults == []


def test_kills_of_the_labelling_page(tmp_path):
    assert label_kills.go(tmp_path, 3, Tally("labels", kills.WANTED)).faults == []


def test_crowds(tmp_path):
    assert store_crowds.go(tmp_path, 8, seed=1).faults == []


def test_corruptions(tmp_path):
    tally = corruptions.go(tmp_path, 5, seed=1)
    assert tally.faults == []
    assert tally.done >= 5


def test_store_commands_beside_runs(tmp_path):
    tally = store_beside_runs.go(tmp_path, 4, seed=1)
    assert tally.faults == []
    assert tally.done == 4


def test_requests(tmp_path):
    assert requests_to_label.go(tmp_path, 70, seed=1).faults == []


def test_bytes_sent_to_the_labelling_page(tmp_path):
    assert raw_requests.go(tmp_path, 15, seed=1).faults == []


def test_kills_of_stop(tmp_path):
    tally = stop_attacks.kills(tmp_path, 1, seed=1)
    assert tally.faults == []
    assert tally.done >= 1


def test_a_misbehaving_endpoint(tmp_path):
    pytest.importorskip("openai")
    tally = endpoints.go(tmp_path, 60, 2, seed=1)
    assert tally.faults == []
    assert tally.kinds["kills of the run"] == 2


def test_kills_of_runs_that_share_a_budget(tmp_path):
    pytest.importorskip("openai")
    tally = budget_kills.go(tmp_path, 6, seed=1)
    assert tally.faults == []
    assert tally.done >= 6


def test_hostile_answers(tmp_path):
    pytest.importorskip("openai")
    pytest.importorskip("huggingface_hub")
    tally = hostile_answers.go(tmp_path, 250, seed=1)
    assert tally.faults == []
    assert tally.done == 250


def test_seeding():
    assert seeding.go(1).faults == []


def test_the_cost_of_an_image_is_that_of_few(tmp_path):
    few, many = instant.costs(tmp_path, (50, 200))
    assert many.images == 4 * few.images
    assert many.milliseconds <= 1.5 * few.milliseconds
