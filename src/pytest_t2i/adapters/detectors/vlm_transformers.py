"""Judges whose weights are loaded here, by transformers' AutoModelForImageTextToText, in batches.

Qwen3-VL, SmolVLM, InternVL, LLaVA and every other model whose processor has a chat template.
Decoding is greedy, so that the same picture has the same answer, and nothing is judged twice. This
project has run tiny random models of two true classes (LLaVA, Qwen2-VL), and no released weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.detectors.judging import Panel, Reply, Task
from pytest_t2i.adapters.detectors.rubrics import RubricQuestion
from pytest_t2i.adapters.devices import (
    loading_weights,
    memory_guard,
    pick_device,
    pick_dtype,
)
from pytest_t2i.adapters.finders.locating import shared
from pytest_t2i.adapters.languages.reasoning import without_reasoning
from pytest_t2i.adapters.loading import folder_or_hub_id, needs
from pytest_t2i.errors import ConfigurationError, ModelLoadError
from pytest_t2i.protocols import LoadOptions

with needs("the detector vlm:transformers", "clip"):
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    from pytest_t2i.adapters.pretrained import facts_of, from_pretrained, of_revision

if TYPE_CHECKING:
    from PIL.Image import Image

BATCH = 8
"""Number of pictures in one pass."""
TOKENS_OF_ATTRIBUTE = 96
"""Largest length of the answer about one attribute."""
LONGEST_SIDE = 768
"""Longest side in pixels of a picture; larger ones are made smaller."""
TASK = "Judge this picture by the rubric."


def load_panel(source: str, question: RubricQuestion, options: LoadOptions) -> WeightsPanel:
    """Load a model and its processor from a folder or the hub.

    Raises:
        ModelLoadError: the weights are absent, damaged, or have no chat template.
        ConfigurationError: no model is named, or there is no such device or dtype.
    """
    if not source:
        raise ConfigurationError(
            "vlm:transformers/: expected a hub id or a folder, as in vlm:transformers/OWNER/NAME"
        )
    # The detectors of all attributes ask the same weights, which are loaded once.
    key = ("vlm", source, options.revision, options.device, options.dtype)
    model, processor, facts = shared(key, lambda: _parts(source, options))
    return WeightsPanel(source, question, model, processor, facts)


def _parts(source: str, options: LoadOptions) -> tuple[Any, Any, Mapping[str, str]]:
    place = folder_or_hub_id(source)
    device = pick_device(options.device)
    dtype = pick_dtype(options.dtype, device)
    with loading_weights(source, options.revision):
        code = {"trust_remote_code": options.trust_remote_code}
        facts = {**of_revision(options.revision), **code}
        model = from_pretrained(AutoModelForImageTextToText, place, dtype, **facts)
        processor = AutoProcessor.from_pretrained(place, **facts)
        model.to(device).eval()
    if not getattr(processor, "chat_template", None):
        raise ModelLoadError(
            f"{source}: expected a processor with a chat template, as models that follow "
            "instructions have, got one without"
        )
    if (tokenizer := getattr(processor, "tokenizer", None)) is not None:
        tokenizer.padding_side = "left"  # answers follow the end of every question of a batch
    return model, processor, facts_of(model, source, place, dtype)


class WeightsPanel(Panel):
    """A model that is loaded in this process."""

    judges_twice = False
    needs_device = True

    def __init__(
        self,
        source: str,
        question: RubricQuestion,
        model: Any,
        processor: Any,
        facts: Mapping[str, str],
    ) -> None:
        """Args: the name, the question, the network, its processor, and facts of the weights."""
        super().__init__(f"vlm:transformers/{source}", question)
        self._model, self._processor, self._facts = model, processor, facts

    @property
    def facts(self) -> Mapping[str, str]:
        """Weights, libraries, number format, and the size of pictures."""
        return {
            **self._facts,
            "version": self._facts["weights"],
            "temperature": "0",
            "pictures": f"longest side {LONGEST_SIDE}",
            "tokens": str(self._most_tokens),
        }

    @property
    def _most_tokens(self) -> int:
        return TOKENS_OF_ATTRIBUTE * len(self.question.rubrics)

    def replies(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Reply]]:
        """Ask about pictures in batches."""
        for start in range(0, len(tasks), BATCH):
            part = tasks[start : start + BATCH]
            yield from zip(part, self._answers([t.picture for t in part]), strict=True)

    def _answers(self, pictures: Sequence[Image]) -> list[Reply]:
        inputs = self._processor.apply_chat_template(
            [self._conversation(_small(picture)) for picture in pictures],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            padding=True,
        )
        inputs = inputs.to(self._model.device, self._model.dtype)
        with memory_guard("asking the judge"), torch.no_grad():
            tokens = self._model.generate(
                **inputs, max_new_tokens=self._most_tokens, do_sample=False, num_beams=1
            )
        answers = tokens[:, inputs["input_ids"].shape[1] :]
        texts = self._processor.batch_decode(answers, skip_special_tokens=True)
        return [Reply(without_reasoning(text)) for text in texts]

    def _conversation(self, picture: Image) -> list[dict[str, Any]]:
        return [
            {"role": "system", "content": [{"type": "text", "text": self.question.text}]},
            {
                "role": "user",
                "content": [{"type": "image", "image": picture}, {"type": "text", "text": TASK}],
            },
        ]


def _small(picture: Image) -> Image:
    if max(picture.size) <= LONGEST_SIDE:
        return picture
    copy = picture.copy()
    copy.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    return copy
