"""Causal and chat models through transformers: answers and next tokens."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import torch
from pytest_t2i import (
    LoadOptions,
    MalformedAnswerError,
    NextToken,
    T2IError,
    digest,
    load_pretrained,
    memory_guard,
    without_reasoning,
)
from transformers import AutoModelForCausalLM, AutoTokenizer

TOKENS = 2048
"""Longest answer, in tokens."""
ROWS = 64
"""Number of texts in one pass."""
PADDING, PADDING_SHARE = 128, 0.03
"""Largest number of embeddings without a token, and largest share: the larger one applies.

Models are padded to a multiple of 64 or 128, and some keep places free: Phi-2 905 of 51,200
(1.8 %), DeepSeek LLM 2,385 of 102,400 (2.3 %).
"""


def load(options: LoadOptions) -> CausalModel:
    """Load a causal model from the hub or a local folder.

    Raises T2IError where no model is named, there is no such device or dtype, the weights are
    absent, gated, damaged or not safetensors, or the tokenizer is that of another model.
    """
    if not options.source:
        raise T2IError(
            "--llm transformers: expected a hub id or a folder, got none: write "
            "--llm transformers:FOLDER"
        )
    tokenizer_of = partial(_tokenizer, options.source)
    model, tokenizer, facts = load_pretrained(AutoModelForCausalLM, options, tokenizer_of)
    _check_tokenizer(options.source, model, tokenizer)
    return CausalModel(model, tokenizer, facts, int(options.extra.get("tokens", TOKENS)))


def _tokenizer(source: str, place: str, **named: str) -> Any:
    """Load the tokenizer of a model; T2IError where a folder has no readable one."""
    try:
        return AutoTokenizer.from_pretrained(place, **named)
    except Exception as error:
        # For a hub id the cause may also be the network.
        absent = "backend tokenizer" in str(error)
        if "trust_remote_code" in str(error) or not (absent or Path(place).is_dir()):
            raise
        raise T2IError(
            f"{source}: expected a tokenizer that transformers can read, and there is none: put "
            "the model's own tokenizer into the folder."
        ) from error


def _check_tokenizer(source: str, model: Any, tokenizer: Any) -> None:
    """Raise T2IError where the numbers of tokens show the tokenizer of another model."""
    tokens = int(model.get_input_embeddings().weight.shape[0])
    # The length of the vocabulary may be smaller, as numbers may be left out.
    highest = max(tokenizer.get_vocab().values(), default=-1)
    unused = tokens - 1 - highest
    if not 0 <= unused <= max(PADDING, PADDING_SHARE * tokens):
        raise T2IError(
            f"{source}: expected the model's own tokenizer, with about {tokens} tokens, got one "
            f"with {highest + 1}. Put the model's own tokenizer into the folder."
        )


class CausalModel:
    """A Language and NextTokens: a causal model with its tokenizer."""

    def __init__(
        self, model: Any, tokenizer: Any, facts: Mapping[str, str], tokens: int = TOKENS
    ) -> None:
        self._model, self._tokenizer, self._tokens = model, tokenizer, tokens
        self._facts = dict(facts)

    @cached_property
    def fingerprint(self) -> str:
        return digest(self._facts)

    @property
    def provenance(self) -> Mapping[str, str]:
        """The facts behind the fingerprint."""
        return dict(self._facts)

    def answer(self, question: str, schema: Mapping[str, Any] | None = None) -> str:
        """The likeliest answer, by greedy decoding, which is the same each time."""
        if schema is not None:
            question += f"\nAnswer with JSON of this schema alone:\n{json.dumps(schema)}"
        inputs = self._given(question).to(self._model.device)
        room = self._room_after(inputs["input_ids"].shape[1])
        with memory_guard("answering"), torch.no_grad():
            output_tokens = self._model.generate(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                max_new_tokens=min(self._tokens, room),
                do_sample=False,
                pad_token_id=self._padding,
            )
        text = without_reasoning(
            self._tokenizer.decode(
                output_tokens[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True
            )
        )
        if not text.strip():
            raise MalformedAnswerError("the answer is empty")
        return text

    def _given(self, question: str) -> Any:
        """The tokens of a question, within the template of a chat model where there is one."""
        if not getattr(self._tokenizer, "chat_template", None):
            return self._tokenizer(question, return_tensors="pt")
        prompt = self._tokenizer.apply_chat_template(
            [{"role": "user", "content": question}], tokenize=False, add_generation_prompt=True
        )
        # A template adds the special tokens itself.
        return self._tokenizer(prompt, return_tensors="pt", add_special_tokens=False)

    def next_tokens(self, texts: Sequence[str], count: int) -> list[list[NextToken]]:
        """The ``count`` likeliest next tokens of each text, the likeliest first.

        Tokens that add nothing readable are left out; the end of the text counts as one.
        """
        likeliest: list[list[NextToken]] = []
        for start in range(0, len(texts), ROWS):
            likeliest += self._next(list(texts[start : start + ROWS]), count)
        return likeliest

    def _next(self, texts: list[str], count: int) -> list[list[NextToken]]:
        rows = [self._tokenizer(text)["input_ids"] for text in texts]
        # Some tokenizers add an end token, which would end the text here.
        end = self._tokenizer.eos_token_id
        rows = [row[:-1] if len(row) > 1 and row[-1] == end else row for row in rows]
        longest = max(map(len, rows))
        self._room_after(longest)
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
            for text, row, scores in zip(texts, rows, last.float().softmax(-1).cpu(), strict=True)
        ]

    def _continued(
        self, text: str, row: list[int], probabilities: Any, count: int
    ) -> list[NextToken]:
        special, ends = set(self._tokenizer.all_special_ids), self._ends
        continued: dict[str, float] = {}
        for token in probabilities[: len(self._tokenizer)].argsort(descending=True).tolist():
            longer = text if token in ends else self._longer(row, token, special)
            if longer is not None and (token in ends or longer.strip() != text.strip()):
                continued.setdefault(longer, float(probabilities[token]))
            if len(continued) == count:
                break
        return [NextToken(longer, probability) for longer, probability in continued.items()]

    def _longer(self, row: list[int], token: int, special: Container[int]) -> str | None:
        """The text with one more token; None where the token adds nothing readable."""
        if token in special:
            return None
        longer = str(self._tokenizer.decode([*row, token], skip_special_tokens=True))
        return longer if longer.isprintable() else None

    @property
    def _ends(self) -> set[int]:
        """Tokens that end a text; chat models have several."""
        configured = getattr(self._model.generation_config, "eos_token_id", None)
        end_tokens = configured if isinstance(configured, list) else [configured]
        return {token for token in (*end_tokens, self._tokenizer.eos_token_id) if token is not None}

    def _room_after(self, tokens: int) -> int:
        """Number of tokens that the model can add to so many; T2IError for none."""
        most = int(getattr(self._model.config, "max_position_embeddings", 1 << 20))
        if tokens >= most:
            raise T2IError(
                f"expected fewer than {most} tokens, which is the model's limit with those that it "
                f"adds, got a text of {tokens}: shorten the text, or choose a model with a larger "
                "limit."
            )
        return most - tokens

    @property
    def _padding(self) -> int:
        token = self._tokenizer.pad_token_id
        return cast("int", token if token is not None else self._tokenizer.eos_token_id or 0)
