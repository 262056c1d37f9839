"""What a run wrote, as plain data: run.json with the images of the file beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_t2i.runs.record.images import images_file


def plain_run(file: Path) -> dict[str, Any]:
    """Return the content of a run.json, in which each prompt has its images."""
    run: dict[str, Any] = json.loads(file.read_text())
    lines = iter(images_file(file).read_text().splitlines())
    for prompt in run["prompts"]:
        prompt["images"] = [json.loads(next(lines)) for _ in range(prompt["images"])]
    assert next(lines, None) is None
    return run
