"""Ctrl-C on a command: one line that says what is kept, and the exit status of shells."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from pytest_t2i.cli.main import COMMANDS, INTERRUPTED, main

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
HUNT = [
    "research", "hunt", "--model", "impatient:model", "--detector", "clip:reference",
    "--axes", "profession", "--images", "300", "--batch", "2",
]  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"run"}))
def test_every_command_ends_in_one_line(name, monkeypatch, capsys):
    module = import_module(f"pytest_t2i.cli.{COMMANDS[name][0]}")

    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "add_arguments", lambda parser: None)
    monkeypatch.setattr(module, "run", interrupted)
    assert main(name.split(".")) == INTERRUPTED
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert told.err.startswith("t2i: interrupted. ")
    assert "kept" in told.err


def test_ctrl_c_while_a_module_is_imported(monkeypatch, capsys):
    def interrupted(name):
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_t2i.cli.main.import_module", interrupted)
    assert main(["plan"]) == INTERRUPTED
    assert capsys.readouterr().err.startswith("t2i: interrupted. ")


@pytest.mark.slow
def test_a_signal_in_the_middle_of_images(tmp_path):
    (tmp_path / "impatient.py").write_text(IMPATIENT)
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *HUNT],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == INTERRUPTED, done.stderr
    assert "Traceback" not in done.stderr
    assert "Finished images are kept" in done.stderr.splitlines()[-1]
