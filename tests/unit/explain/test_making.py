"""Where in the making a planted change acts, with models whose layers are known."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from pytest_t2i import Detection, audit
from pytest_t2i.cli.main import main
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.explain.making import Making, images_for_places, real_p_value, where_words
from pytest_t2i.generation.components import Components
from pytest_t2i.runs.baseline import save_baseline
from pytest_t2i.runs.explanation.record import PlaceOfMaking

WORDS = ("nurse", "pilot", "judge", "baker", "clerk", "chef")
PROMPTS = [f"a photo of one person who is a {word}" for word in WORDS]
SAME, DIFFERS, MOVED, HIDDEN = "same", "differs", "moved", "not measured"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with these models, whose pictures are compared by an encoder of its own."""
    shutil.copy(Path(__file__).with_name("layered.py"), tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Components, "encoder_name", "layered:encoder")
    yield tmp_path
    sys.modules.pop("layered", None)


def explained(capsys, before, now, *arguments, prompts=PROMPTS, detectors=("judge", "judge"),
              settings=({}, {})):  # fmt: skip
    """Record both sides, explain, and return explain.json and what was printed."""
    sides = []
    for model, detector, own in zip((before, now), detectors, settings, strict=True):
        options = {"images": 12, "progress": False, "store": ".t2i"} | own
        sides.append(audit(f"layered:{model}", *prompts, detector=f"layered:{detector}", **options))
    save_baseline(sides[0]._results, Path("b.json"))
    sides[1].write_report("reports/t2i")
    files = ("reports/t2i/run.json", "--baseline", "b.json")
    assert main(["explain", *files, *arguments]) == 0
    printed = capsys.readouterr().out
    return json.loads(Path("reports/t2i/explain.json").read_text()), printed


def states(explanation):
    return {
        f"{place['place']} {place['steps']}".strip(): place["state"]
        for place in explanation["places"]
    }


CASES = {
    "text": {"prompt": DIFFERS, "denoising": MOVED, "image": MOVED},
    "denoiser": {"prompt": SAME, "denoising": MOVED, "image": MOVED},
    "decoder": {"prompt": SAME, "denoising": SAME, "image": MOVED},
}


@pytest.mark.parametrize("model", CASES)
def test_spaces_that_moved_are_told(project, capsys, model):
    explanation, printed = explained(capsys, "plain", model, "--where")
    said = states(explanation)
    assert {place: said[place] for place in CASES[model]} == CASES[model]
    steps = {place: state for place, state in said.items() if place.startswith("steps")}
    expected = MOVED if model != "decoder" else SAME
    assert steps["steps 3-4 of 6"] == expected
    assert {steps["steps 1-2 of 6"], steps["steps 5-6 of 6"]} == {SAME}
    about = int(re.search(r"about (\d+) further images", printed)[1])
    assert about == explanation["where_planned"] == explanation["where_images"]
    assert explanation["where"] in " ".join(printed.split())
    assert "Where the model acts" in Path("reports/t2i/summary.md").read_text()
    page = Path("reports/t2i/index.html").read_text()
    assert "Where in the making" in page


@pytest.mark.parametrize("model", CASES)
def test_without_further_images_equal_places_are_told(project, capsys, model):
    explanation, _ = explained(capsys, "plain", model)
    said = states(explanation)
    expected = {p: DIFFERS if s == MOVED else s for p, s in CASES[model].items()}
    assert said == expected
    assert explanation["where_images"] == 0
    assert "--where tests" in explanation["where"]
    assert explanation["made"] == explanation["images"]


def test_a_detector_moves_no_space(project, capsys):
    explanation, printed = explained(
        capsys, "plain", "plain", "--where", detectors=("judge", "misled_judge")
    )
    assert states(explanation) == {"image": SAME, "labels": MOVED}
    assert "the pictures are the same; the labels changed" in (explanation["where"])
    assert "further images" not in printed


def test_words_that_changed_are_told(project, capsys):
    from pytest_t2i.data import Prompt

    before, now = (
        [Prompt(f"one person {more}who is a {word}", "job", word) for word in WORDS]
        for more in ("", "like a man ")
    )
    sides = [audit("layered:plain", *prompts, detector="layered:judge", images=12, seed=3,
                   progress=False, store=".t2i") for prompts in (before, now)]  # fmt: skip
    save_baseline(sides[0]._results, Path("b.json"))
    sides[1].write_report("r")
    assert main(["explain", "r/run.json", "--baseline", "b.json", "--where"]) == 0
    explanation = json.loads(Path("r/explain.json").read_text())
    said = states(explanation)
    assert (said["words"], said["prompt"], said["denoising"]) == (DIFFERS, DIFFERS, MOVED)


@pytest.mark.slow
def test_what_a_model_does_not_show_is_said(project, capsys):
    explanation, _ = explained(capsys, "silent", "silent_denoiser", "--where")
    said = states(explanation)
    assert (said["prompt"], said["denoising"], said["steps"]) == (HIDDEN, HIDDEN, HIDDEN)
    assert said["image"] == MOVED
    assert "the latents are not measured (the model does not show them)" in explanation["where"]


def test_prompts_without_variants_are_not_tested(project, capsys):
    prompts = [f"a photo of one {word}" for word in WORDS]
    explanation, _ = explained(capsys, "plain", "denoiser", "--where", prompts=prompts)
    said = states(explanation)
    assert (said["prompt"], said["denoising"], said["image"]) == (SAME, DIFFERS, DIFFERS)
    assert "no feminine and masculine variants" in explanation["where"]
    assert explanation["where_images"] == 0


def test_an_encoder_that_cannot_be_loaded_is_tried_once(project, capsys, monkeypatch):
    tries = []

    def failing(options):
        tries.append(options)
        raise ConfigurationError("no weights of this encoder")

    import layered

    monkeypatch.setattr(layered, "encoder", failing)
    explanation, _ = explained(capsys, "plain", "denoiser", "--where")
    said = states(explanation)
    assert (len(tries), said["denoising"], said["image"]) == (1, MOVED, DIFFERS)
    assert "not tested: no weights of this encoder" in explanation["where"]


def test_a_fault_on_the_way_leaves_the_culprit(project, capsys, monkeypatch):
    def failing(self, new):
        raise ConfigurationError("the old model is gone")

    monkeypatch.setattr(Making, "_traces", failing)
    explanation, _ = explained(capsys, "plain", "denoiser")
    assert explanation["outcome"] == "named"
    assert "cannot be told: the old model is gone" in " ".join(explanation["remarks"])


def test_a_budget_that_does_not_suffice_is_said(project, capsys):
    explanation, _ = explained(capsys, "plain", "denoiser", "--where", "--budget", "60")
    assert states(explanation)["steps"] == HIDDEN
    assert "the budget leaves" in explanation["where"]
    assert explanation["images"] + explanation["where_images"] <= 60


def test_what_did_not_change_is_not_told(project, capsys):
    explanation, _ = explained(capsys, "plain", "twin", "--where")
    assert (explanation["outcome"], explanation["places"], explanation["where"]) == ("none", [], "")


@pytest.mark.slow
def test_among_several_changes_the_culprit_alone_is_compared(project, capsys):
    explanation, _ = explained(
        capsys, "plain", "decoder", "--where", settings=({"steps": 4}, {"steps": 5})
    )
    assert {tuple(place["components"]) for place in explanation["places"]} == {("model",)}
    assert states(explanation)["denoising"] == SAME


@pytest.mark.slow
def test_it_goes_on_to_the_same_answer(project, capsys, monkeypatch):
    first, _ = explained(capsys, "plain", "denoiser", "--where")
    again, _ = explained(capsys, "plain", "denoiser", "--where")
    assert (again["made"], again["where_made"]) == (0, 0)
    now = dict.fromkeys(("created", "made", "where_made", "run_created", "baseline_created"))
    assert {**first, **now} == {**again, **now}


@pytest.mark.parametrize(
    ("differences", "p_value"),
    [([], 1.0), ([0.0, 0.0], 1.0), ([0.3] * 8, 2.0**-8), ([0.1, -0.1], 0.75), ([-0.2] * 4, 1.0)],
)
def test_the_test_of_real_numbers_is_exact(differences, p_value):
    assert real_p_value(np.array(differences)) == pytest.approx(p_value)


def test_the_test_of_real_numbers_keeps_its_level():
    rng = np.random.default_rng(1)
    wrong = sum(real_p_value(rng.standard_t(2, size=20)) <= 0.05 for _ in range(2000))
    assert wrong <= 130


def test_nothing_is_shown_where_claims_are_many():
    """Holm: of six claims, one at .02 alone is none at .05."""
    making = Making.__new__(Making)
    making.level = 0.05
    place = PlaceOfMaking(("a",), "image", "moved", p_value=0.02)
    assert making._decided(place, 0.12).state == "not shown"


@pytest.mark.parametrize(("is_service", "images"), [(False, 120), (True, 60)])
def test_a_service_makes_no_picture_twice(is_service, images):
    assert images_for_places(1, 30, is_service=is_service) == images


def test_no_place_has_no_words():
    assert where_words((), is_deep=False, cost=0) == ""


def explain_again(capsys, *arguments):
    files = ("reports/t2i/run.json", "--baseline", "b.json")
    assert main(["explain", *files, *arguments]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    return json.loads(Path("reports/t2i/explain.json").read_text()), printed


@pytest.mark.slow
def test_images_of_the_search_and_of_the_places_are_counted_apart(project, capsys):
    first, _ = explained(capsys, "plain", "denoiser")
    assert (first["made"], first["where_made"]) == (first["images"], 0)
    deep, printed = explain_again(capsys, "--where")
    assert (deep["made"], deep["where_made"]) == (0, deep["where_images"])
    assert f"images: {deep['images']} (0 made now; about" in printed
    assert f"{deep['where_images']} ({deep['where_images']} made now; about" in printed


@pytest.mark.slow
def test_what_was_found_in_the_places_stays(project, capsys):
    deep, _ = explained(capsys, "plain", "denoiser", "--where")
    plain, printed = explain_again(capsys)
    assert plain["places"] == deep["places"]
    assert plain["where"] == deep["where"]
    assert (plain["where_images"], plain["where_made"]) == (deep["where_images"], 0)
    assert "the latents moved towards" in printed
    assert "Where in the making" in Path("reports/t2i/index.html").read_text()
    other, _ = explain_again(capsys, "--confidence", "0.9")
    assert other["where_images"] == 0, "another level is another question"


def test_the_label_that_grew_its_prompts_and_units_are_named(project, capsys):
    deep, printed = explained(capsys, "plain", "denoiser", "--where")
    assert {tuple(prompt["labels"]) for prompt in deep["prompts"]} == {("male",)}
    printed = " ".join(printed.split())
    assert "labels that became more frequent: male of caption-a-photo-of-one-person" in printed
    assert "towards the label that grew (male) (similarity gap +" in printed
    assert "(SPI +" in printed
    page = Path("reports/t2i/index.html").read_text()
    assert "Labels that became more frequent: male of" in page
    assert "The three therefore differ a little." in page


def test_a_detector_that_only_pytest_knows_is_told_before_anything_is_announced(project, capsys):
    sides = [
        audit(f"layered:{model}", *PROMPTS, detector=Own(), images=12, progress=False)
        for model in ("plain", "denoiser")
    ]
    sides[0].save_baseline("b.json")
    sides[1].write_report("reports/t2i")
    assert main(["explain", "reports/t2i/run.json", "--baseline", "b.json"]) == 2
    printed = capsys.readouterr()
    assert "the run's detector 'Own in memory' is not known here" in printed.err
    assert "--t2i-detector module:factory" in printed.err
    assert "about" not in printed.out


class Own:
    """A detector without a name that t2i knows."""

    fingerprint, labels = "own", ("male", "female")

    def detect(self, images):
        return [
            Detection("male" if image.getpixel((8, 8))[2] > 100 else "female") for image in images
        ]


def test_a_run_is_no_baseline(project, capsys):
    explained(capsys, "plain", "denoiser")
    assert main(["explain", "reports/t2i/run.json", "--baseline", "reports/t2i/run.json"]) == 2
    told = capsys.readouterr().err
    assert "expected schema 'pytest-t2i/baseline/1', got 'pytest-t2i/run/1'" in told
    assert "pytest --t2i-save-baseline FILE, in a script audit.save_baseline(FILE)" in told
