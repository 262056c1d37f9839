"""Some suites take more than images (a language model, passes beyond theirs), or very many.

Others ask what few models are asked, of prompts or by detectors of their own.
They run when they are named, ``pytest suites/emergence``, and not with ``pytest suites``.
"""

from pathlib import Path

import pytest

NAMED_ONLY = ("crowds", "emergence", "explicit", "groups", "languages", "origins", "skin-tone")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if collection_path.name not in NAMED_ONLY:
        return None
    asked = [Path(argument.partition("::")[0]).absolute() for argument in config.args]
    return None if any(path.is_relative_to(collection_path) for path in asked) else True
