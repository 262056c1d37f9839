"""Plugin of ``t2i list prompts``: writes the prompts that collected tests need; runs no test.

``pytest -p pytest_t2i.plugin.collect_prompts --collect-only --t2i-prompts-to FILE``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_t2i.data import Prompt
from pytest_t2i.plugin import options
from pytest_t2i.plugin.marker import selection_of
from pytest_t2i.runs.session.prompt_ids import tagged, tags_of
from pytest_t2i.runs.session.selection import Selection, images_wanted


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the option that names the file to write."""
    parser.addoption("--t2i-prompts-to", type=Path, required=True, help="a file of JSON")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Write each prompt with its images in the order of the tests, and each folder's images.

    A variant of triplets is listed with their neutral texts, of which it has the seeds.
    """
    prompts: dict[str, Prompt] = {}
    images: dict[str, int] = {}
    neutral: dict[str, dict[str, None]] = {}
    folders: dict[str, list[tuple[Selection, int]]] = {}
    most = options.resolve(session.config).images
    for item in session.items:
        if not (item.get_closest_marker("t2i") and isinstance(item, pytest.Function)):
            continue
        selection = selection_of(item)
        count = selection.images(most)
        folders.setdefault(str(item.path.parent), []).append((selection, count))
        for prompt in selection.all_prompts:
            prompts.setdefault(prompt.text, prompt)
            images[prompt.text] = max(count, images.get(prompt.text, 0))
        for three in selection.triplets:
            for prompt in three:
                neutral.setdefault(prompt.text, {})[three.neutral.text] = None
    tags = tags_of(prompts.values())
    record = {
        "prompts": [
            [tagged(prompt, tags).id, text, images[text], list(neutral.get(text, [text]))]
            for text, prompt in prompts.items()
        ],
        "images": {
            folder: sum(images_wanted(selections).values())
            for folder, selections in folders.items()
        },
        "per prompt": most,
    }
    file: Any = session.config.getoption("t2i_prompts_to")
    file.write_text(json.dumps(record), encoding="utf-8")
