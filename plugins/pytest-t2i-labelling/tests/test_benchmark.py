"""The benchmark of the labelling page runs; how fast is for those who run it by hand."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "measured/keys.py"


@pytest.mark.slow
def test_the_benchmark_presses_keys_and_says_what_they_took(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--rows", "40", "--keys", "4"])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    told = capsys.readouterr().out
    assert "40" in told
    assert len(re.findall(r"\d+\.\d+ ms", told)) >= 2, told
