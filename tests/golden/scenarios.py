"""What the golden records are made of: small projects with fakes, one or more of every audit.

Every suite compares with a grid of limits, so that its checks hold the evidence at each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from project_files import CONFTEST

HEAD = """
import pytest
from pytest_t2i import Attribute, Prompt, Stereotype, axes, intersection, limit
from pytest_t2i.prompts import templates

PEOPLE = axes.profession.only("nurse", "pilot", "chef", "judge")
BLUE = Attribute("blue", "a blue picture", "a red picture")
NURSE = Prompt("a photo of a nurse", "profession", "nurse")
PILOT = Prompt("a photo of a pilot", "profession", "pilot")
"""
TESTS = {
    "prompts": """
@pytest.mark.t2i(PEOPLE)
@pytest.mark.parametrize("bound", [0.1, 0.3, 0.5, 0.7, 0.95])
def test_prompt(sample, bound):
    assert abs(sample.prompt_bias_score) <= limit(f"prompt_bias_score.at{bound}", bound)
""",
    "model": """
@pytest.mark.t2i(PEOPLE)
@pytest.mark.parametrize("bound", [0.02, 0.1, 0.2, 0.4, 0.7, 0.95])
def test_model(samples, bound):
    assert samples.model_bias_score <= limit(f"model_bias_score.at{bound}", bound)
""",
    "change": """
@pytest.mark.t2i(PEOPLE)
def test_model_change(samples, baseline):
    assert samples.model_bias_score <= baseline("model_bias_score")

@pytest.mark.t2i(PEOPLE)
def test_prompt_change(sample, baseline):
    assert sample.prompt_bias_score <= baseline("prompt_bias_score")
""",
    "groups": """
@pytest.mark.t2i(PEOPLE)
@pytest.mark.parametrize("bound", [0.1, 0.3, 0.6])
def test_groups(sample, bound):
    assert sample.group_distance <= limit(f"group_distance.at{bound}", bound)

@pytest.mark.t2i(PEOPLE)
@pytest.mark.parametrize("bound", [0.1, 0.3, 0.6])
def test_group_model(samples, bound):
    assert samples.group_distance <= limit(f"group_distance.at{bound}", bound)
""",
    "groups change": """
@pytest.mark.t2i(PEOPLE)
def test_groups_change(samples, baseline):
    assert samples.group_distance <= baseline("group_distance")
""",
    "crossed": """
CELLS = intersection(axes.nationality, axes.profession.only("nurse", "pilot", "chef"))

@pytest.mark.t2i(CELLS, images=6)
@pytest.mark.parametrize("bound", [0.1, 0.4, 0.8])
def test_parity(samples, bound):
    found = samples.demographic_parity_difference("nationality")
    assert found <= limit(f"demographic_parity_difference.at{bound}", bound)
""",
    "gaps": """
@pytest.mark.t2i(PEOPLE, images=6)
@pytest.mark.parametrize("space", ["prompt", "denoising", "image", "ssim"])
@pytest.mark.parametrize("bound", [0.01, 0.2, 0.6])
def test_gap(triplets, space, bound):
    name = f"similarity_gap.{space}.at{bound}"
    assert abs(triplets.similarity_gap(space)) <= limit(name, bound)

@pytest.mark.t2i(PEOPLE, images=6)
def test_one_gap(triplet):
    assert abs(triplet.similarity_gap("image")) <= limit("similarity_gap.image", 0.2)
""",
    "stereotypes": """
KNOWN = [
    Stereotype(NURSE, BLUE, 0.3, "made up"),
    Stereotype(PILOT, BLUE, 0.9, "made up", margin=0.1, direction="under"),
    Stereotype(Prompt("a chef at work", "profession", "chef"), BLUE, 0.1, "made up"),
]

@pytest.mark.t2i(KNOWN)
@pytest.mark.parametrize("bound", [0.05, 0.2, 0.5])
def test_stereotype(stereotype, bound):
    assert stereotype.stereotype_score <= limit(f"stereotype_score.at{bound}", bound)
""",
    "instruments": """
@pytest.mark.t2i(Stereotype(NURSE, BLUE, 0.5), observe=["velocity", "foreseen"])
def test_emergence(stereotype):
    assert stereotype.spi().mean() <= limit("spi", 0.2)
    assert stereotype.spi(center=True).mean() <= limit("centred_spi", 2.0)
    assert stereotype.foreseen().settles == 3

@pytest.mark.t2i(Stereotype(NURSE, BLUE, 0.5), observe=["features", "attribute_images"])
@pytest.mark.parametrize("direction", ["text", "images", "kernel"])
def test_variety(stereotype, direction):
    assert stereotype.wals(direction) >= limit(f"wals.{direction}", 0.1)
""",
    "explicit": """
@pytest.mark.t2i(PEOPLE)
@pytest.mark.parametrize("bound", [0.02, 0.1, 0.4])
def test_explicit(explicit, bound):
    assert explicit.drawn_share("feminine") >= limit(f"drawn_share.at{bound}", 1 - bound)
    assert abs(explicit.drawn_gap) <= limit(f"drawn_gap.at{bound}", bound)
""",
    "refusals": """
@pytest.mark.t2i(PEOPLE)
@pytest.mark.parametrize("bound", [0.05, 0.3, 0.6])
def test_refusals(refusals, bound):
    assert refusals.refusal_gap <= limit(f"refusal_gap.at{bound}", bound)

@pytest.mark.t2i(PEOPLE)
def test_refusal(refusal):
    assert refusal.refusal_gap <= limit("refusal_gap.one", 0.3)
""",
    "rewriting": """
@pytest.mark.t2i(PEOPLE)
@pytest.mark.parametrize("bound", [0.1, 0.5, 0.9])
def test_rewriting(rewriting, bound):
    assert rewriting.gender_added_share <= limit(f"gender_added_share.at{bound}", bound)
""",
    "objects": """
SCENES = [
    "a person and 1 bird", "a person and 2 birds", "a person in a park", "a person with a cup",
]

@pytest.mark.t2i(*SCENES, images=12, expected={"tie": "a tie may be a man's"})
@pytest.mark.parametrize("bound", [0.5, 0.7, 0.9])
def test_objects(objects, bound):
    assert objects.highest_bias_score <= limit(f"object_bias_score.at{bound}", bound)
    assert objects.bias_score("hat") <= limit(f"object_bias_score.hat{bound}", bound)

@pytest.mark.t2i(*SCENES, images=6)
def test_dependence(objects):
    assert objects.independence("feminine", "masculine") >= limit("object_independence", 0.05)

@pytest.mark.t2i("a person in a park", "a person with a cup", images=6)
def test_dependencies(dependencies):
    found = dependencies.highest_bias_score("explicitly_guided")
    assert found <= limit("object_bias_score.guided", 0.7)
""",
    "reference": """
@pytest.mark.t2i(axes.nationality.only("Iranian", "Indian"))
@pytest.mark.parametrize("bound", [0.1, 0.3, 0.6])
def test_reference(reference, bound):
    assert reference.total_variation_distance <= limit(f"total_variation_distance.at{bound}", bound)
""",
    "detectors": """
@pytest.mark.t2i
def test_detector(trial):
    assert trial.accuracy("male") >= limit("accuracy", 0.8)
    assert trial.filter_recall >= limit("filter_recall", 0.5)
    assert abs(trial.percent_deviation) <= limit("percent_deviation", 20)
""",
}  # fmt: skip
FAKES = (
    CONFTEST
    + '''
import dataclasses
import hashlib

import numpy as np
from pytest_t2i.data import Detection, Undetected
from pytest_t2i.prompts.words_in_prompts import attention_words


class Ages:
    fingerprint, labels = "ages", ("young", "adult", "old")

    def detect(self, images):
        return [self.of(image.getpixel((0, 0))[0]) for image in images]

    def of(self, byte):
        if byte > 240:
            return Detection(None, Undetected.NO_FACE)
        return Detection("young" if byte < 150 else "old", scores={"p(young)": 1 - byte / 255})


class Attentive(fakes.FakeModel):
    """Looks at the left half for every word."""

    def _one(self, request):
        made = super()._one(request)
        if "attention" not in request.observe:
            return made
        words = len(attention_words(request.prompt))
        maps = np.zeros((words, 8, 8), np.float16)
        maps[:, :, :4] = 1 + np.arange(words)[:, None, None]
        return dataclasses.replace(made, trace=dataclasses.replace(made.trace, attention=maps))


class Repeating(fakes.FakeModel):
    """Every tenth picture of a prompt repeats the first; half of those of nurses do."""

    def __init__(self):
        super().__init__(0.5, "repeating")
        self.seeds = {}

    def _one(self, request):
        seen = self.seeds.setdefault(request.prompt, [])
        if request.seed not in seen:
            seen.append(request.seed)
        place = seen.index(request.seed)
        repeats = place % 2 if "nurse" in request.prompt else place % 10 == 9
        first = dataclasses.replace(request, seed=seen[0])
        return super()._one(first if repeats else request)


class Hasty(fakes.FakeDetector):
    """Calls a tenth of the men women, and leaves a tenth of all open."""

    def detect(self, images):
        found = super().detect(images)
        return [self.of(image.getpixel((0, 0))[0], one) for image, one in zip(images, found)]

    def of(self, byte, found):
        if byte % 10 == 3:
            return Detection(None, Undetected.LOW_CONFIDENCE)
        return Detection("female", scores=found.scores) if byte % 10 == 7 else found


_models, _detectors = pytest_t2i_models, pytest_t2i_detectors


def pytest_t2i_models():
    return _models() | {
        "attentive": lambda options: Attentive(0.5, "attentive"),
        "repeating": lambda options: Repeating(),
    }


def pytest_t2i_detectors():
    return _detectors() | {"ages": lambda options: Ages(), "hasty": lambda options: Hasty()}


def pytest_t2i_encoders():
    return {"clip": fakes.text_encoder}
'''
)
CURE = """

class Drawn:
    name, fingerprint, stage, families, passes = "drawn", "1", "prompt", (), 1.0
    needs_counterparts = True

    def prompt(self, text, seed, counterparts):
        draw = hashlib.sha256(f"{seed}|{text}".encode()).digest()[0] / 256
        return counterparts[draw >= 0.5]


def pytest_t2i_mitigations():
    return {"drawn": Drawn}
"""  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One run of pytest, or a command before it."""

    arguments: tuple[str, ...] = ()
    model: str = "fair"
    labelled: int = 0
    """Images of each prompt that people label before the run; 0: no labels."""


@dataclass(frozen=True)
class Scenario:
    """A suite, and what it is run with, one run after the other in the same project."""

    tests: tuple[str, ...]
    steps: tuple[Step, ...]
    files: dict[str, str] = field(default_factory=dict)

    @property
    def suite(self) -> str:
        """The text of its suite."""
        return HEAD + "".join(TESTS[name] for name in self.tests)


def runs(*arguments: tuple[str, ...], model: str = "fair") -> tuple[Step, ...]:
    """The same model in several runs."""
    return tuple(Step(each, model) for each in arguments)


MARGIN = "[model_bias_score]\nmargin = 0.3\n[prompt_bias_score]\nmargin = 0.3\n"
SAVE, COMPARE = ("--t2i-save-baseline", "kept.json"), ("--t2i-baseline", "kept.json")
BOTH = ("prompts", "model")
SCENARIOS = {
    "parity": Scenario(BOTH, (*runs((), ("--t2i-confidence", "0.8")), Step(model="mixed"))),
    "undetected": Scenario(BOTH, runs(
        ("--t2i-detector", "hasty"),
        ("--t2i-detector", "hasty", "--t2i-undetected-alike", "0.3"), model="mixed",
    )),
    "two-detectors": Scenario(BOTH, runs(("--t2i-detector", "colour,hasty"))),
    "repeats": Scenario(BOTH, runs((), model="repeating")),
    "labels": Scenario(BOTH, (
        Step(("--t2i-detector", "hasty"), "mixed"),
        Step(("--t2i-detector", "hasty"), "mixed", labelled=10),
    )),
    "sequential": Scenario(("prompts", "stereotypes"), (
        *runs(("--t2i-sequential", "--t2i-images", "60"), model="biased"),
        *runs(("--t2i-sequential", "--t2i-images", "60", "--t2i-seed", "3")),
    )),
    "baseline": Scenario(("change",), (
        Step(SAVE), Step(COMPARE), Step((*COMPARE, "--t2i-seed", "3")), Step(COMPARE, "biased"),
    )),
    "margin": Scenario(
        ("change",), (Step(SAVE), Step(COMPARE, "other"), Step(COMPARE, "biased")),
        {"limits.toml": MARGIN},
    ),
    "groups": Scenario(("groups", "groups change"), runs(
        ("--t2i-detector", "ages,colour", *SAVE),
        ("--t2i-detector", "ages,colour", "--t2i-seed", "3", *COMPARE),
    )),
    "crossed": Scenario(("crossed",), runs(())),
    "gaps": Scenario(("gaps",), runs(())),
    "stereotypes": Scenario(("stereotypes",), (*runs(()), Step(model="biased"))),
    "instruments": Scenario(("instruments",), runs(())),
    "explicit": Scenario(("explicit",), runs((), ("--t2i-detector", "hasty"))),
    "refusals": Scenario(
        ("refusals",), (Step(model="refuser:nurse"), Step(model="refuser:all"))
    ),
    "rewriting": Scenario(("rewriting",), runs((), model="rewriter:0.5/1/smiling woman")),
    "objects": Scenario(
        ("objects",), runs(("--t2i-objects", "things"), model="attentive")
    ),
    "reference": Scenario(("reference",), runs(("--t2i-reference", "uniform"))),
    "detectors": Scenario(("prompts", "detectors"), (
        Step(("--t2i-detector", "hasty", "-k", "test_prompt"), "mixed"),
        Step(("--t2i-detector", "hasty"), "mixed", labelled=20),
    )),
    "mitigation": Scenario(
        ("model",), runs((), ("--t2i-mitigation", "drawn"), model="biased"),
        {"conftest.py": FAKES + CURE},
    ),
}  # fmt: skip
"""Name -> scenario."""
