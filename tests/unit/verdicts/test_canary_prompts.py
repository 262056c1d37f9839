"""Canary prompts: read as written, and what else stands in their place is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_t2i.errors import FileFormatError
from pytest_t2i.verdicts.canary_prompts import (
    SIDE,
    CanaryPicture,
    CanaryPrompt,
    as_plain,
    read_canary,
)

FILE = Path("base.json")
COLOURS = bytes(range(3 * SIDE * SIDE))
PROMPT = CanaryPrompt("a nurse", 7, (CanaryPicture(COLOURS, 1), CanaryPicture(None, 0)))


def test_they_are_read_as_written():
    assert read_canary(FILE, as_plain([PROMPT])) == (PROMPT,)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("thumbnails", ["AAAA", None], "8 x 8 pixels"),
        ("thumbnails", ["no base64!", None], "8 x 8 pixels"),
        ("thumbnails", [None], "2 thumbnails"),
        ("signs", [0, 2], "signs of -1, 0 or 1"),
        ("seed", -1, "at least 0"),
    ],
)
def test_what_is_no_canary_is_named(field, value, message):
    (plain,) = as_plain([PROMPT])
    with pytest.raises(FileFormatError, match=message) as told:
        read_canary(FILE, [plain, plain | {field: value}])
    assert "canary 2" in str(told.value)
