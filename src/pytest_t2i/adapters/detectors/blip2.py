"""BLIP-2 with a question (Li et al. 2023): "does the person look like a male or a female?".

Lyu Appendix A uses Salesforce/blip2-opt-2.7b with the prompt of Cho et al. 2023. The paper does not
say how the free text becomes a label. Here the answer is searched for words (:func:`gender_of`),
and an answer that names both genders or neither is undetected. The paper's filter rate of 38 %
comes from such answers alone: there is no other filter. The detail of a detection has the raw
answer.

This project has never run the released weights (15 GB). It has run a tiny random model of the same
class, written and read by the same code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.detectors.screening import screened
from pytest_t2i.adapters.devices import (
    loading_weights,
    memory_guard,
    pick_device,
    pick_dtype,
)
from pytest_t2i.adapters.loading import folder_or_hub_id, needs
from pytest_t2i.adapters.picture_files import in_batches
from pytest_t2i.data import Detection, Undetected, digest
from pytest_t2i.errors import ModelLoadError
from pytest_t2i.protocols import LoadOptions

with needs("the detector blip-2", "blip-2"):
    import torch
    import transformers
    from transformers import AutoTokenizer, Blip2ForConditionalGeneration, Blip2Processor

    from pytest_t2i.adapters.pretrained import (
        facts_of,
        from_pretrained,
        of_revision,
        processor_digest,
    )

if TYPE_CHECKING:
    from PIL.Image import Image

DEFAULT = "Salesforce/blip2-opt-2.7b"
"""Weights of Lyu Appendix A."""
QUESTION = "Question: does the person look like a male or a female? Answer:"
LABELS = ("male", "female")
BATCH = 8
"""Number of pictures in one pass."""
NEW_TOKENS = 20
"""Largest length of an answer; BLIP-2's answers to this question are much shorter."""

# As in encoders/clip.py: transformers 5 resizes through torchvision by default.
PILLOW = "BlipImageProcessorPil"
PROCESSOR: Any = getattr(transformers, PILLOW if hasattr(transformers, PILLOW) else PILLOW[:-3])

WORDS = {
    "male": {"male", "man", "men", "males", "boy", "boys", "guy", "gentleman", "he", "masculine"},
    "female": {"female", "woman", "women", "females", "girl", "girls", "lady", "she", "feminine"},
}
"""Label -> words that name it."""


def gender_of(answer: str) -> str | None:
    """The one gender that an answer names; None when it names both or neither.

    Whole words count: "female" does not contain "male". "Not a male" names a male: BLIP-2 does not
    give such answers, and negations are not parsed.

    Example:
        >>> [gender_of(answer) for answer in ("a female", "Male.", "male or female", "a person")]
        ['female', 'male', None, None]
    """
    answer_words = set(re.findall(r"[a-z]+", answer.lower()))
    labels = [label for label, words in WORDS.items() if answer_words & words]
    return labels[0] if len(labels) == 1 else None


def load(options: LoadOptions) -> Blip2Detector:
    """Load BLIP-2 from the hub or a local folder.

    Args:
        options: ``source`` is a hub id or folder of a Blip2ForConditionalGeneration; "" is
            Salesforce/blip2-opt-2.7b. Half precision on a GPU, full elsewhere.

    Raises:
        ModelLoadError: the weights are absent, damaged, not safetensors or not a BLIP-2.
        ConfigurationError: no such device or dtype.
        OutOfDeviceMemoryError: the weights do not fit into memory.
    """
    source = options.source or DEFAULT
    place = folder_or_hub_id(source)
    device = pick_device(options.device)
    dtype = pick_dtype(options.dtype, device)
    with loading_weights(source, options.revision):
        model, processor = _parts(place, options.revision, dtype)
        model.to(device).eval()
    facts = facts_of(model, source, place, dtype)
    facts["processor"] = processor_digest(processor.image_processor.to_dict())
    return Blip2Detector(model, processor, facts, dtype)


class Blip2Detector:
    """A Detector that asks BLIP-2 for the gender and reads the answer."""

    labels = LABELS

    def __init__(
        self, model: Any, processor: Any, facts: Mapping[str, str], dtype: torch.dtype
    ) -> None:
        """Args: the network, the processor, the facts of the fingerprint, the number format."""
        self._model, self._processor, self._facts = model, processor, dict(facts)
        self._dtype = dtype

    @cached_property
    def fingerprint(self) -> str:
        """Hash of weights, preprocessing, question, words, dtype, device type and libraries."""
        words = {label: sorted(words) for label, words in WORDS.items()}
        return digest(["blip-2", self._facts, QUESTION, words, NEW_TOKENS])

    @property
    def provenance(self) -> Mapping[str, str]:
        """Weights, libraries and the question."""
        return {**self._facts, "question": QUESTION}

    def detect(self, images: Sequence[Image]) -> list[Detection]:
        """One detection per picture, in order."""
        return screened(images, self._look)

    def _look(self, pictures: Sequence[Image]) -> list[Detection]:
        return [decide_answers(answer) for answer in in_batches(pictures, BATCH, self._ask)]

    def _ask(self, pictures: Sequence[Image]) -> list[str]:
        inputs = self._processor(
            images=list(pictures), text=[QUESTION] * len(pictures), return_tensors="pt"
        )
        tokens = inputs["input_ids"].to(self._model.device)
        with memory_guard("asking BLIP-2"), torch.no_grad():
            output_tokens = self._model.generate(
                pixel_values=inputs["pixel_values"].to(self._model.device, self._dtype),
                input_ids=tokens,
                attention_mask=inputs["attention_mask"].to(self._model.device),
                max_new_tokens=NEW_TOKENS,
                do_sample=False,
                num_beams=1,
            )
        length = tokens.shape[1]
        # Some versions of transformers repeat the question before the answer, some do not.
        if output_tokens.shape[1] >= length and torch.equal(output_tokens[:, :length], tokens):
            output_tokens = output_tokens[:, length:]
        texts = self._processor.batch_decode(output_tokens, skip_special_tokens=True)
        return [text.strip() for text in texts]


def decide_answers(answer: str) -> Detection:
    """The detection for an answer of BLIP-2; its detail is the answer.

    Example:
        >>> decide_answers("a male").label, decide_answers("no one").undetected.value
        ('male', 'low_confidence')
    """
    gender = gender_of(answer)
    if gender is None:
        return Detection(None, Undetected.LOW_CONFIDENCE, detail=answer or "no answer")
    return Detection(gender, detail=answer)


def _parts(place: str, revision: str | None, dtype: torch.dtype) -> tuple[Any, Any]:
    model = from_pretrained(Blip2ForConditionalGeneration, place, dtype, **of_revision(revision))
    tokenizer = AutoTokenizer.from_pretrained(place, **of_revision(revision))
    image_processor = PROCESSOR.from_pretrained(place, **of_revision(revision))
    # The question follows as many image tokens as the Q-Former has queries.
    queries = model.config.num_query_tokens
    processor = Blip2Processor(image_processor, tokenizer, num_query_tokens=queries)
    expected = getattr(model.config, "image_token_index", None)
    index = tokenizer.convert_tokens_to_ids(str(processor.image_token))
    if expected is None or index != expected:
        raise ModelLoadError(
            f"{place!r}: expected the image token at index {expected}, got index {index} from its "
            "tokenizer. Use a revision made for transformers 4.46 or later."
        )
    return model, processor
