"""The detectors take every drawing and refuse photographs; the models know the prompts of every suite."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pytest_t2i import axes, stereotypes
from pytest_t2i.cli.main import main
from pytest_t2i.protocols import Calibrated, LoadOptions

from pytest_t2i_reference import catalogue
from pytest_t2i_reference.calibrated import ReferencePrompts
from pytest_t2i_reference.drawing import draw_scene
from pytest_t2i_reference.worlds import draw_scene_of, load_concepts, load_world, plain_scene

ROOT = Path(__file__).resolve().parents[3]
PHOTOGRAPHS = Path(os.environ.get("T2I_PHOTOGRAPHS", ROOT.parent / "shared" / "data"))
KNOWN = ReferencePrompts()


@pytest.fixture(scope="module")
def encoder():
    from pytest_t2i.adapters.encoders.clip import load

    return load(LoadOptions(source=str(catalogue().parent / "weights" / "clip"), device="cpu"))


@pytest.mark.slow
def test_what_is_fitted_is_read_as_it_was_meant(tmp_path):
    from pytest_t2i.adapters.encoders.contrastive import read_domain

    from training.evaluate_domain import FILE, MADE_FOR, as_json, fitted

    rng = np.random.default_rng(4)
    inside, outside = rng.normal(0, 1, (300, 6)), rng.normal(1, 1, (300, 6))
    domain = fitted(inside, outside)
    (tmp_path / FILE).write_text(as_json(domain))
    read = read_domain(tmp_path, 6)
    assert read.made_for == MADE_FOR
    for rows in (inside, outside):
        assert np.array_equal(read.holds(rows), domain.holds(rows))
    assert domain.holds(inside).mean() > 0.9
    assert 0 < domain.holds(outside).mean() < 0.7


@pytest.mark.slow
def test_drawings_are_accepted(encoder):
    rng = random.Random("drawings that the domain was not fitted with")
    scenes = [draw_scene_of(concept, load_world("biased"), rng) for concept in load_concepts()]
    scenes += [plain_scene(kind, rng) for kind in ("none", "two", "behind", "one") * 25]
    pictures = [Image.fromarray(draw_scene(scene, rng.getrandbits(31)).image) for scene in scenes]
    assert np.mean(encoder.in_domain(pictures)) >= 0.99


@pytest.mark.slow
def test_photographs_are_refused(encoder):
    if not PHOTOGRAPHS.is_dir():
        pytest.skip(f"no photographs in {PHOTOGRAPHS}")
    files = [file for kind in ("faces", "people", "portraits") for file in sorted((PHOTOGRAPHS / kind).glob("*.jpg"))]
    accepted = encoder.in_domain([Image.open(file) for file in files[1::4]])
    assert np.mean(accepted) <= 0.05


@pytest.mark.slow
def test_other_pictures_are_refused(encoder):
    rng = np.random.default_rng(0)
    noise = [Image.fromarray(rng.integers(0, 256, (128, 128, 3), np.uint8)) for _ in range(20)]
    assert not any(encoder.in_domain(noise))


def test_every_word_is_calibrated_in_every_variant():
    assert isinstance(KNOWN, Calibrated)
    # No style was ever drawn, and styles are the only axes that name no person.
    people = [axis for axis in axes if not axis.name.endswith("style")]
    assert len(people) == 6
    prompts = [prompt for axis in people for three in axis.triplets() for prompt in three]
    prompts += [stereotype.prompt for stereotype in stereotypes]
    assert [prompt.text for prompt in prompts if not KNOWN.is_calibrated_for(prompt.text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "a watercolour portrait of a nurse",
        "a photo of a welder",
        "a photo of one real person who is a midwife",
        "two people in the park",
        "",
    ],
)
def test_other_words_and_sentences_are_not(text):
    assert not KNOWN.is_calibrated_for(text)


def test_init_names_words_that_the_model_does_not_know(tmp_path, capsys):
    given = ("--words", "nurse,welder", "--model", "reference")
    assert main(["init", str(tmp_path), *given]) == 0
    told = capsys.readouterr().out.split("written:")[0]
    assert "left out: reference is not calibrated for welder in these sentences" in told


PRINTS = """
import pytest

class Prints:
    def pytest_collection_finish(self, session):
        from pytest_t2i.plugin.marker import selection_of
        for item in session.items:
            for text in selection_of(item).texts if item.get_closest_marker("t2i") else ():
                print(f"prompt: {text}")

pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *%r], plugins=[Prints()])
"""


@pytest.mark.slow
def test_prompts_of_all_suites_are_calibrated():
    folders = sorted(path for path in (ROOT / "suites").iterdir() if list(path.glob("test_*.py")))
    # The models were trained on single people, and on English.
    suites = [str(path) for path in folders if path.name not in ("crowds", "languages")]
    assert len(suites) == len(folders) - 2
    ran = subprocess.run([sys.executable, "-c", PRINTS % suites], cwd=ROOT, capture_output=True, text=True, check=True)
    texts = {line.removeprefix("prompt: ") for line in ran.stdout.splitlines() if line.startswith("prompt: ")}
    assert len(texts) > 100
    assert [text for text in sorted(texts) if not KNOWN.is_calibrated_for(text)] == []
