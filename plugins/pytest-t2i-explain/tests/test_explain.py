"""``t2i explain`` of runs whose change was planted, with models and detectors that cost nothing."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from pytest_t2i import audit
from pytest_t2i.cli.main import main
from pytest_t2i.runs.record.baseline import save_baseline
from pytest_t2i.verdicts.baseline_file import sealed

WORDS = ("nurse", "pilot", "judge", "baker", "clerk", "chef")
PROMPTS = [f"a photo of one {word}" for word in WORDS]
FAIR, BIASED, TWIN = (f"steered:{name}" for name in ("fair", "biased", "twin"))
JUDGE, PARTIAL = "steered:judge", "steered:partial_judge"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project that records a baseline and a run, and explains them."""
    shutil.copy(Path(__file__).with_name("steered.py"), tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("steered", None)


def run(model, prompts=PROMPTS, detector=JUDGE, **options):
    given = {"images": 12, "progress": False, "store": ".t2i"} | options
    return audit(model, *prompts, detector=detector, **given)


def recorded(before, now):
    """Write both sides; return the paths of the run and of the baseline."""
    save_baseline(before._results, Path("b.json"))
    now.write_report("reports/t2i")
    return "reports/t2i/run.json", "b.json"


def explained(capsys, *arguments):
    """Return the exit status, the facts beside the run, and what was printed."""
    status = main(["explain", *map(str, arguments)])
    printed = capsys.readouterr()
    file = Path("reports/t2i/explain.sections.json")
    return status, json.loads(file.read_text())["facts"] if file.exists() else None, printed


def culprits(explanation):
    return {name for effect in explanation["named"] for name in effect["components"]}


CASES = {
    "model": (run, (FAIR,), {}, (BIASED,), {}, {"model"}),
    "guidance": (run, (FAIR,), {"guidance": 2}, (FAIR,), {"guidance": 9}, {"guidance"}),
    "guidance among others": (
        run, (FAIR,), {"guidance": 2, "steps": 4}, (TWIN,), {"guidance": 9, "steps": 5},
        {"guidance"},
    ),
    "model among others": (
        run, (FAIR,), {"steps": 4}, (BIASED,), {"steps": 5}, {"model"},
    ),
    "detector": (run, (FAIR,), {}, (FAIR,), {"detector": PARTIAL}, {"detector"}),
    "detector among others": (
        run, (FAIR,), {"steps": 4}, (TWIN,), {"detector": PARTIAL, "steps": 5}, {"detector"},
    ),
    "either": (
        run, (FAIR,), {"guidance": 2}, (BIASED,), {"guidance": 9}, {"model", "guidance"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_planted_change_is_named(project, capsys, case):
    make, old, how, new, how_now, names = CASES[case]
    run_json, baseline = recorded(make(*old, **how), make(*new, **how_now))
    status, explanation, printed = explained(capsys, run_json, "--baseline", baseline)
    assert (status, culprits(explanation)) == (0, names)
    assert explanation["outcome"] == ("set" if case == "either" else "named")
    assert explanation["answer"] in " ".join(printed.out.split())
    about = int(re.search(r"about (\d+) images", printed.out)[1])
    assert about == explanation["planned"]
    assert case == "either" or abs(about - explanation["images"]) <= about / 4
    page = Path("reports/t2i/index.html").read_text()
    assert "What made it worse" in page
    assert "made it worse" in Path("reports/t2i/summary.md").read_text()


def test_words_that_changed_are_named(project, capsys):
    from pytest_t2i.data import Prompt

    before = [Prompt(f"one {word}", "job", word) for word in WORDS]
    now = [Prompt(f"one {word} like a boss", "job", word) for word in WORDS]
    files = recorded(run(FAIR, before, seed=3), run(FAIR, now, seed=3))
    _, explanation, _ = explained(capsys, files[0], "--baseline", files[1])
    assert culprits(explanation) == {"words"}


@pytest.mark.parametrize(("model", "how"), [(FAIR, {}), (TWIN, {"steps": 5})])
def test_an_unchanged_model_has_no_culprit(project, capsys, model, how):
    files = recorded(run(FAIR), run(model, **how))
    _, explanation, _ = explained(capsys, files[0], "--baseline", files[1])
    assert (explanation["outcome"], explanation["named"]) == ("none", [])
    assert "Nothing to explain" in explanation["answer"]


def test_equal_pictures_are_no_evidence(project, capsys):
    """A model of two pictures for each prompt shows nothing, however often it repeats them."""
    files = recorded(run("steered:repeating"), run("steered:repeating_biased"))
    _, explanation, _ = explained(capsys, files[0], "--baseline", files[1])
    assert explanation["named"] == []


@pytest.mark.slow
def test_a_killed_search_goes_on_to_the_same_answer(project, capsys, monkeypatch):
    files = recorded(run(FAIR, guidance=2, steps=4), run(TWIN, guidance=9, steps=5))
    import steered

    make = steered.Steered.generate
    for limit in (10, 40, 40):
        left = [limit]

        def dying(self, requests, left=left):
            for generated in make(self, requests):
                left[0] -= 1
                if left[0] < 0:
                    raise KeyboardInterrupt
                yield generated

        monkeypatch.setattr(steered.Steered, "generate", dying)
        status, explanation, _ = explained(capsys, files[0], "--baseline", files[1])
        assert (status, explanation) == (130, None)
    monkeypatch.setattr(steered.Steered, "generate", make)
    _, after, _ = explained(capsys, files[0], "--baseline", files[1])
    _, again, _ = explained(capsys, files[0], "--baseline", files[1])
    assert culprits(after) == {"guidance"}
    assert 0 < after["made"] < after["images"]
    assert again["made"] == 0
    assert {**after, "made": 0} == {**again, "made": 0}


def edit_model(name):
    """Let the baseline name another model, under fresh seals."""
    plain = json.loads(Path("b.json").read_text().replace("steered:fair", name))
    for prompt in plain["prompts"].values():
        del prompt["seal"]
    Path("b.json").write_text(json.dumps(sealed(plain)))


def test_without_the_old_model_its_arguments_are_tried(project, capsys):
    files = recorded(run(FAIR, guidance=2), run(TWIN, guidance=9))
    edit_model("steered:gone")
    _, explanation, _ = explained(capsys, files[0], "--baseline", files[1])
    assert culprits(explanation) == {"guidance"}
    reasons = {c["name"]: c["not_exchanged"] for c in explanation["components"]}
    assert "--old MODEL" in reasons["model"]


def test_what_was_not_exchanged_may_have_made_it(project, capsys):
    files = recorded(run(FAIR, guidance=2, steps=4), run(BIASED, guidance=2, steps=5))
    edit_model("steered:gone")
    _, explanation, _ = explained(capsys, files[0], "--baseline", files[1])
    # Steps were tried and did nothing; of all changes the model alone is left.
    assert explanation["images"] > 0
    assert culprits(explanation) == {"model"}
    assert explanation["named"][0]["restored"]["method"] == "by exclusion"


def test_a_dry_run_makes_nothing(project, capsys):
    files = recorded(run(FAIR), run(BIASED))
    status, explanation, printed = explained(capsys, files[0], "--baseline", files[1], "--dry-run")
    assert (status, explanation) == (0, None)
    assert "changed: model" in printed.out


def test_a_budget_that_does_not_suffice_is_said(project, capsys):
    files = recorded(run(FAIR), run(BIASED))
    _, explanation, _ = explained(capsys, files[0], "--baseline", files[1], "--budget", "5")
    assert explanation["outcome"] == "open"
    assert "the budget of 5 images" in explanation["answer"].lower()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["gone.json", "--baseline", "b.json"], "gone.json"),
        (["reports/t2i/run.json"], "--baseline FILE"),
        (["reports/t2i/run.json", "--baseline", "gone.json"], "no such baseline"),
        (["reports/t2i/run.json", "--baseline", "reports/t2i/run.json"], "baseline/1"),
        (["b.json", "--baseline", "b.json"], "expected schema"),
        (["reports/t2i/run.json", "--baseline", "foreign.json"], "no neutral prompt with labels"),
        (["reports/t2i/run.json", "--baseline", "b.json", "--old", "steered:gone"], "gone"),
        (["reports/t2i/run.json", "--baseline", "b.json", "--new", "steered:gone"], "--new MODEL"),
        (["reports/t2i/run.json", "--baseline", "b.json", "--old", BIASED], "model of the run"),
    ],
)
def test_bad_input_is_said(project, capsys, arguments, problem):
    recorded(run(FAIR), run(BIASED))
    foreign = run(FAIR, ["one gardener", "one sailor"])
    save_baseline(foreign._results, Path("foreign.json"))
    status, explanation, printed = explained(capsys, *arguments)
    assert (status, explanation) == (2, None)
    assert problem in printed.err


def test_the_explanation_is_named_in_the_manifest(project, capsys):
    files = recorded(run(FAIR), run(BIASED))
    explained(capsys, files[0], "--baseline", files[1])
    assert main(["report", "verify", "reports/t2i"]) == 0
    assert "not checked: explain.sections.json" not in capsys.readouterr().out
    Path("reports/t2i/explain.sections.json").write_text("{}")
    assert main(["report", "verify", "reports/t2i"]) == 1
    assert "explain.sections.json" in capsys.readouterr().out
