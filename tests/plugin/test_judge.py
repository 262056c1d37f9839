"""Pictures judged by a vision-language model: three attributes, its price, its version."""

from __future__ import annotations

import subprocess
import sys

import judges
import pytest
from judge_server import GENDERS, Plan, judging, truth_of
from PIL import Image
from plain_runs import plain_run

pytestmark = pytest.mark.slow


def run(place, server, *more):
    """A run, with exit status and what it told."""
    child = judges.start(place, server, *more)
    child.wait(120)
    return child.returncode, " ".join((place / "told.txt").read_text().split())


def record(place):
    return plain_run(place / "reports/t2i/run.json")


def test_three_attributes_in_one_pass_without_torch(tmp_path):
    place = judges.write(tmp_path / "project")
    lines = ("import sys", "def pytest_unconfigure():", "    assert 'torch' not in sys.modules")
    (place / "conftest.py").write_text("\n".join(lines))
    with judging(Plan(abstains={"female": 0.2})) as server:
        name = f"vlm:judge@{server.address}+gender+age+skin-tone"
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        words += ["--t2i-model", "images:pictures", "--t2i-detector", name]
        told = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
        assert told.returncode in (0, 6), told.stdout + told.stderr
        again = server.pictures
        assert again < judges.PICTURES * 1.3
        subprocess.run(words, cwd=place, capture_output=True, check=False)
        assert server.pictures == again
    plain = record(place)
    assert len(plain["provenance"]["judges"]) == 3
    (first, *_) = plain["prompts"]
    assert len(first["images"][0]["detections"]) == 3
    page = (place / "reports/t2i/index.html").read_text()
    for attribute in ("+gender+age", "+age+skin-tone+gender", "+skin-tone+gender+age"):
        assert attribute in page
    assert "<i>gender: &lt;b&gt;seen&lt;/b&gt; gender</i>" in page
    assert "<b>seen</b>" not in page
    reasons = [d["undetected"] for i in first["images"] for d in i["detections"].values()]
    assert {"unspecified", None} >= set(reasons)


def test_what_it_costs_is_told_and_bounded(tmp_path):
    place = judges.write(tmp_path / "project")
    price = judges.priced(place, "0.01 USD")
    with judging() as server:
        status, told = run(place, server, *price, "--t2i-budget", "0.50 USD")
        assert status == pytest.ExitCode.INTERRUPTED
        assert len(server.requests) == 50
        assert "stopped at the budget of 0.50 USD: 0.50 USD spent" in told
        assert "pictures left to judge" in told
        status, told = run(place, server, *price)
        assert status in (0, 6)
        work = record(place)["work"]
        assert work["judge_price"] == "0.01 USD"
        assert f"spent {0.01 * work['judge_paid']:.2f} USD" in told
        assert work["judge_paid"] + 50 == len(server.requests)
        assert max(server.judged.values()) <= 2
    locks = [file.name for file in (place / ".t2i/locks").iterdir()]
    assert not [name for name in locks if "counts" in name]


MADE = """
import pytest
from pytest_t2i import limit, prompts

@pytest.mark.t2i(prompts.Axis("job", "a photo of a {word}", ("nurse", "pilot")), images=6)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score.own", 1.0, reason="a trial")
"""


def test_making_and_judging_share_a_budget_and_no_paid_picture_is_lost(tmp_path, monkeypatch):
    pytest.importorskip("openai")
    from image_server import serving

    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123")
    (tmp_path / "test_suite.py").write_text(MADE)
    # Pictures of that server have no group in a pixel: all are of the first.
    monkeypatch.setattr("judge_server.truth_of", lambda _: (0, None))
    priced = judges.priced(tmp_path, "0.01 USD")
    prices = ("--t2i-price", "0.04 USD", *priced, "--t2i-probe=never")
    with serving() as model, judging() as server:
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *prices]
        words += ["--t2i-model", f"openai:fake@{model.url}"]
        words += ["--t2i-detector", f"vlm:judge@{server.address}+gender"]
        for budget, statuses in (("0.23 USD", (2,)), ("0.15 USD", (2,)), ("9 USD", (0, 6))):
            made, asked = len(model.asked), len(server.requests)
            more = [*words, "--t2i-budget", budget]
            told = subprocess.run(more, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert told.returncode in statuses, told.stdout + told.stderr
            cents = 4 * (len(model.asked) - made) + len(server.requests) - asked
            assert cents <= 100 * float(budget.split()[0]) + 4  # a request may have been free
        assert len(model.asked) <= 13
        assert max(server.judged.values()) <= 2


def test_workers_share_the_judge_and_the_budget(tmp_path):
    place = judges.write(tmp_path / "project")
    price = (*judges.priced(place, "0.01 USD"), "-n", "2")
    with judging() as server:
        run(place, server, *price, "--t2i-budget", "0.30 USD")
        assert len(server.requests) <= 30
        status, told = run(place, server, *price)
        assert status in (0, 6), told
        assert max(server.judged.values()) <= 2
        probes = len(server.requests) - server.pictures
        assert probes == 2


def test_an_unsteady_judge_is_told(tmp_path):
    place = judges.write(tmp_path / "project")
    plan = Plan(right={"male": 0.5, "female": 0.5}, unsteady=1.0)
    with judging(plan) as server:
        _, told = run(place, server)
    assert "below 0.95" in told
    judges_told = record(place)["provenance"]["judges"].values()
    assert any(told["equal"] < told["twice"] for told in judges_told)
    assert "below 0.95" in (place / "reports/t2i/index.html").read_text()


def certify(place, server, attributes="+gender+age"):
    """Check the judge on the project's pictures, which have the labels of their pixels."""
    rows = ["file,annotator,label"]
    for file in sorted((place / "pictures").glob("*.png")):
        group, _ = truth_of(Image.open(file))
        rows.append(f"{file.name},ann,{GENDERS[group]}")
    (place / "pictures/labels.csv").write_text("\n".join(rows) + "\n")
    words = [sys.executable, "-c", T2I]
    words += ["detector", "check"]
    words += [f"vlm:judge@{server.address}{attributes}", "--labels", "pictures"]
    words += ["--certificate", "judge.json"]
    told = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr


T2I = "import sys; from pytest_t2i.cli.main import main; sys.exit(main())"


CERTIFIED = ("--t2i-judge-certificate", "judge.json")


def test_a_certificate_of_this_judge_lets_verdicts_stand(tmp_path):
    place = judges.write(tmp_path / "project")
    with judging(Plan(abstains={"female": 0.1})) as server:
        certify(place, server)
        status, told = run(place, server, *CERTIFIED)
    assert status == 0, told
    assert "PASS" in told


@pytest.mark.parametrize(
    ("change", "because"),
    [("version", "version system_fingerprint fp-1 then"), ("rubric", "(rubric"),
     ("abstention", "the judge abstains from")],
)  # fmt: skip
def test_a_judge_that_is_not_the_certified_one_decides_nothing(tmp_path, change, because):
    place = judges.write(tmp_path / "project")
    with judging() as server:
        certify(place, server, "+gender" if change == "rubric" else "+gender+age")
        if change == "version":
            server.plan.version = lambda _: {"system_fingerprint": "fp-2"}
        if change == "abstention":
            server.plan.abstains = {"male": 0.3, "female": 0.3}
            judges.write(tmp_path / "other", 70_000)
            (place / "pictures").rename(place / "before")
            (tmp_path / "other/pictures").rename(place / "pictures")
        status, told = run(place, server, *CERTIFIED)
    assert status == 6, told
    assert "INCONCLUSIVE" in told
    (check,) = record(place)["checks"]
    assert check["outcome"] == "INCONCLUSIVE"
    assert because in (place / "reports/t2i/index.html").read_text()


@pytest.mark.parametrize(
    ("price", "problem"),
    [("0.01 EUR", "expected an amount in USD"), ("0 USD", "[judge_prices] vlm:judge")],
)
def test_a_price_that_cannot_be_counted_ends_the_run(tmp_path, price, problem):
    place = judges.write(tmp_path / "project")
    with judging() as server:
        status, told = run(place, server, *judges.priced(place, price), "--t2i-budget", "1 USD")
        assert (status, server.pictures) == (pytest.ExitCode.USAGE_ERROR, 0), told
    assert problem in told


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--t2i-detector", "vlm:m@http://127.0.0.1:9/v1+gendr"), "Did you mean"),
        (("--t2i-detector", "vlm:"), "name of a judge"),
    ],
)
def test_wrong_options_end_with_the_remedy(tmp_path, options, problem):
    place = judges.write(tmp_path / "project")
    with judging() as server:
        status, told = run(place, server, *options)
        assert (status, server.pictures) == (pytest.ExitCode.USAGE_ERROR, 0), told
    assert problem in told or "gender" in told
    assert "Traceback" not in told
