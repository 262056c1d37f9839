"""The suites of this repository: which of them run unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

SUITES = Path(__file__).parents[2] / "suites"


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ((), {"parity", "stereotypes", "variety"}),
        (("emergence",), {"emergence"}),
        (("groups", "explicit"), {"groups", "explicit"}),
        (("languages", "skin-tone"), {"languages", "skin-tone"}),
        (("origins/test_origins.py", "parity"), {"origins", "parity"}),
    ],
)
def test_what_costs_more_than_images_runs_when_it_is_named(pytester, named, expected):
    paths = [str(SUITES / name) for name in named] or [str(SUITES)]
    result = pytester.runpytest_inprocess("--collect-only", "-q", "--rootdir", str(SUITES), *paths)
    collected = {line.split("/")[0] for line in result.outlines if "::" in line}
    assert expected <= collected
    assert not {"emergence", "explicit", "groups", "languages", "origins", "skin-tone"} & (
        collected - expected
    )
