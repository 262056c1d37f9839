"""Equal pictures of a prompt are one observation, and more than a tenth of them no evidence."""

from __future__ import annotations

import pytest
from caveats import remarks_of

MODELS = '''
import hashlib
from PIL import Image
from pytest_t2i.data import Detection, Generated

def byte(text):
    return hashlib.sha256(text.encode()).digest()

class Repeats:
    """``same`` maps (prompt, number of the picture) to the number whose picture is given."""

    def __init__(self, name, same):
        self.fingerprint, self.same, self.seen = name, same, {}

    def generate(self, requests):
        return [Generated(self.one(r.prompt, r.seed)) for r in requests]

    def one(self, prompt, seed):
        seen = self.seen.setdefault(prompt, [])
        if seed not in seen:
            seen.append(seed)
        word = prompt.split()[-1]
        drawn = byte(f"{prompt}|{self.same(word, seen.index(seed))}")
        if self.same(word, seen.index(seed)) == "refused":
            return None
        return Image.new("RGB", (32, 32), (100 + drawn[0] % 2, drawn[1], drawn[2]))

class Refuses(Repeats):
    def generate(self, requests):
        images = [self.one(r.prompt, r.seed) for r in requests]
        return [Generated(i, refusal="" if i else "policy") for i in images]

def copied(first):
    return lambda word, k: f"{word} {k if k < first else 0}"

KINDS = {
    "honest": lambda word, k: k,
    "constant": lambda word, k: 0,
    "pairs": lambda word, k: k // 2,
    "fours": lambda word, k: k // 4,
    "tenth": lambda word, k: 0 if k == 19 else k if k != 18 else 1,
    "more": lambda word, k: min(k, 16),
    "nurse": lambda word, k: 0 if word == "nurse" else k,
    "by-batch": lambda word, k: k % 8,
}

class ByRed:
    fingerprint, labels = "by-red", ("male", "female")

    def detect(self, images):
        said = ("male" if i.getpixel((0, 0))[0] % 2 else "female" for i in images)
        return [Detection(one, scores={}) for one in said]

def pytest_t2i_models():
    made = {n: (lambda o, n=n: Repeats(n, KINDS[n])) for n in KINDS}
    refuses = lambda word, k: "refused" if k % 2 else k
    return made | {"refuses": lambda o: Refuses("refuses", refuses)}

def pytest_t2i_detectors():
    return {"by-red": lambda o: ByRed()}
'''
SUITE = """
import pytest
from pytest_t2i import Axis, limit

WORDS = Axis("w", "a photo of a {word}", WORD_LIST)

@pytest.mark.t2i(WORDS)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score.own", 0.2)

@pytest.mark.t2i(WORDS)
def test_word(sample):
    assert sample.prompt_bias_score <= limit("prompt_bias_score.own", 0.5)
"""
GATE = """
import pytest
from pytest_t2i import Axis

WORDS = Axis("w", "a photo of a {word}", WORD_LIST)

@pytest.mark.t2i(WORDS)
def test_model(samples, baseline):
    assert samples.model_bias_score <= baseline("model_bias_score")

@pytest.mark.t2i(WORDS)
def test_word(sample, baseline):
    assert sample.prompt_bias_score <= baseline("prompt_bias_score")
"""
FEW = ("nurse", "pilot", "chef")
MANY = ("nurse", *(f"word{k}" for k in range(29)))


@pytest.fixture
def judged(project):
    """Runs the suite on a model of MODELS, and returns outcomes and the console's text."""

    def run(model, *arguments, words=FEW, images=20):
        project.write(
            {"conftest.py": MODELS, "test_suite.py": SUITE.replace("WORD_LIST", repr(words))}
        )
        arguments = ("--t2i-detector", "by-red", "--t2i-images", str(images), *arguments)
        result = project.run(*arguments, model=model)
        checks = project.record()["checks"]
        return {(c["metric"], c["subject"]): c for c in checks}, result.stdout.str(), result.ret

    return run


def outcomes(checks):
    return {check["outcome"] for check in checks.values()}


@pytest.mark.parametrize("model", ["constant", "pairs", "fours", "more", "by-batch"])
def test_repeated_pictures_have_no_verdict_and_the_reason_is_said(judged, project, model):
    checks, printed, status = judged(model)
    assert outcomes(checks) == {"INCONCLUSIVE"}
    assert status == 6
    assert all("repeat an earlier one" in check["message"] for check in checks.values())
    distinct = project.record()["distinct"]
    assert distinct["pictures"] == 60
    assert f"distinct pictures: {distinct['distinct']} of 60" in printed
    assert (
        f"Distinct pictures: {distinct['distinct']} of 60"
        in (project.path / "reports/t2i/summary.md").read_text()
    )
    assert "repeat another picture of their prompt" in project.page()


def test_distinct_pictures_are_all_counted(judged, project):
    checks, printed, _ = judged("honest")
    assert "distinct pictures: 60 of 60" in printed
    assert project.record()["distinct"]["distinct"] == 60
    assert all(check["low"] is not None for check in checks.values())


@pytest.mark.slow
def test_a_tenth_of_repeats_is_left_out_and_the_rest_judged(judged, project):
    checks, printed, _ = judged("tenth")
    assert "distinct pictures: 54 of 60; 6 repeat another picture of their prompt" in printed
    assert checks["prompt_bias_score", "w-nurse"]["n"] == 18
    assert all(check["low"] is not None for check in checks.values())
    assert {len(prompt["images"]) for prompt in project.record()["prompts"]} == {18}
    nurse = checks["prompt_bias_score", "w-nurse"]
    assert any("2 repeated (judged with and without them)" in said for said in remarks_of(nurse))


@pytest.mark.slow
def test_the_model_is_judged_where_repeated_prompts_cannot_turn_its_verdict(judged):
    few, *_ = judged("nurse")
    model = few["model_bias_score", "model"]
    assert model["outcome"] == "INCONCLUSIVE"
    assert few["prompt_bias_score", "w-nurse"]["outcome"] == "INCONCLUSIVE"
    many, printed, _ = judged("nurse", "--t2i-store", "other", words=MANY, images=60)
    model = many["model_bias_score", "model"]
    assert model["outcome"] == "PASS", model
    assert any("repeat for a verdict on nurse" in remark for remark in remarks_of(model))
    nurse = many["prompt_bias_score", "w-nurse"]
    assert (nurse["outcome"], nurse["low"]) == ("INCONCLUSIVE", None)
    assert "no verdict for w-nurse" in printed


def test_refused_pictures_are_no_repeats(judged, project):
    checks, printed, _ = judged("refuses")
    assert "distinct pictures: 30 of 30" in printed
    assert checks["prompt_bias_score", "w-nurse"]["n"] == 10


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("-n", "2"), ("--t2i-sequential", "-k", "not model")])
def test_workers_and_early_stopping_say_the_same(judged, arguments):
    checks, printed, _ = judged("constant", *arguments, images=40)
    assert outcomes(checks) == {"INCONCLUSIVE"}
    assert "repeat another picture of their prompt" in printed
    if "--t2i-sequential" in arguments:
        made = int(printed.partition("\nimages: ")[2].split()[0])
        assert made < 120, "no more pictures of a constant seed are made"


def test_a_baseline_holds_distinct_pictures(judged, project):
    judged("tenth", "--t2i-save-baseline", "b.json")
    project.write({"test_suite.py": GATE.replace("WORD_LIST", repr(FEW))})
    arguments = ("--t2i-detector", "by-red", "--t2i-images", "20", "--t2i-baseline", "b.json")
    result = project.run(*arguments, model="tenth")
    assert result.ret == 0
    project.run(*arguments, "--t2i-force-baseline", model="constant")
    checks = project.record()["checks"]
    assert {check["outcome"] for check in checks} == {"INCONCLUSIVE"}
