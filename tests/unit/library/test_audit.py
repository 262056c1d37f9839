"""Audits without pytest: the numbers, verdicts and tables of a run, from a script."""

from __future__ import annotations

import gc
import re
from functools import partial
from pathlib import Path

import fakes
import numpy as np
import pytest
from PIL import Image

from pytest_t2i import (
    Audit,
    Compared,
    Detection,
    Fixture,
    Interval,
    Measurement,
    MetricInfo,
    T2IError,
    Undetected,
    audit,
    axes,
    load,
    read_run,
)
from pytest_t2i.audits.parity.sample_members import ModelParity
from pytest_t2i.cli.main import main
from pytest_t2i.data import Outcome, Request, Row
from pytest_t2i.errors import ConfigurationError, ModelLoadError, UnknownNameError
from pytest_t2i.library.load import in_script_words
from pytest_t2i.option_names import OPTIONS
from pytest_t2i.protocols import LoadOptions

WORDS = ("nurse", "pilot", "judge", "baker")
MINORITY = MetricInfo("minority_share", 0.0, 1.0, "higher", "share of the rarer label")


@pytest.fixture
def audited(tmp_path):
    """An audit of a fake model by a fake detector."""

    def run(model=None, *selected, **options):
        model = fakes.biased(LoadOptions()) if model is None else model
        chosen = selected or [f"a photo of one {word}" for word in WORDS]
        given = {"images": 12, "progress": False, "store": tmp_path / "store"} | options
        return audit(model, *chosen, detector=fakes.FakeDetector(), **given)

    return run


def test_measurements_are_attributes(audited):
    result = audited()
    assert result.model_bias_score.interval.estimate > 0.5
    assert [sample.prompt.text for sample in result.sample.values()] == [
        f"a photo of one {word}" for word in WORDS
    ]
    assert len(result.samples.members) == len(WORDS)
    with pytest.raises(AttributeError, match="no 'variety'; it has sample"):
        _ = result.variety


def test_verdicts_are_checks_of_its_record(audited):
    result = audited()
    assert result.verdict("model_bias_score", 0.2).outcome is Outcome.FAIL
    assert result.verdict("model_bias_score", 0.99).outcome is Outcome.PASS
    result.verdict("model_bias_score", 0.2)
    singly = result.verdicts("prompt_bias_score", 0.2)
    assert len(singly) == len(WORDS)
    assert {check.outcome for check in singly.values()} == {Outcome.FAIL}
    bounds = [check.bound for check in result.record.checks if check.metric == "model_bias_score"]
    assert sorted(bounds) == [0.2, 0.99]
    assert result.record.outcome is Outcome.FAIL


def test_every_measurement_of_the_run_has_its_verdict(audited):
    result = audited(
        None, axes.profession.only(*WORDS[:3]), audits=("parity", "neutrality"), spaces=["ssim"]
    )
    judged = set()
    for whole, metrics in ((True, result._measured()), (False, result._measured_singly())):
        for metric in metrics:
            if metric.startswith("similarity_gap.") and not metric.endswith(".ssim"):
                continue  # the other spaces need encoders, whose weights are not here
            try:
                checks = (
                    [result.verdict(metric, 0.9)]
                    if whole
                    else list(result.verdicts(metric, 0.9).values())
                )
            except UnknownNameError:
                raise
            except (ConfigurationError, ModelLoadError):
                continue  # it takes arguments, or was not observed
            judged.add(metric)
            assert {check.metric for check in checks} == {metric.partition(".")[0]}
    assert judged >= {"model_bias_score", "prompt_bias_score", "similarity_gap.ssim"}


def test_a_measurement_with_arguments_is_given_itself(audited):
    result = audited(None, axes.profession.only("nurse", "pilot"))
    with pytest.raises(ConfigurationError) as error:
        result.verdict("demographic_parity_difference", 0.9)
    assert "write audit.verdict(audit.samples.demographic_parity_difference(" in str(error.value)
    check = result.verdict(result.samples.demographic_parity_difference(axis="profession"), 0.9)
    assert check.metric == "demographic_parity_difference"


@pytest.mark.parametrize(
    ("verdict", "metric", "answer"),
    [
        ("verdict", "prompt_bias_score", "write audit.verdicts('prompt_bias_score', bound)"),
        ("verdicts", "model_bias_score", "write audit.verdict('model_bias_score', bound)"),
        ("verdict", "model_bias_scor", "Did you mean 'model_bias_score'"),
        ("verdicts", "prompt_bias", "Did you mean 'prompt_bias_score'"),
        ("verdict", "similarity_gap.image", "Known: "),
    ],
)
def test_a_wrong_measurement_is_told_where_it_is(audited, verdict, metric, answer):
    result = audited()
    with pytest.raises(ConfigurationError) as error:
        getattr(result, verdict)(metric, 0.2)
    assert answer in str(error.value)
    assert f"mean {metric!r}" not in str(error.value)


def test_it_shows_itself(audited, tmp_path, monkeypatch, capsys):
    result = audited()
    result.verdict("model_bias_score", 0.2)
    told = repr(result)
    assert told.splitlines()[1].startswith("FAIL: ")
    assert len(told.splitlines()) < 30
    frame = result._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts" srcdoc="&lt;!doctype html&gt;')
    monkeypatch.chdir(tmp_path)
    assert result.write_report(tmp_path / "report").is_file()
    assert main(["report", "verify", "report"]) == 0
    (tmp_path / "report/summary.md").write_text("PASS")
    assert main(["report", "verify", "report"]) == 1
    assert "changed: summary.md" in capsys.readouterr().out
    monkeypatch.setattr("pytest_t2i.library.audit.MOST_BYTES", 10)
    assert "write_report() writes it" in result._repr_html_()


def test_it_is_as_wide_as_the_terminal(audited, monkeypatch):
    result = audited()
    monkeypatch.setenv("COLUMNS", "60")
    narrow = repr(result)
    assert max(map(len, narrow.splitlines())) <= 60
    monkeypatch.setenv("COLUMNS", "200")
    assert len(repr(result).splitlines()) < len(narrow.splitlines())


def test_a_verdict_is_one_line_to_read(audited):
    told = repr(audited().verdict("model_bias_score", 0.2))
    score = r"\d\.\d{3} \[\d\.\d{3}, \d\.\d{3}\]"
    assert re.fullmatch(rf"<FAIL: model_bias_score of model, {score}, limit <= 0\.2>", told)


def test_a_default_detector_that_is_not_there_is_named(monkeypatch, tmp_path):
    def absent(*_):
        raise ModelLoadError("its weights cannot be fetched.")

    monkeypatch.setattr("pytest_t2i.library.audit.make_and_detect", absent)
    model, told = fakes.biased(LoadOptions()), "its weights cannot be fetched."
    where = {"progress": False, "store": tmp_path / "store"}
    with pytest.raises(ModelLoadError) as unsaid:
        audit(model, "a nurse", **where)
    assert str(unsaid.value).startswith(f"{told} No detector was given, so the pictures of a model")
    assert "detector=NAME" in str(unsaid.value)
    assert unsaid.value.__suppress_context__
    with pytest.raises(ModelLoadError) as named:
        audit(model, "a nurse", detector=fakes.FakeDetector(), **where)
    assert str(named.value) == told


def test_a_function_is_a_model(audited):
    made = []

    def paint(prompts, seeds):
        made.extend(seeds)
        return [
            fakes.FakeModel(1.0, "blue")._one(Request(*one)).image
            for one in zip(prompts, seeds, strict=True)
        ]

    assert audited(paint, fingerprint="blue-1").model_bias_score.interval.estimate > 0.9
    first = len(made)
    assert first == 12 * len(WORDS)
    audited(paint, fingerprint="blue-1")
    assert len(made) == first


def test_a_function_without_a_fingerprint_is_asked_anew():
    made = []

    def paint(prompts, seeds):
        made.extend(seeds)
        return [Image.new("RGB", (16, 16), fakes.BLUE) for _ in prompts]

    run = partial(audit, paint, "a nurse", images=3, progress=False)
    for _ in range(2):
        result = run(detector=fakes.FakeDetector())
    assert len(made) == 6
    store = Path(result.record.settings["store"])
    assert store.is_dir()
    del result
    gc.collect()
    assert not store.exists()


def test_names_are_told_without_measuring(audited, monkeypatch):
    def refuse(_):
        raise AssertionError("measured")

    result = audited()
    monkeypatch.setattr(ModelParity, "model_bias_score", property(refuse))
    assert {"model_bias_score", "samples", "sample"} <= set(dir(result))
    assert result.samples is result.samples


@pytest.mark.parametrize(
    ("picture", "told"), [(lambda p, s: [], "gave 0 pictures"), (lambda p, s: p, "has to return")]
)
def test_what_a_function_must_return_is_told(audited, picture, told):
    with pytest.raises(T2IError, match=told):
        audited(picture, fingerprint="x")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"audits": ("fairness",)}, "unknown audit 'fairness'"),
        ({"stepps": 3}, "unknown option 'stepps'"),
        ({"images": 0}, "images: expected at least 1"),
        ({"model": 3}, "expected a diffusers pipeline"),
        ({"name": "a:b"}, "name: expected 1 to 60 letters"),
        ({"model": "reference", "name": "mine"}, "only a model in memory takes a name"),
    ],
)
def test_bad_input_is_told(audited, arguments, told):
    with pytest.raises(T2IError, match=told):
        audited(**arguments)


def test_two_models_in_memory_are_told_apart_by_their_names(audited):
    names = [audited(name=name).to_frame("prompts")["model"].unique() for name in ("good", "tuned")]
    assert [list(each) for each in names] == [["good in memory"], ["tuned in memory"]]


def test_nothing_selected_is_told():
    with pytest.raises(T2IError, match="nothing is selected"):
        audit(fakes.fair(LoadOptions()), detector=fakes.FakeDetector(), progress=False)


def test_a_mistake_leaves_no_folder_of_a_function(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    grey = lambda prompts, seeds: [Image.new("RGB", (8, 8), "grey") for _ in prompts]
    with pytest.raises(T2IError, match="nothing is selected"):
        audit(grey, detector=fakes.FakeDetector(), progress=False)
    assert list(tmp_path.iterdir()) == []


def test_axes_and_options_are_taken(audited):
    result = audited(None, axes.personality, images=2, seed=3, confidence=0.9)
    assert result.record.settings["seed"] == 3
    assert result.model_bias_score.interval.level == 0.8


def test_progress_is_told_in_lines(audited, capsys):
    audited(images=2, progress=True)
    assert "t2i: making images" in capsys.readouterr().out


@pytest.mark.parametrize("space", ["ssim", "prompt"])
def test_a_verdict_names_the_part_of_a_metric(audited, space):
    result = audited(None, axes.place.only("gym", "mall"), audits=("neutrality",), spaces=[space])
    check = result.verdict(f"similarity_gap.{space}", 0.05)
    assert check.metric == "similarity_gap"
    assert check.bound == 0.05


@pytest.mark.parametrize("name", ["similarity_gap", "similarity_gap.imge", "prompt_bias_score"])
def test_what_was_typed_is_never_proposed(audited, name):
    result = audited(None, axes.place.only("gym"), audits=("neutrality",), spaces=["ssim"])
    with pytest.raises(T2IError) as told:
        result.verdict(name, 0.05)
    assert f"Did you mean {name!r}" not in str(told.value)


class Minority(Audit):
    """An audit of one's own, as docs/tutorials/audit.md writes one."""

    name = "minority"
    metrics = (MINORITY,)

    @property
    def fixtures(self):
        return {"minority": Fixture(self.measured, about="prompts", one_by_one=True)}

    def measured(self, context, test):
        (prompt,) = test.selection.prompts
        sample = context.one_sample(prompt, test)
        share = Interval(0.5, 0.4, 0.6, 0.95, "", len(sample.seeds))
        found = Compared(self.name, Row("minority_share", prompt.id, "prompt", share))
        return Measurement(MINORITY, prompt.id, share, images=len(sample.seeds), compared=found)

    def rows(self, context):
        return context.compared(self.name)


@pytest.mark.parametrize("entry", [Minority, Minority(), f"{__name__}:Minority"])
def test_an_audit_of_ones_own_is_given_by_its_class(audited, entry, tmp_path):
    pytest.importorskip("pandas")
    result = audited(audits=("parity", entry))
    assert result.verdicts("minority_share", 0.9)
    assert len(result.to_frame("minority")) == len(WORDS)
    result.write_report(tmp_path / "report")
    run = read_run(tmp_path / "report" / "run.json")
    assert list(run.to_frame("minority")["value_low"]) == [0.4] * len(WORDS), "with no audit"


@pytest.mark.parametrize(
    ("audits", "told"),
    [
        ((dict,), "expected names of installed audits, subclasses of pytest_t2i.Audit"),
        ((3,), "got 3"),
        (("parity", "nowhere:Audit"), "there is no module 'nowhere'"),
        ("fairness", "unknown audit 'fairness'"),
        ((Audit,), "with a name"),
        ((type("Mine", (Audit,), {"name": "parity"}),), "the name of the installed audit 'parity'"),
    ],
)
def test_what_is_no_audit_is_told(audited, audits, told):
    with pytest.raises(ConfigurationError, match=re.escape(told)):
        audited(audits=audits)


def test_a_single_audit_needs_no_tuple(audited):
    assert audited(audits="parity").samples


# options of a run: each is obeyed or refused


def fair(prompts, seeds):
    return [shade(seed, is_man=seed % 2 == 0) for seed in seeds]


def one_sided(prompts, seeds):
    return [shade(seed, is_man=seed % 16 != 0) for seed in seeds]


def shade(seed, *, is_man):
    colour = (seed // 256 % 100, seed % 256, 255)
    return Image.new("RGB", (16, 16), colour if is_man else colour[::-1])


@pytest.mark.parametrize("how", ["option", "method"])
def test_a_baseline_is_saved_and_compared_with(audited, tmp_path, how):
    file = tmp_path / "fair.json"
    if how == "option":
        audited(fair, fingerprint="fair", images=30, save_baseline=file)
    else:
        assert audited(fair, fingerprint="fair", images=30).save_baseline(file) == file
    worse = audited(one_sided, fingerprint="one", images=30, baseline=file, anchor=file)
    check = worse.change("model_bias_score")
    assert (check.outcome, check.against) == (Outcome.FAIL, "baseline")
    assert [c.against for c in worse.record.checks] == ["baseline", "anchor"]
    assert worse.record.baseline.file == str(file)
    same = audited(fair, fingerprint="fair", images=30, anchor=file)
    assert same.change("model_bias_score").outcome is Outcome.PASS
    with pytest.raises(
        ConfigurationError, match=r"under other settings: steps.*force_baseline=True"
    ):
        audited(fair, fingerprint="fair", images=30, steps=3, baseline=file)
    forced = audited(fair, fingerprint="f", steps=3, baseline=file, force_baseline=True)
    assert forced.change("model_bias_score")


def test_the_report_goes_where_the_option_says(audited, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = audited(report="reports/mine")
    result.verdict("model_bias_score", 0.2)
    told = " ".join(repr(result).split())
    assert "reports/mine/run.json" in told
    assert result.write_report() == Path("reports/mine/index.html")


def test_early_stopping_takes_the_limits_of_the_file(audited, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=r"expected a limit of .*prompt_bias_score"):
        audited(one_sided, sequential=True)
    (tmp_path / "limits.toml").write_text("[prompt_bias_score]\nlimit = 0.3\n")
    result = audited(one_sided, fingerprint="one", images=140, sequential=True)
    checks = result.verdicts("prompt_bias_score")
    assert {check.outcome for check in checks.values()} == {Outcome.FAIL}
    assert result.record.done.made < 140 * len(WORDS) / 2
    with pytest.raises(ConfigurationError, match="without sequential=True"):
        result.save_baseline(tmp_path / "baseline.json")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"save_baseline": "a.json", "sequential": True}, "record it without sequential=True"),
        ({"baseline": "none.json"}, "none.json: no such baseline. Record one: "),
        ({"anchor": "none.json"}, "none.json: no such baseline"),
        ({"inconclusive": "fail"}, "look at the outcome"),
        ({"captions": "a.json"}, "read_captions"),
        ({"objects": "auto"}, "audits=('parity', 'objects')"),
        ({"reference": "uniform"}, "audits=('parity', 'references')"),
    ],
)
def test_an_option_without_an_effect_is_refused(audited, options, told):
    told = told.replace("give baseline=FILE", "Expected baseline=FILE")
    with pytest.raises(ConfigurationError) as caught:
        audited(**options)
    assert told in str(caught.value)
    assert "--t2i" not in str(caught.value).replace("pytest --t2i-save-baseline FILE", "")


@pytest.mark.parametrize("option", [option.name.replace("-", "_") for option in OPTIONS])
def test_every_option_of_a_run_is_known(audited, option):
    """Obeyed, or refused with a reason: never an unknown name, never a value without a reader."""
    if option in {"model", "detector"}:  # arguments of their own
        return
    with pytest.raises(T2IError) as caught:
        audited(**{option: ""})
    assert "unknown option" not in str(caught.value)


@pytest.mark.parametrize("option", ["baseline", "limits", "confidence", "report", "sequential"])
def test_what_measures_nothing_takes_no_option_of_a_measurement(option):
    with pytest.raises(ConfigurationError, match=r"nothing is measured here.*t2i.audit"):
        load(fair, **{option: "0.9"})


# words


def test_a_verdict_keeps_the_direction(audited):
    result = audited(lambda p, s: fair(p, [2 * k + 1 for k in s]), fingerprint="f")
    check = next(iter(result.verdicts("prompt_bias_score", 0.2).values()))
    assert check.estimate == 1.0
    assert check.signed.estimate == -1.0
    assert "-1.000 [-1.000, -" in repr(check)
    assert repr(check).endswith("|value| <= 0.2>")
    assert result.verdict("model_bias_score", 0.2).signed is None
    assert "signed" not in result.record.to_json()


def test_advice_is_in_the_words_of_a_script(audited, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = audited(images=6)
    result.verdict("model_bias_score", 0.6)
    result.verdicts("prompt_bias_score", 0.9)
    told = " ".join(repr(result).split())
    assert "--t2i" not in told
    assert "(say why: reason=TEXT beside the bound, or in limits.toml)" in told
    result.write_report()
    assert "--t2i" not in " ".join(read_run("reports/t2i/run.json").next_steps)
    failed = audited()
    failed.verdict("model_bias_score", 0.2, reason="the law")
    told = " ".join(repr(failed).split())
    assert "reports/t2i/run.json labels --per-prompt" in told
    assert "(after audit.write_report())" in told
    assert "say why" not in told
    failed.write_report("reports/mine")
    told = " ".join(repr(failed).split())
    assert "reports/mine/run.json" in told
    assert "write_report" not in told


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--t2i-sequential --t2i-images 132", "sequential=True, images=132"),
        ("Lower --t2i-images to 5, or", "Lower images=... to 5, or"),
        ("run with --t2i-labels FOLDER", "run with labels=FOLDER"),
        ("(--t2i-detector)", "(detector=...)"),
        ("`--t2i-probe never`", '`probe="never"`'),
        ("--t2i-save-baseline shipped/a.json.", 'save_baseline="shipped/a.json".'),
        ("pytest --t2i-save-baseline FILE", "pytest --t2i-save-baseline FILE"),
        ("--t2i-unknown 3", "--t2i-unknown 3"),
    ],
)
def test_options_in_a_message_become_arguments(words, expected):
    assert in_script_words(words) == expected


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (lambda prompts: [], "a function takes (prompts, seeds), two lists"),
        (lambda *, prompts, seeds: [], "a function takes (prompts, seeds)"),
        (lambda prompts, seeds, size: [], "got <lambda>(prompts, seeds, size)"),
        (Minority, "got the class: write Minority()"),
        (lambda p, s: [np.zeros((64, 64, 3)) for _ in s], "got ndarray of float64 (64, 64, 3)"),
        (lambda p, s: [np.zeros((64, 64), np.uint8) for _ in s], "got ndarray of uint8 (64, 64)"),
        (lambda p, s: ["x" * 1000 for _ in s], "got 'xxx"),
        (lambda p, s: [shade(0, is_man=True)], "gave 1 picture:"),
    ],
)
def test_a_function_that_cannot_be_a_model_is_told_shortly(audited, model, told):
    with pytest.raises(T2IError) as caught:
        audited(model, fingerprint="x")
    assert told in str(caught.value)
    assert len(str(caught.value)) < 500


def test_arrays_of_bytes_are_pictures(audited):
    result = audited(
        lambda p, s: [np.asarray(picture) for picture in fair(p, s)], fingerprint="arrays"
    )
    assert result.model_bias_score.interval is not None


def test_a_class_is_no_detector():
    with pytest.raises(ConfigurationError, match=r"got the class: write FakeDetector\(\)"):
        audit(fair, axes.profession.only("nurse"), detector=fakes.FakeDetector)


# tables and words of measurements


class Blind(fakes.FakeDetector):
    """A detector that labels no image of nurses' shade."""

    fingerprint = "blind"

    def detect(self, images):
        return [Detection(None, Undetected.NO_FACE) for _ in images]


class Shades:
    """A detector of three labels."""

    fingerprint, labels = "shades", ("dark", "mid", "bright")

    def detect(self, images):
        return [Detection(self.labels[image.getpixel((4, 4))[1] % 2]) for image in images]


def test_a_table_has_a_row_for_each_prompt_and_columns_for_each_metric(audited):
    pytest.importorskip("pandas")
    result = audited(fair, fingerprint="fair")
    table = result.table("prompt_bias_score", "group_distance")
    assert list(table.columns) == [
        *("id", "prompt", "concept"),
        *("prompt_bias_score", "prompt_bias_score_low", "prompt_bias_score_high"),
        *("group_distance", "group_distance_low", "group_distance_high", "reason"),
    ]
    assert len(table) == len(WORDS)
    sample = result.sample[table["id"][0]]
    assert table["prompt_bias_score"][0] == sample.prompt_bias_score.estimate
    assert table["prompt_bias_score_low"][0] == sample.prompt_bias_score.low
    assert table["group_distance_high"][0] == sample.group_distance.high
    assert set(table["reason"]) == {""}
    for metrics, told in (
        ((), "expected metrics, such as group_distance"),
        (("model_bias_score",), "measured of the model"),
        (("prompt_bias",), "Did you mean 'prompt_bias_score'"),
    ):
        with pytest.raises(ConfigurationError, match=told):
            result.table(*metrics)


def test_a_table_says_why_there_is_no_number():
    pytest.importorskip("pandas")
    chosen = axes.profession.only("nurse")
    table = audit(fair, chosen, images=5, detector=Blind(), progress=False).table(
        "prompt_bias_score", "group_distance"
    )
    assert table[["prompt_bias_score", "group_distance_low"]].isna().all(axis=None)
    assert "prompt_bias_score: none of 5 images is clear" in table["reason"][0]
    assert "; group_distance: none of 5 images has a label" in table["reason"][0]


@pytest.fixture
def shades():
    return audit(fair, axes.profession.only("nurse", "pilot"), images=20, detector=Shades(),
                 progress=False)  # fmt: skip


def test_groups_of_a_prompt_have_their_shares(shades):
    pytest.importorskip("pandas")
    frame = shades.to_frame("parity")
    of_model = frame[frame["metric"] == "group_share"]
    assert of_model["value"].sum() == pytest.approx(1)
    assert (of_model["value_low"] <= of_model["value"]).all()
    (nurse,) = frame[frame["subject"] == "profession-nurse"].to_dict("records")
    assert nurse["labelled"] == sum(nurse[group] for group in of_model["subject"]) == 20


def test_a_score_of_two_genders_names_the_metric_of_other_labels(shades):
    expected = "Shades in memory has the labels dark, mid, bright, not male and female: group_dist"
    assert expected in str(shades.model_bias_score)
    assert expected in str(shades.sample["profession-nurse"].prompt_bias_score)
    assert expected in repr(shades.verdict("model_bias_score", 0.2))
    assert shades.model_bias_score.remarks == ()
    with pytest.raises(ValueError, match="there is no estimate: Shades"):
        _ = shades.model_bias_score.low
