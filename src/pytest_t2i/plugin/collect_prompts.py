"""Plugin of ``t2i list prompts``: writes the prompts that collected tests need; runs no test.

``pytest -p pytest_t2i.plugin.collect_prompts --collect-only --t2i-prompts-to FILE``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_t2i.data import Prompt
from pytest_t2i.plugin import options
from pytest_t2i.plugin.marker import selection_of
from pytest_t2i.runs.prompt_ids import tagged, tags_of


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the option that names the file to write."""
    parser.addoption("--t2i-prompts-to", type=Path, required=True, help="a file of JSON")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Write id, text and number of images of every prompt, in the order of the tests."""
    prompts: dict[str, Prompt] = {}
    images: dict[str, int] = {}
    for prompt, count in _wanted(session):
        prompts.setdefault(prompt.text, prompt)
        images[prompt.text] = max(count, images.get(prompt.text, 0))
    tags = tags_of(prompts.values())
    rows = [[tagged(prompt, tags).id, text, images[text]] for text, prompt in prompts.items()]
    file: Any = session.config.getoption("t2i_prompts_to")
    file.write_text(json.dumps(rows), encoding="utf-8")


def _wanted(session: pytest.Session) -> Iterator[tuple[Prompt, int]]:
    most = options.resolve(session.config).images
    for item in session.items:
        if item.get_closest_marker("t2i") and isinstance(item, pytest.Function):
            selection = selection_of(item)
            for prompt in selection.all_prompts:
                yield prompt, selection.images(most)
