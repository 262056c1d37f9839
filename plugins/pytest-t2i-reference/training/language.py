"""Stage ``language``: ``reference-lm``, a small Llama that describes people and answers ``t2i research candidates``."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from tokenizers.trainers import BpeTrainer
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from pytest_t2i_reference.worlds import Concept, load_concepts
from training.language_answers import answer, question
from training.language_texts import description
from training.loop import Loop
from training.settings import WEIGHTS, Settings, device

FOLDER = WEIGHTS / "lm"
VOCABULARY = 1100
LONGEST = 2048
"""Tokens of question and answer together."""
PAD, END, ASKED, ANSWERED = "<|pad|>", "<|end|>", "<|question|>", "<|answer|>"
TEMPLATE = (
    "{% for message in messages %}"
    f"{{{{ '{ASKED}' if message['role'] == 'user' else '{ANSWERED}' }}}}{{{{ message['content'] }}}}"
    "{% endfor %}"
    f"{{% if add_generation_prompt %}}{ANSWERED}{{% endif %}}"
)
RATE = 3e-3
TEXTS, KNOWN, STRANGE = 32, 3, 5
"""Descriptions, and questions of known and of strange concepts, in one step."""
LAST = 150
"""Tokens at an answer's end that count twice: what is the concept's own stands there."""


def train_language(settings: Settings) -> None:
    """Learn the vocabulary and the model, and write the shipped folder; goes on where it was stopped."""
    folder = settings.work / "language-tokenizer"
    if not folder.exists():
        learned_tokenizer(settings.seed).save_pretrained(folder)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    torch.manual_seed(settings.seed)
    loop = Loop(settings, "language", new_model(tokenizer), RATE, plateau=0.75)
    turns = _turns(random.Random(f"{settings.seed} turns"), loop.step)
    for step in loop.steps():
        rng = random.Random(f"{settings.seed} {step}")
        known = [next(turns) for _ in range(KNOWN)]
        loss = of_texts(loop.module, tokenizer, [description(rng) for _ in range(TEXTS)])
        # Answers about strangers are short: beside long ones they would be padding.
        for asked in (known, [None] * STRANGE):
            loss = loss + of_answers(loop.module, tokenizer, asked, rng)
        loop.learn(loss)
    ship(loop.module, tokenizer, FOLDER)


def learned_tokenizer(seed: int) -> PreTrainedTokenizerFast:
    """Byte pairs of descriptions, questions and answers: whatever is written can be read, known words are one token."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[PAD, END, ASKED, ANSWERED],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    rng = random.Random(seed)
    texts = [description(rng) for _ in range(20_000)]
    for concept in load_concepts():
        texts += [question(concept, rng), answer(concept)]
    backend.train_from_iterator([*texts, question(None, rng), answer(None)], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[ASKED, ANSWERED],
        chat_template=TEMPLATE,
        model_max_length=LONGEST,
        clean_up_tokenization_spaces=False,
    )


def new_model(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """Random weights."""
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=112,
        intermediate_size=320,
        num_hidden_layers=4,
        num_attention_heads=4,
        max_position_embeddings=LONGEST,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        initializer_range=0.05,
    )
    return LlamaForCausalLM(config)


def of_texts(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, texts: Sequence[str]) -> Tensor:
    """Mean loss of every token of descriptions, their end among them."""
    rows = [tokenizer(text)["input_ids"] + [tokenizer.eos_token_id] for text in texts]
    return torch.cat(_losses(model, rows, [1] * len(rows))).mean()


def of_answers(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    concepts: Sequence[Concept | None],
    rng: random.Random,
) -> Tensor:
    """Mean loss of the answers, of their ends, and of their first tokens, which say whether somebody is known."""
    rows, firsts = [], []
    for concept in concepts:
        asked = tokenizer(f"{ASKED}{question(concept, rng)}{ANSWERED}")["input_ids"]
        told = [*tokenizer(answer(concept))["input_ids"], tokenizer.eos_token_id]
        rows.append([*asked, *told])
        firsts.append(len(asked))
    losses = _losses(model, rows, firsts)
    ends = torch.cat([loss[-LAST:] for loss in losses])
    return torch.cat(losses).mean() + ends.mean() + torch.stack([loss[0] for loss in losses]).mean()


def _losses(model: LlamaForCausalLM, rows: Sequence[Sequence[int]], firsts: Sequence[int]) -> tuple[Tensor, ...]:
    """Loss of each token of each row from ``firsts`` on."""
    longest = max(map(len, rows))
    given = torch.zeros((len(rows), longest), dtype=torch.long)
    learned = torch.zeros((len(rows), longest), dtype=torch.bool)
    for place, (row, first) in enumerate(zip(rows, firsts, strict=True)):
        given[place, : len(row)] = torch.tensor(row)
        learned[place, first : len(row)] = True
    given, learned = given.to(device()), learned[:, 1:].to(device())
    # What stands behind a row's end is seen by nothing before it.
    states = model.model(input_ids=given).last_hidden_state[:, :-1][learned]
    losses = cross_entropy(model.lm_head(states).float(), given[:, 1:][learned], reduction="none")
    return torch.split(losses, [len(row) - first for row, first in zip(rows, firsts, strict=True)])


def _turns(rng: random.Random, done: int) -> Iterator[Concept]:
    """Every concept in turn, nationalities eight times as often; what was done before is passed over."""
    concepts = load_concepts()
    all_of_them = [c for c in concepts for _ in range(8 if c.axis == "nationality" else 1)]

    def forever() -> Iterator[Concept]:
        while True:
            yield from rng.sample(all_of_them, len(all_of_them))

    return islice(forever(), done * KNOWN, None)


def ship(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write model and tokenizer in half precision, as ``from_pretrained`` reads them."""
    shutil.rmtree(folder, ignore_errors=True)
    model.to("cpu", torch.float16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    describe_for_version_4(folder / "tokenizer_config.json")
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"language: {size / 1e6:.2f} MB", flush=True)


def describe_for_version_4(path: Path) -> None:
    """transformers 5 names a class that version 4 does not know, and says how the folder was read."""
    told = json.loads(path.read_text(encoding="utf-8"))
    kept = {name: value for name, value in told.items() if name not in ("backend", "is_local", "local_files_only")}
    kept["additional_special_tokens"] = kept.pop("extra_special_tokens")
    kept["tokenizer_class"] = "PreTrainedTokenizerFast"
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
