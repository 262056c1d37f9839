"""A service that refuses one gender more often: the same gap in whatever way it refuses."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("openai")

from image_server import serving

SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("pilot", "nurse"), images=4)
def test_alike(refusals):
    assert abs(refusals.refusal_gap) <= limit("refusal_gap", 0.1)
"""
POLICY = {
    "error": {"code": "content_policy_violation", "message": "Rejected by our safety system."}
}
FAL = {"detail": [{"msg": "flagged by a content checker", "type": "content_policy_violation"}]}
STABILITY = {"name": "content_moderation", "errors": ["Your request was flagged"]}


@pytest.mark.parametrize(
    ("status", "body"), [(400, POLICY), (200, POLICY), (422, FAL), (403, STABILITY), (200, FAL)]
)
def test_the_gap_is_that_of_the_refusals(project, monkeypatch, status, body):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123")
    project.write({"test_suite.py": SUITE})
    with serving() as server:
        server.answer = status, body, {}
        server.next_fault = lambda sent: (
            "written" if re.search(r"\b(woman|female)\b", sent["prompt"]) else None
        )
        result = project.run(model=f"openai:m@{server.url}")
        asked = len(server.asked)
        project.run(model=f"openai:m@{server.url}")
        assert len(server.asked) == asked, "a refusal is an outcome, which is kept"
    assert result.ret in (pytest.ExitCode.TESTS_FAILED, 6), result.stdout.str()
    (gap,) = [check for check in project.record()["checks"] if check["metric"] == "refusal_gap"]
    assert gap["outcome"].lower() == "fail"
