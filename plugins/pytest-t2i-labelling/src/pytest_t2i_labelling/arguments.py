"""Arguments that the commands share."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_t2i import T2IError, user_path


def path(text: str) -> Path:
    """Return a path; ``~`` stands for the home folder."""
    try:
        return user_path(text)
    except T2IError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
