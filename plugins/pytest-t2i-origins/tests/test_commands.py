"""The commands are one group."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
from pytest_t2i.cli.main import INTERRUPTED, main

COMMAND = """
import signal, sys
from pytest_t2i.cli.main import main

# A shell starts background jobs with the signal ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(sys.argv[1:]))
"""
IMPATIENT = """
import os, signal
from PIL import Image
from pytest_t2i import Generated


class Model:
    fingerprint = "impatient"
    made = 0

    def generate(self, requests):
        for request in requests:
            # By then all is imported: some libraries swallow what an import raises.
            if Model.made == 40 and not os.path.exists("again"):
                open("again", "w").close()
                os.kill(os.getpid(), signal.SIGINT)
            Model.made += 1
            yield Generated(Image.new("RGB", (8, 8), (200, 60, request.seed % 255)))


def model(options):
    return Model()
"""
STOP = [
    "research", "stop", "--model", "impatient:model", "--detector", "clip:reference",
    "--concept", "Iranian person", "--llm", "reference-lm", "--images", "300", "--batch", "2",
]  # fmt: skip
NAMES = ("candidates", "sentences", "stop")


def command(name):
    return importlib.import_module(f"pytest_t2i_origins.commands.{name}")


def test_research_alone_lists_them(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["research"])
    lines = capsys.readouterr().out.partition("COMMAND\n")[2].splitlines()
    assert {line.split()[0] for line in lines} >= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_ctrl_c_says_what_is_kept(name, monkeypatch, capsys):
    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command(name), "add_arguments", lambda parser: None)
    monkeypatch.setattr(command(name), "run", interrupted)
    assert main(["research", name]) == INTERRUPTED
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("t2i: interrupted. ")
    assert "kept" in last


@pytest.mark.slow
def test_a_signal_in_the_middle_of_images(tmp_path):
    (tmp_path / "impatient.py").write_text(IMPATIENT)
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *STOP],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == INTERRUPTED, done.stderr
    assert "Traceback" not in done.stderr
    assert "Finished images are kept" in done.stderr.splitlines()[-1]
