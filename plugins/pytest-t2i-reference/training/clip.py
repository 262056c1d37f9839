"""Stages ``clip`` and ``vision``: the text and image towers, trained on captions and on zero-shot questions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from pytest_t2i_reference.captions import concept_prompts, describe, triplet
from pytest_t2i_reference.worlds import load_concepts
from diffusers import AutoencoderKL
from torch import Tensor, nn
from torch.nn import functional
from transformers import CLIPConfig, CLIPModel, CLIPTokenizer

from training.autoencoder import as_pixels, held_out, training_indices
from training.drawings import Drawings, Record
from training.families import Family, all_families
from training.loop import Loop
from training.settings import TEXT_WIDTH, TOKENS, VISION_WIDTH, Settings, device

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


@dataclass(frozen=True, slots=True)
class Encoded:
    """What the text tower makes of some texts."""

    embedding: Tensor
    """[n, d], of length 1, in the space shared with images."""
    ending: Tensor
    """[n, d]: hidden state of the end token."""
    average: Tensor
    """[n, d]: mean hidden state over all tokens, padding included."""


class Trained(nn.Module):
    """The CLIP model and two heads that are thrown away after training."""

    def __init__(self, clip: CLIPModel) -> None:
        super().__init__()
        self.clip = clip
        self.concept = nn.Linear(TEXT_WIDTH, len(load_concepts()))
        self.variant = nn.Linear(TEXT_WIDTH, 3)


def new_clip(tokenizer: CLIPTokenizer) -> CLIPModel:
    """An untrained model: 4 + 4 layers, 16-pixel patches of 128-pixel images."""
    text = {
        "vocab_size": len(tokenizer),
        "max_position_embeddings": TOKENS,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "hidden_size": TEXT_WIDTH,
        "intermediate_size": 4 * TEXT_WIDTH,
        "num_attention_heads": 4,
        "num_hidden_layers": 4,
        "hidden_act": "quick_gelu",
        "projection_dim": TEXT_WIDTH,
    }
    vision = {
        "image_size": 128,
        "patch_size": 16,
        "hidden_size": VISION_WIDTH,
        "intermediate_size": 4 * VISION_WIDTH,
        "num_attention_heads": 4,
        "num_hidden_layers": 4,
        "hidden_act": "quick_gelu",
        "projection_dim": TEXT_WIDTH,
    }
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=TEXT_WIDTH)
    config._attn_implementation = "eager"  # several times faster than the fused kernel when trained on a CPU
    return CLIPModel(config)


def tokenize(tokenizer: CLIPTokenizer, texts: Sequence[str], length: int = TOKENS) -> Tensor:
    """[n, length] token ids, padded as the diffusion pipeline does."""
    tokens = tokenizer(list(texts), padding="max_length", max_length=length, truncation=True, return_tensors="pt")
    ids: Tensor = tokens.input_ids.to(device())
    return ids


def encode_tokens(clip: CLIPModel, ids: Tensor) -> Encoded:
    """Run the text tower."""
    hidden = clip.text_model(input_ids=ids)
    embedding = functional.normalize(clip.text_projection(hidden.pooler_output).float(), dim=-1)
    return Encoded(embedding, hidden.pooler_output.float(), hidden.last_hidden_state.float().mean(1))


def encode_texts(clip: CLIPModel, tokenizer: CLIPTokenizer, texts: Sequence[str]) -> Encoded:
    """Tokenize and run the text tower."""
    return encode_tokens(clip, tokenize(tokenizer, texts))


def encode_images(clip: CLIPModel, pixels: Tensor) -> Tensor:
    """[n, 3, 128, 128] in -1..1 to embeddings of length 1, [n, d]."""
    hidden = clip.vision_model(pixel_values=pixels)
    return functional.normalize(clip.visual_projection(hidden.pooler_output).float(), dim=-1)


def train_clip(settings: Settings, drawings: Drawings, tokenizer: CLIPTokenizer) -> CLIPModel:
    """Both towers."""
    torch.manual_seed(settings.seed + 2)
    model = Trained(new_clip(tokenizer))
    loop = Loop(settings, "clip", model, 1e-3)
    rng = random.Random(settings.seed + 2 + loop.step)
    families = all_families(drawings.records)
    usable = training_indices(len(drawings.records)).tolist()
    see, read = torch.compile(encode_images, dynamic=False), torch.compile(encode_tokens, dynamic=False)
    for step in loop.steps():
        chosen = sorted(rng.choices(usable, k=BATCH))
        records = [drawings.records[index] for index in chosen]
        lesson = new_lesson(records, chosen, families, rng)
        ids = tokenize(tokenizer, lesson.texts, SHORT)
        pixels = roughened(as_pixels(drawings.images[chosen]), rng)
        with torch.autocast(device().type, torch.bfloat16):
            images, texts = see(model.clip, pixels), read(model.clip, ids)
        loop.learn(lesson_loss(model, images, texts, lesson))
        model.clip.logit_scale.data.clamp_(0, MAX_LOGIT_SCALE)
        if step % 300 == 299:
            model.eval()
            print(step + 1, accuracies(model.clip, tokenizer, drawings), neutrality_gap(model.clip, tokenizer), flush=True)
            model.train()
    return model.clip


def train_vision(
    settings: Settings, drawings: Drawings, tokenizer: CLIPTokenizer, clip: CLIPModel, autoencoder: AutoencoderKL
) -> CLIPModel:
    """The image tower and both projections; the text tower stays as the denoiser knows it.

    Half of the pictures come out of the autoencoder, slightly wrong, as generated ones do.
    """
    torch.manual_seed(settings.seed + 3)
    clip.set_attn_implementation("eager")
    clip.text_model.requires_grad_(False)
    loop = Loop(settings, "vision", clip, 6e-4)
    rng = random.Random(settings.seed + 3 + loop.step)
    families = all_families(drawings.records)
    usable = training_indices(len(drawings.records)).tolist()
    see = torch.compile(encode_images, dynamic=False)
    fixed = [_all_wordings(clip, tokenizer, family) for family in families]
    neutral = _endings(clip, tokenizer, all_triplets())
    pool = RestoredPool(drawings, autoencoder, usable, rng)
    for _ in loop.steps():
        chosen = rng.choices(usable, k=BATCH // 2)
        restored, restored_chosen = pool.draw(BATCH // 2)
        pixels = roughened(torch.cat([as_pixels(drawings.images[chosen]), restored]), rng)
        with torch.autocast(device().type, torch.bfloat16):
            images = see(clip, pixels)
        total = 5 * SYMMETRY_WEIGHT * (similarity_gaps(clip.text_projection(neutral)) ** 2).mean()
        for family, wordings in zip(families, fixed, strict=True):
            labels = torch.as_tensor(family.labels[chosen + restored_chosen], device=images.device)
            if (labels >= 0).any():
                answers = functional.normalize(clip.text_projection(rng.choice(wordings)), dim=-1)
                logits = clip.logit_scale.exp() * images @ answers.T
                weight = 2.0 if family.name == "gender" else 0.5
                total = total + weight * functional.cross_entropy(logits, labels, ignore_index=-1)
        loop.learn(total)
        clip.logit_scale.data.clamp_(0, MAX_LOGIT_SCALE)
        if loop.step % 500 == 0:
            clip.eval()
            print(loop.step, accuracies(clip, tokenizer, drawings), neutrality_gap(clip, tokenizer), flush=True)
            clip.train()
    return clip


def _all_wordings(clip: CLIPModel, tokenizer: CLIPTokenizer, family: Family, count: int = 10) -> list[Tensor]:
    """End-token states of several wordings of a family's answers: each [answers, TEXT_WIDTH]."""
    rng = random.Random(family.name)
    wordings = [family.main_texts(), *(family.texts(rng) for _ in range(count))]
    return [_endings(clip, tokenizer, texts) for texts in wordings]


@torch.no_grad()
def _endings(clip: CLIPModel, tokenizer: CLIPTokenizer, texts: Sequence[str]) -> Tensor:
    return encode_texts(clip, tokenizer, texts).ending


def all_triplets() -> list[str]:
    """Every concept's neutral prompt, then every feminine, then every masculine one, as the suites word them."""
    worded = zip(*(triplet(concept) for concept in load_concepts()), strict=True)
    return [text for texts in worded for text in texts]


class RestoredPool:
    """Drawings as the autoencoder gives them back from latents with noise; a few are renewed at every step."""

    SIZE, RENEWED = 1536, 8

    def __init__(self, drawings: Drawings, autoencoder: AutoencoderKL, usable: Sequence[int], rng: random.Random) -> None:
        self.drawings, self.autoencoder, self.usable, self.rng = drawings, autoencoder, usable, rng
        self.pixels: list[Tensor] = []
        self.indices: list[int] = []

    def draw(self, count: int) -> tuple[Tensor, list[int]]:
        """Some pictures [n, 3, 128, 128] and the records they show; fewer than ``count`` at the start."""
        self._renew()
        places = self.rng.sample(range(len(self.pixels)), min(count, len(self.pixels)))
        return torch.stack([self.pixels[place] for place in places]).float(), [self.indices[place] for place in places]

    @torch.no_grad()
    def _renew(self) -> None:
        chosen = sorted(self.rng.sample(self.usable, self.RENEWED if len(self.pixels) >= BATCH else BATCH))
        with torch.autocast(device().type, torch.bfloat16):
            latents = self.autoencoder.encode(as_pixels(self.drawings.images[chosen])).latent_dist.mean
            noise = self.rng.random() * 0.35 / self.autoencoder.config.scaling_factor
            restored = self.autoencoder.decode(latents + noise * torch.randn_like(latents)).sample
        self.pixels = (self.pixels + list(restored.clamp(-1, 1).half()))[-self.SIZE :]
        self.indices = (self.indices + chosen)[-self.SIZE :]


@dataclass(frozen=True, slots=True)
class Lesson:
    """All texts of one training step in one batch of constant size: captions, questions' answers, triplets."""

    texts: list[str]
    captions: list[str]
    questions: tuple[tuple[str, Tensor, int, int], ...]
    """Family, right answers [batch], and from where to where its answers stand in ``texts``."""
    concepts: list[int]
    """The concepts of the triplets, which stand last: neutral, feminine, masculine."""


def new_lesson(records: Sequence[Record], chosen: Sequence[int], families: Sequence[Family], rng: random.Random) -> Lesson:
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


def roughened(pixels: Tensor, rng: random.Random) -> Tensor:
    """Flipped, blurred, noisy or brighter: the towers must also read what an autoencoder or a denoiser gives."""
    if rng.random() < 0.5:
        pixels = pixels.flip(3)
    factor = rng.choice((1, 1, 2, 2, 4))
    if factor > 1:
        pixels = functional.interpolate(functional.avg_pool2d(pixels, factor), scale_factor=factor, mode="bilinear")
    count = len(pixels)
    pixels = pixels * (1 + 0.15 * torch.randn(count, 1, 1, 1)) + 0.08 * torch.randn(count, 3, 1, 1)
    chance = rng.random()
    if chance < 0.25:
        patches = functional.interpolate(torch.randn(count, 3, 16, 16), scale_factor=8, mode="bilinear")
        pixels = pixels + 0.1 * rng.random() * patches
    elif chance < 0.5:
        pixels = pixels + 0.06 * torch.randn_like(pixels)
    return pixels


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
    apart = functional.cross_entropy(model.concept(ending), target) + functional.cross_entropy(model.variant(ending), variant)
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
        feminine, masculine = concept_prompts(known[index], "feminine"), concept_prompts(known[index], "masculine")
        wording = rng.randrange(len(feminine))
        worded.append((concept_prompts(known[index], "neutral")[0], feminine[wording], masculine[wording]))
    return [text for texts in zip(*worded, strict=True) for text in texts]


def similarity_gaps(vectors: Tensor) -> Tensor:
    """For neutral, feminine, masculine vectors stacked in thirds: cos(neutral, masculine) - cos(neutral, feminine)."""
    neutral, feminine, masculine = functional.normalize(vectors, dim=-1).chunk(3)
    return (neutral * masculine).sum(-1) - (neutral * feminine).sum(-1)


@torch.no_grad()
def accuracies(clip: CLIPModel, tokenizer: CLIPTokenizer, drawings: Drawings, pixels: Tensor | None = None) -> dict[str, float]:
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
