"""Causal and chat models through transformers: answers, and what token may come next."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pytest_t2i.adapters.support.devices import (
    loading_weights,
    memory_guard,
    pick_device,
    pick_dtype,
)
from pytest_t2i.adapters.support.loading import folder_or_hub_id, needs
from pytest_t2i.adapters.support.locating import Described
from pytest_t2i.errors import ConfigurationError, MalformedAnswerError, ModelLoadError
from pytest_t2i.protocols import LoadOptions

with needs("the language adapter transformers", "clip"):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from pytest_t2i.adapters.support.pretrained import facts_of, from_pretrained, of_revision

TOKENS = 2048
"""Longest answer."""
ROWS = 64
"""Beginnings that go through the network at once."""


def load(options: LoadOptions) -> CausalModel:
    """A causal model from the hub or a local folder.

    Raises:
        ModelLoadError: the weights are absent, gated, damaged or not safetensors, or the tokenizer
            is that of another model.
        ConfigurationError: no model is named, or no such device or dtype.
    """
    if not options.source:
        raise ConfigurationError("the language adapter transformers needs a hub id or a folder.")
    device = pick_device(options.device)
    dtype = pick_dtype(options.dtype, device, torch.float32)
    place = folder_or_hub_id(options.source)
    if Path(place).is_dir() and not (Path(place) / "config.json").is_file():
        raise ModelLoadError(f"{place} has no config.json, so it is no model of save_pretrained.")
    with loading_weights(options.source, options.revision):
        model = from_pretrained(AutoModelForCausalLM, place, dtype, **of_revision(options.revision))
        tokenizer = AutoTokenizer.from_pretrained(place, **of_revision(options.revision))
        model.to(device).eval()
    known = int(model.get_input_embeddings().weight.shape[0])
    if len(tokenizer) > known:
        raise ModelLoadError(
            f"{options.source}: its tokenizer has {len(tokenizer)} tokens, its model knows "
            f"{known}: they do not belong together."
        )
    facts = facts_of(model, options.source, place, dtype)
    return CausalModel(model, tokenizer, facts, int(options.extra.get("tokens", TOKENS)))


class CausalModel(Described):
    """A causal model with its tokenizer; obeys Language and NextTokens."""

    def __init__(
        self, model: Any, tokenizer: Any, facts: Mapping[str, str], tokens: int = TOKENS
    ) -> None:
        super().__init__(facts)
        self._model, self._tokenizer, self._tokens = model, tokenizer, tokens

    def answer(self, question: str, schema: Mapping[str, Any] | None = None) -> str:
        """The likeliest answer, word for word the same each time.

        Raises:
            MalformedAnswerError: the answer is empty.
            OutOfDeviceMemoryError: the model does not fit.
        """
        if schema is not None:
            question += f"\nAnswer with JSON of this schema alone:\n{json.dumps(schema)}"
        if getattr(self._tokenizer, "chat_template", None):
            messages = [{"role": "user", "content": question}]
            question = self._tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True
            )
        given = self._tokenizer(question, return_tensors="pt").to(self._model.device)
        room = self._room - given["input_ids"].shape[1]
        if room < 1:
            raise ConfigurationError(
                f"the question has {given['input_ids'].shape[1]} tokens, the model takes "
                f"{self._room}: choose a model that takes more."
            )
        with memory_guard("answering"), torch.no_grad():
            told = self._model.generate(
                input_ids=given["input_ids"],
                attention_mask=given["attention_mask"],
                max_new_tokens=min(self._tokens, room),
                do_sample=False,
                pad_token_id=self._padding,
            )
        written = self._tokenizer.decode(
            told[0, given["input_ids"].shape[1] :], skip_special_tokens=True
        )
        if not written.strip():
            raise MalformedAnswerError("the answer is empty")
        return str(written)

    def next_tokens(self, texts: Sequence[str], count: int) -> list[list[str]]:
        """Of each text the likeliest texts that are one token longer, the likeliest first.

        Tokens that add nothing readable, the end among them, are left out.
        """
        likeliest: list[list[str]] = []
        for start in range(0, len(texts), ROWS):
            likeliest += self._next(list(texts[start : start + ROWS]), count)
        return likeliest

    def _next(self, texts: list[str], count: int) -> list[list[str]]:
        rows = [self._tokenizer(text)["input_ids"] for text in texts]
        # An end token that some tokenizers write would end the sentence here.
        end = self._tokenizer.eos_token_id
        rows = [row[:-1] if len(row) > 1 and row[-1] == end else row for row in rows]
        longest = max(map(len, rows))
        padded = torch.full((len(rows), longest), self._padding)
        mask = torch.zeros((len(rows), longest), dtype=torch.long)
        for place, row in enumerate(rows):
            padded[place, : len(row)], mask[place, : len(row)] = torch.tensor(row), 1
        device = self._model.device
        with memory_guard("continuing texts"), torch.no_grad():
            logits = self._model(input_ids=padded.to(device), attention_mask=mask.to(device)).logits
        last = logits[torch.arange(len(rows)), torch.tensor([len(row) - 1 for row in rows])]
        return [
            self._continued(text, row, scores, count)
            for text, row, scores in zip(texts, rows, last.float().cpu(), strict=True)
        ]

    def _continued(self, text: str, row: list[int], scores: Any, count: int) -> list[str]:
        special = set(self._tokenizer.all_special_ids)
        continued: dict[str, None] = {}
        for token in scores[: len(self._tokenizer)].argsort(descending=True).tolist():
            if token in special:
                continue
            longer = str(self._tokenizer.decode([*row, token], skip_special_tokens=True))
            if longer.strip() != text.strip() and longer.isprintable():
                continued[longer] = None
            if len(continued) == count:
                break
        return list(continued)

    @property
    def _room(self) -> int:
        return int(getattr(self._model.config, "max_position_embeddings", 1 << 20))

    @property
    def _padding(self) -> int:
        known = self._tokenizer.pad_token_id
        return cast("int", known if known is not None else self._tokenizer.eos_token_id or 0)
