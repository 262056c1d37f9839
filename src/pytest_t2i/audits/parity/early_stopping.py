"""How tests of the scores of prompts and models may stop early."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pytest_t2i.audits.bias import Bias
from pytest_t2i.audits.detected import DetectedPrompt
from pytest_t2i.audits.early_stopping import State, StoppingRule
from pytest_t2i.audits.score import settled
from pytest_t2i.settings import Settings
from pytest_t2i.statistics.group_sequential import SequentialTest


class PromptStopping(StoppingRule):
    """A prompt stops by its own images."""

    def metrics(self, settings: Settings) -> Collection[str]:
        """Return both scores of a prompt."""
        del settings
        return "prompt_bias_score", "group_distance"

    def test(self, selection: Any, metric: str, test: SequentialTest) -> SequentialTest | None:
        """Return the test of a share; a distance of groups has intervals for every look."""
        del selection
        return test if metric == "prompt_bias_score" else None

    def state(self, value: DetectedPrompt) -> State | None:
        """Return the state that the prompt's own images have reached."""
        return settled(Bias(), value)


class ModelStopping(StoppingRule):
    """All prompts together stop by the interval of a look."""

    def metrics(self, settings: Settings) -> Collection[str]:
        """Return the scores of the model; none where labels correct all images of a run."""
        if settings.labels is not None:
            return ()
        return "model_bias_score", "group_distance"
