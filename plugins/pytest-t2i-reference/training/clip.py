"""Stage ``clip``: both towers, trained on captions and on zero-shot questions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import CLIPModel, CLIPTokenizer

from pytest_t2i_reference.captions import concept_prompts, describe, triplet
from pytest_t2i_reference.worlds import load_concepts
from training.autoencoder import as_pixels, held_out, training_indices
from training.drawings import Drawings, Record
from training.families import Family, all_families
from training.loop import Loop
from training.settings import TEXT_WIDTH, Settings, device, mixed_precision
from training.towers import (
    Encoded,
    all_triplets,
    encode_images,
    encode_texts,
    encode_tokens,
    new_clip,
    roughened,
    similarity_gaps,
    tokenize,
)

BATCH = 96
FAMILIES_PER_STEP = 5
"""Questions asked per step, besides gender, which is always asked."""
TRIPLETS = 16
"""Concepts per step whose neutral, feminine and masculine prompts are compared."""
ANSWERS = 136
"""Room for answers per step; constant sizes let PyTorch compile the towers once."""
SHORT = 32
"""Tokens per text while training; no caption is longer."""
SYMMETRY_WEIGHT = 20.0
"""Keeps neutral prompts as near to the masculine as to the feminine variant."""
MAX_LOGIT_SCALE = 4.6


class Trained(nn.Module):
    """The CLIP model and two heads that are thrown away after training."""

    def __init__(self, clip: CLIPModel) -> None:
        super().__init__()
        self.clip = clip
        self.concept = nn.Linear(TEXT_WIDTH, len(load_concepts()))
        self.variant = nn.Linear(TEXT_WIDTH, 3)


def train_clip(settings: Settings, drawings: Drawings, tokenizer: CLIPTokenizer) -> CLIPModel:
    """Both towers."""
    torch.manual_seed(settings.seed + 2)
    model = Trained(new_clip(tokenizer))
    loop = Loop(settings, "clip", model, 1e-3)
    rng = random.Random(settings.seed + 2 + loop.step)
    families = all_families(drawings.records)
    usable = training_indices(len(drawings.records)).tolist()
    see, read = (
        torch.compile(encode_images, dynamic=False),
        torch.compile(encode_tokens, dynamic=False),
    )
    for step in loop.steps():
        chosen = sorted(rng.choices(usable, k=BATCH))
        records = [drawings.records[index] for index in chosen]
        lesson = new_lesson(records, chosen, families, rng)
        ids = tokenize(tokenizer, lesson.texts, SHORT)
        pixels = roughened(as_pixels(drawings.images[chosen]), rng)
        with mixed_precision():
            images, texts = see(model.clip, pixels), read(model.clip, ids)
        loop.learn(lesson_loss(model, images, texts, lesson))
        model.clip.logit_scale.data.clamp_(0, MAX_LOGIT_SCALE)
        if step % 300 == 299:
            model.eval()
            print(
                step + 1,
                accuracies(model.clip, tokenizer, drawings),
                neutrality_gap(model.clip, tokenizer),
                flush=True,
            )
            model.train()
    return model.clip


@dataclass(frozen=True, slots=True)
class Lesson:
    """All texts of one training step in one batch of constant size: captions, questions' answers, triplets."""

    texts: list[str]
    captions: list[str]
    questions: tuple[tuple[str, Tensor, int, int], ...]
    """Family, right answers [batch], and from where to where its answers stand in ``texts``."""
    concepts: list[int]
    """The concepts of the triplets, which stand last: neutral, feminine, masculine."""


def new_lesson(
    records: Sequence[Record], chosen: Sequence[int], families: Sequence[Family], rng: random.Random
) -> Lesson:
    """Captions for the pictures, gender and some other questions about them, and some triplets."""
    captions = [caption_of(record, rng) for record in records]
    texts, questions = list(captions), []
    for family in (families[0], *rng.sample(families[1:], FAMILIES_PER_STEP)):
        answers = family.texts(rng)
        if len(texts) + len(answers) > BATCH + ANSWERS:
            continue
        labels = torch.as_tensor(family.labels[list(chosen)], device=device())
        questions.append((family.name, labels, len(texts), len(texts) + len(answers)))
        texts += answers
    texts += [""] * (BATCH + ANSWERS - len(texts))
    concepts = rng.sample(range(len(load_concepts())), TRIPLETS)
    texts += _triplets(concepts, rng)
    return Lesson(texts, captions, tuple(questions), concepts)


def lesson_loss(model: Trained, images: Tensor, texts: Encoded, lesson: Lesson) -> Tensor:
    """The sum of what is asked of the towers in one step."""
    scale = model.clip.logit_scale.exp()
    total = caption_loss(scale * images @ texts.embedding[:BATCH].T, lesson.captions)
    for name, labels, start, end in lesson.questions:
        if (labels >= 0).any():
            logits = scale * images @ texts.embedding[start:end].T
            weight = 1.0 if name == "gender" else 0.5
            total = total + weight * functional.cross_entropy(logits, labels, ignore_index=-1)
    return total + triplet_loss(model, texts, lesson.concepts)


def caption_of(record: Record, rng: random.Random) -> str:
    """A text for a training picture: by its concept, neutral or gendered, or a description."""
    if record.concept < 0:
        return rng.choice(record.captions)
    chance = rng.random()
    if chance < 0.4:
        return describe(record.scene, rng)
    variant = "feminine" if record.scene.people[0].gender == "woman" else "masculine"
    prompts = concept_prompts(load_concepts()[record.concept], "neutral" if chance < 0.65 else variant)
    return prompts[0] if rng.random() < 0.4 else rng.choice(prompts)


def caption_loss(logits: Tensor, captions: Sequence[str]) -> Tensor:
    """Symmetric contrastive loss; pictures with the same caption count as right for each other."""
    same = torch.tensor([[float(one == other) for other in captions] for one in captions], device=logits.device)
    target = same / same.sum(1, keepdim=True)
    by_image = -(target * logits.log_softmax(1)).sum(1).mean()
    by_text = -(target * logits.T.log_softmax(1)).sum(1).mean()
    return 0.25 * (by_image + by_text)


def triplet_loss(model: Trained, texts: Encoded, concepts: Sequence[int]) -> Tensor:
    """Keeps concepts apart in the text space, and neutral prompts in the middle between the genders."""
    count = 3 * len(concepts)
    ending = texts.ending[-count:]
    target = torch.tensor([*concepts] * 3, device=device())
    variant = torch.arange(3, device=device()).repeat_interleave(len(concepts))
    apart = functional.cross_entropy(model.concept(ending), target) + functional.cross_entropy(
        model.variant(ending), variant
    )
    gaps = [similarity_gaps(space[-count:]) for space in (texts.embedding, texts.ending, texts.average)]
    return 0.3 * apart + SYMMETRY_WEIGHT * torch.stack([(gap**2).mean() + gap.mean() ** 2 for gap in gaps]).sum()


def _triplets(concepts: Sequence[int], rng: random.Random) -> list[str]:
    """Neutral prompts, then feminine, then masculine ones; mostly as the suites word them."""
    known = load_concepts()
    worded = []
    for index in concepts:
        if rng.random() < 0.6:
            worded.append(triplet(known[index]))
            continue
        feminine, masculine = (
            concept_prompts(known[index], "feminine"),
            concept_prompts(known[index], "masculine"),
        )
        wording = rng.randrange(len(feminine))
        worded.append((concept_prompts(known[index], "neutral")[0], feminine[wording], masculine[wording]))
    return [text for texts in zip(*worded, strict=True) for text in texts]


@torch.no_grad()
def accuracies(
    clip: CLIPModel, tokenizer: CLIPTokenizer, drawings: Drawings, pixels: Tensor | None = None
) -> dict[str, float]:
    """Share of right zero-shot answers for each family over the held-out drawings (or their reconstructions)."""
    indices = held_out(len(drawings.records))
    images = encode_images(clip, as_pixels(drawings.images[indices]) if pixels is None else pixels)
    found = {}
    for family in all_families([drawings.records[index] for index in indices]):
        answers = encode_texts(clip, tokenizer, family.main_texts()).embedding
        labels = torch.as_tensor(family.labels, device=images.device)
        right = (images @ answers.T).argmax(1) == labels
        found[family.name] = round(float(right[labels >= 0].float().mean()), 3)
    return found


@torch.no_grad()
def neutrality_gap(clip: CLIPModel, tokenizer: CLIPTokenizer) -> dict[str, float]:
    """Mean similarity gap over all concepts' template prompts, in the shared space and of the tokens."""
    encoded = encode_texts(clip, tokenizer, all_triplets())
    spaces = {"embedding": encoded.embedding, "ending": encoded.ending, "average": encoded.average}
    return {name: round(float(similarity_gaps(space).mean()), 4) for name, space in spaces.items()}
