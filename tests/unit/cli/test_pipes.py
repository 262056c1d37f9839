"""t2i in a pipe whose reader has seen enough."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

COMMAND = "import sys; from pytest_t2i.cli.main import main; sys.exit(main(sys.argv[1:]))"
# As Python writes to a pipe unless told otherwise: at its end.
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


@pytest.mark.parametrize("kind", ["axes", "models"])
def test_a_list_survives_a_closed_pipe(kind):
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, "list", kind],
            stdout=write, stderr=subprocess.PIPE, text=True, check=False, env=BUFFERED,
        )  # fmt: skip
    finally:
        os.close(write)
    assert done.stderr == ""
    assert done.returncode == 0


def test_axes_are_listed_with_their_words():
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "list", "axes"], capture_output=True, text=True, check=True
    )
    first = done.stdout.splitlines()[0]
    assert first.startswith("profession: 40 concepts: postman, programmer, taxi driver, ")
    assert first.endswith(", housekeeper")
