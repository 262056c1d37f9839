"""Stage ``tokenizer``: a byte-pair vocabulary learned from the captions."""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer
from transformers import CLIPTokenizer

from pytest_t2i_reference.captions import TRAITS, VARIANTS, concept_prompts
from pytest_t2i_reference.worlds import load_concepts
from training.drawings import Drawings
from training.settings import TOKENS

VOCABULARY = 1500
END = "</w>"
START_TOKEN, END_TOKEN = "<|startoftext|>", "<|endoftext|>"


def train_tokenizer(drawings: Drawings, folder: Path) -> CLIPTokenizer:
    """Learn the vocabulary and save it in the hub's format; the end token has the highest id, as in OpenAI's CLIP."""
    backend = CLIPTokenizer().backend_tokenizer
    trainer = BpeTrainer(
        vocab_size=VOCABULARY,
        min_frequency=2,
        special_tokens=[START_TOKEN, END_TOKEN],
        initial_alphabet=ByteLevel.alphabet(),
        end_of_word_suffix=END,
        show_progress=False,
    )
    backend.train_from_iterator(_texts(drawings), trainer)
    model = json.loads(backend.to_str())["model"]
    merges = [tuple(merge) if not isinstance(merge, str) else tuple(merge.split(" ")) for merge in model["merges"]]
    letters = sorted(ByteLevel.alphabet())
    tokens = dict.fromkeys([*letters, *(letter + END for letter in letters)])
    tokens |= dict.fromkeys(
        token for token in sorted(model["vocab"], key=model["vocab"].get) if not token.startswith("<|")
    )
    vocabulary = {token: index for index, token in enumerate([*tokens, START_TOKEN, END_TOKEN])}
    CLIPTokenizer(vocab=vocabulary, merges=merges, model_max_length=TOKENS).save_pretrained(folder)
    write_for_version_4(folder)
    return CLIPTokenizer.from_pretrained(folder)


def write_for_version_4(folder: Path) -> None:
    """transformers 5 writes tokenizer.json alone; version 4 reads vocabulary and merges from files of their own."""
    model = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    (folder / "vocab.json").write_text(json.dumps(model["vocab"], ensure_ascii=False), encoding="utf-8")
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]), encoding="utf-8")


def _texts(drawings: Drawings) -> list[str]:
    texts = [caption for record in drawings.records for caption in record.captions]
    for concept in load_concepts():
        for variant in VARIANTS:
            texts += concept_prompts(concept, variant) * 8
    for trait in TRAITS.values():
        texts += (trait.present + trait.absent) * 8
    texts += Path(__file__).with_name("extra_words.txt").read_text(encoding="utf-8").split() * 8
    return texts
