"""Under pytest-xdist: what the controller and its workers tell one another."""

from __future__ import annotations

import base64
import json
import pickle
import threading
import uuid
from dataclasses import asdict
from typing import Any

import pytest

from pytest_t2i.generation.progress import Follower
from pytest_t2i.plugin.making import terminal_progress
from pytest_t2i.runs.session import Session, merged, work_from_json

RUN_ID, HANDED_OVER = "t2i_run_id", "t2i"
LOOK_EVERY = 0.5
"""Seconds between looks at a worker's progress."""


class Workers:
    """This process among the others of the run; alone unless xdist is used."""

    def __init__(self, config: pytest.Config, session: Session) -> None:
        self._config, self._session = config, session
        given: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.is_worker = given is not None
        self.are_used = not self.is_worker and getattr(config.option, "dist", "no") != "no"
        self._parts: list[dict[str, str]] = []
        self._over = threading.Event()
        if given is not None:
            session.components.run_id = given[RUN_ID]
        elif self.are_used:
            session.components.run_id = uuid.uuid4().hex

    # controller

    def start(self, node: Any) -> None:
        """Tell a worker which run it belongs to."""
        node.workerinput[RUN_ID] = self._session.components.run_id

    def follow_progress(self) -> None:
        """Show what the workers make, until they are done."""
        follower = Follower(self._session.progress_file, terminal_progress(self._config))

        def follow() -> None:
            while not self._over.wait(LOOK_EVERY):
                follower.look()

        threading.Thread(target=follow, daemon=True).start()

    def stop(self, node: Any) -> str | None:
        """Keep what a worker did; returns the error that it met."""
        part = getattr(node, "workeroutput", {}).get(HANDED_OVER)
        if part is None:
            return None
        self._parts.append(part)
        return part["error"] or None

    def adopt(self) -> None:
        """Take over what the workers asked for and did."""
        self._over.set()
        if not self._parts:
            return
        self._session.work = work_from_json(part["work"] for part in self._parts)
        for number, ask in enumerate(unpickled(self._parts[0]["asked"])):
            self._session.asked[f"merged {number}"] = ask

    # worker

    def hand_over(self, error: str | None) -> None:
        """Give the controller what this worker asked for and did."""
        output: dict[str, Any] = self._config.workeroutput  # type: ignore[attr-defined]
        output[HANDED_OVER] = {
            "work": json.dumps(asdict(self._session.work)),
            "asked": pickled(merged(list(self._session.asked.values()))),
            "error": error or "",
        }


def pickled(value: Any) -> str:
    """Frozen records as text, for another process of this run."""
    return base64.b64encode(pickle.dumps(value)).decode()


def unpickled(text: str) -> Any:
    """The records of a worker of this run."""
    return pickle.loads(base64.b64decode(text))  # noqa: S301 - written by our own worker
