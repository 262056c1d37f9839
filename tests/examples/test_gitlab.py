"""The GitLab example: valid by GitLab's own schema, and its note is written once and kept."""

from __future__ import annotations

import json
import runpy
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "gate-in-ci"
OTHERS = [{"id": k, "body": "looks good"} for k in range(100)]


@pytest.fixture(scope="module")
def recipe():
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((EXAMPLE / ".gitlab-ci.yml").read_text())


def test_the_recipe_is_valid_by_gitlabs_schema(recipe):
    jsonschema = pytest.importorskip("jsonschema")
    package = pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    file = Path(package.__file__).parent / "builtin_schemas/vendor/gitlab-ci.json"
    validator = jsonschema.Draft7Validator(json.loads(file.read_text()))
    assert [error.message for error in validator.iter_errors(recipe)] == []
    broken = {**recipe, "fairness": {**recipe["fairness"], "artifacts": {"when": "sometimes"}}}
    assert list(validator.iter_errors(broken))


def test_the_recipe_keeps_the_report_and_runs_what_there_is(recipe):
    job = recipe["fairness"]
    assert job["artifacts"]["when"] == "always"
    assert job["artifacts"]["paths"] == ["reports/t2i/"]
    assert job["after_script"] == ["python note.py reports/t2i"]
    words = " ".join(job["script"]).split()
    assert {"test_release.py", "baselines/shipped.json"} <= set(words)
    assert job["artifacts"]["reports"]["junit"] == words[words.index("--junitxml") + 1]


class GitLab:
    """As much of its API as a note needs."""

    def __init__(self, notes):
        self.notes, self.asked = notes, []
        gitlab = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                page = int(self.path.partition("&page=")[2])
                self.answer(gitlab.notes[100 * (page - 1) : 100 * page])

            def do_POST(self):
                size = int(self.headers["Content-Length"])
                text = json.loads(self.rfile.read(size))["body"]
                gitlab.asked.append((self.command, self.path, text))
                if self.command == "POST":
                    gitlab.notes.append({"id": 1000, "body": text})
                self.answer({"id": 1000})

            do_PUT = do_POST  # noqa: N815 - the server's name for it

            def answer(self, value):
                assert self.headers["PRIVATE-TOKEN"] == "secret"
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(value).encode())

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}/api/v4"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(10)


@pytest.fixture
def gitlab(monkeypatch, tmp_path):
    made = GitLab(list(OTHERS))
    given = {"CI_API_V4_URL": made.url, "CI_PROJECT_ID": "7", "CI_MERGE_REQUEST_IID": "3",
             "FAIRNESS_TOKEN": "secret"}  # fmt: skip
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "summary.md").write_text("## FAIL: ünfair\n")
    yield made
    made.close()


def write(folder):
    runpy.run_path(str(EXAMPLE / "note.py"))["main"](str(folder))


def test_the_summary_is_one_note_that_is_kept_up_to_date(gitlab, tmp_path):
    write(tmp_path)
    (tmp_path / "summary.md").write_text("## PASS\n")
    write(tmp_path)
    notes = "/api/v4/projects/7/merge_requests/3/notes"
    assert gitlab.asked == [
        ("POST", notes, "<!-- pytest-t2i -->\n## FAIL: ünfair\n"),
        ("PUT", f"{notes}/1000", "<!-- pytest-t2i -->\n## PASS\n"),
    ]


@pytest.mark.parametrize("absent", ["FAIRNESS_TOKEN", "CI_MERGE_REQUEST_IID", "summary.md"])
@pytest.mark.slow
def test_without_token_request_or_summary_nothing_is_written(gitlab, tmp_path, monkeypatch, absent):
    if absent == "summary.md":
        (tmp_path / absent).unlink()
    else:
        monkeypatch.delenv(absent)
    write(tmp_path)
    assert gitlab.asked == []
