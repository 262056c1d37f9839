"""Every public name is known to type checkers and to the pages of the interface, too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest_t2i

TYPED_OTHERWISE = {"Sample", "Samples"}
"""Their typed classes have what audits add to them."""


def test_every_public_name_stands_in_the_typed_part():
    text = Path(pytest_t2i.__file__).read_text("utf-8")
    typed = set(re.findall(r"import (\w+) as \1\b", text))
    assert set(pytest_t2i._NAMES) - typed == TYPED_OTHERWISE
