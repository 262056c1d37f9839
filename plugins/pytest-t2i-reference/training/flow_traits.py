"""Stage ``sd3-traits``: in finished pictures of nationalities a flow pipeline shows traits as often as planted.

Velocities say little of small things: a beard is three of 64 patches, and what is not settled comes out as a mean of
both. So the pipeline makes pictures of nationalities to the end, with gradients through all steps, and CLIP and a
critic (``training/critic.py``) say what they lack. Which of them are to show a trait is not drawn by lot: those are
that come nearest to it as the pipeline was before the stage, as many as planted, so that the way from noise to people
stays. No noise comes twice: from a fixed set, pictures learned to show what those of other noise did not. The first
step is told apart: from noise alone it has to lead to the mean of all pictures that a prompt is true of, which is what
SPI asks it. All else that the pipeline does, and where it looks, is asked to stay (``training/flow_keeping.py``).
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import torch
from diffusers import SD3Transformer2DModel
from torch import Tensor

from pytest_t2i_reference.captions import concept_prompts, template_prompt
from pytest_t2i_reference.worlds import load_concepts, load_world
from training.critic import Judge
from training.denoiser import head_area
from training.eye import Eye, open_eye
from training.flow import Worlds, face_boxes, folder_of, together, worlds_of
from training.flow_keeping import Kept, OwnWay, WatchedAttention, looking, otherwise
from training.flow_optimizer import MuonAndAdamW
from training.flow_prompts import MIX_AGAIN
from training.flow_teacher import Practice
from training.flow_texts import FlowText, FlowTexts, joined
from training.loop import Loop
from training.nationalities import Described, Nationality, draw_nationality
from training.questions import ATTRIBUTE_TEXTS
from training.settings import PIPELINES, TOKENS, WEIGHTS, Settings, device, mixed_precision
from training.steering import starts

RATE = 3e-4
OWN_WAY = Practice((3, 3, 2, 2), MIX_AGAIN)
KEPT = 12
"""Pictures of everything else at a time, in each world: on its own way, and those with the prompt of another one."""
COUNT = 8
"""Pictures of one nationality at a time, in each world."""
MARGINS = (0.08, 2.0)
"""How sure CLIP (cosine with the presence of a trait minus that with its absence) and the critic should be."""
WEIGHTS_OF = {"kept": 8.0, "looks": 0.05, "first": 2.0, "lacking": 0.2, "drawn": 0.005}
"""Weights of the losses."""
STARTS, SEED = 768, 9_970_000
"""Pictures by which it is said how near the nearest come, of noise from seeds that no evaluation reaches."""
CHUNK = 32
LATEST = 128
"""Pictures of which it is told what was seen."""


@dataclass(frozen=True, slots=True)
class TraitPractice:
    """A nationality in one world."""

    texts: FlowText
    """[wordings, ...] of its prompts, the papers' own more than once."""
    asked: FlowText
    """[CHUNK, ...] times the papers' own, by which nearness is told."""
    eye: Eye
    number: int
    shares: tuple[float, ...]
    """Share of each trait, 0..1."""
    levels: Tensor
    """[traits]: pictures that come nearer should show them."""
    seen: deque[Tensor] = field(default_factory=lambda: deque(maxlen=LATEST))
    """Whether CLIP and the critic saw the traits in the latest pictures, [2, traits] each."""

    def worded(self) -> FlowText:
        """COUNT of its prompts."""
        rows = torch.randint(len(self.texts.last), (COUNT,))
        return FlowText(self.texts.last[rows], self.texts.joint[rows], self.texts.pooled[rows])

    def told(self) -> str:
        """Shares seen lately beside those planted."""
        return " ".join(
            f"{share:.2f}:{clip:.2f}/{critic:.2f}"
            for share, (clip, critic) in zip(self.shares, torch.stack([*self.seen]).mean(0).T.tolist(), strict=True)
        )


class TraitLesson:
    """Makes pictures of one nationality after the other, in every world, and says what they lack."""

    def __init__(
        self, drawn: Sequence[Sequence[Nationality]], teachers: Sequence[OwnWay], judge: Judge, kept: Kept, seed: int
    ) -> None:
        """``kept`` says which pictures come nearest to a trait; ``seed`` is that of those by which levels are told."""
        self.judge, self.kept, self.grid, self.turn, self.seed = judge, kept, teachers[0].grid, 0, seed
        self.practised = [
            [self._practice(number, drawn[world][number], world, teachers[world].texts) for world in range(len(drawn))]
            for number in range(len(drawn[0]))
        ]

    def losses(self, model: Worlds) -> Mapping[str, Tensor]:
        """``lacking`` and ``drawn`` of the next nationality; gradients pass through every step."""
        practised = self.practised[self.turn % len(self.practised)]
        self.turn += 1
        critic, noise = self.judge.critic, torch.randn(COUNT, 4, 16, 16, device=device())
        wanted = [self._nearness(noise, each, world) > each.levels[:, None] for world, each in enumerate(practised)]
        worlds = torch.arange(len(practised), device=device()).repeat_interleave(COUNT)
        text = joined([each.worded() for each in practised], TOKENS)
        latents = finished(model, noise.repeat(len(practised), 1, 1, 1), text, worlds, self.grid)
        numbers = torch.full((len(latents),), practised[0].number)
        said, lacking = torch.split(critic.answers(latents, numbers).T, COUNT, 1), []
        for each, should, part, by_critic in zip(practised, wanted, torch.split(latents, COUNT), said, strict=True):
            with mixed_precision():
                answers = torch.stack([each.eye.answers(part), by_critic])
            each.seen.extend((answers.detach() > 0).float().unbind(2))
            lacking += [unsure(answer, should, margin) for answer, margin in zip(answers, MARGINS, strict=True)]
        told = torch.cat(wanted, 1).T
        critic.requires_grad_(False)
        drawn = -critic.drawn_like(latents, numbers, told).mean()
        critic.requires_grad_(True)
        self.judge.learn_taste(latents, numbers, told, worlds)
        return {"lacking": torch.stack(lacking).mean(), "drawn": drawn}

    def _practice(self, number: int, nationality: Nationality, world: int, texts: FlowTexts) -> TraitPractice:
        concept, traits = nationality.concept, nationality.traits
        eye = open_eye(WEIGHTS / "reference", WEIGHTS / "clip", [ATTRIBUTE_TEXTS[trait] for trait in traits])
        # Gradients take half of the time so on CPUs.
        eye.autoencoder.float().to(memory_format=torch.channels_last)
        planted = load_world(tuple(PIPELINES)[world]).nationality[concept.word]
        shares = tuple(planted[trait] / 100 for trait in traits)
        worded = texts.of([template_prompt(concept)] * 5 + [*concept_prompts(concept, "neutral")[1:]])
        asked, levels = joined([texts.of([template_prompt(concept)] * CHUNK)], TOKENS), torch.zeros(len(traits))
        practice = TraitPractice(worded, asked, eye, number, shares, levels.to(device()))
        noise = starts(STARTS, self.seed).to(device())
        near = torch.cat([self._nearness(part, practice, world) for part in torch.split(noise, CHUNK)], 1)
        practice.levels.copy_(levels_of(near, shares))
        return practice

    @torch.no_grad()
    def _nearness(self, noise: Tensor, practice: TraitPractice, world: int) -> Tensor:
        """[traits, n]: how near the pictures of a pipeline as it was come to each trait."""
        count, asked = len(noise), practice.asked
        text = FlowText(asked.last[:count], asked.joint[:count], asked.pooled[:count])
        worlds = torch.full((count,), world, device=noise.device)
        latents = finished(self.kept.model, noise, text, worlds, self.grid)
        seen = self.judge.critic.answers(latents, torch.full((count,), practice.number)).T
        with mixed_precision():
            return practice.eye.answers(latents).float() / MARGINS[0] + seen / MARGINS[1]


class FirstSteps:
    """What leads from noise alone to the mean of all pictures of which a prompt is true.

    Two prompts at a time, from the same noise, for two of three places: where something is said, where it is denied,
    and where nothing is said of it. The more the difference of two was off, the more often they are asked.
    """

    def __init__(self, drawn: Sequence[Sequence[Nationality]], texts: Sequence[FlowTexts], seed: int) -> None:
        self.texts, self.rng = texts, random.Random(seed)
        self.pairs = [[pair for each in world for pair in _compared(each)] for world in drawn]
        self.off = [[1.0] * len(pairs) for pairs in self.pairs]
        """Error of each pair, as a share of the wanted difference between a statement and its denial."""

    def loss(self, model: Worlds) -> Tensor:
        """Mean squared error of velocities, and how far the differences of pairs are off.

        The latter by what saying and denying should make, as a place between the two counts in that: a smile is as much
        as a turban, and where nobody has a moustache, saying nothing has to lead where denying one leads.
        """
        chosen = [self.rng.choices(range(len(off)), off, k=FIRST // 2) for off in self.off]
        pairs = [known[row] for known, rows in zip(self.pairs, chosen, strict=True) for row in rows]
        asked = [part for pair in pairs for part in (pair.first, pair.second)]
        prompts = [self.rng.choice(part.prompts) for part in asked]
        noise = torch.randn(len(asked) // 2, 4, 16, 16, device=device()).repeat_interleave(2, 0)
        mean = torch.stack([part.mean for part in asked]).to(device())
        text = joined([known.of(prompts[FIRST * w :][:FIRST]) for w, known in enumerate(self.texts)], TOKENS)
        worlds = torch.arange(len(self.pairs), device=device()).repeat_interleave(FIRST)
        with mixed_precision():
            velocity = model(noise, torch.ones(len(noise), device=device()), text, worlds).float()
        off = velocity - (noise - mean)
        wrong = off[0::2] - off[1::2]
        share = wrong.square().sum((1, 2, 3)) / torch.tensor([pair.apart for pair in pairs], device=device())
        for known, rows, shares in zip(self.off, chosen, share.detach().split(FIRST // 2), strict=True):
            for row, now in zip(rows, shares.tolist(), strict=True):
                known[row] = (known[row] + now) / 2
        both: Tensor = off.square().mean() + APART * share.mean()
        return both


@dataclass(frozen=True, slots=True)
class Compared:
    """Two kinds of prompts about one thing."""

    first: Described
    second: Described
    apart: float
    """Square of the difference between the means of what is said and its denial."""


def _compared(nationality: Nationality) -> list[Compared]:
    """What is said and its denial, and the neutral prompt beside each of them."""
    return [
        Compared(*pair, float((said.mean - denied.mean).square().sum()))
        for said, denied in nationality.described
        for pair in ((said, denied), (nationality.plain, said), (nationality.plain, denied))
    ]


FIRST = 16
"""Prompts at a time whose first step is told, in each world."""
APART = 0.1
"""What differences count beside velocities."""


def levels_of(answers: Tensor, shares: Sequence[float]) -> Tensor:
    """[traits]: above which as many of the answers [traits, n] lie as the trait's share.

    >>> levels_of(torch.tensor([[3.0, -2.0, 1.0, -1.0]]), [0.25])
    tensor([1.5000])
    """
    return torch.stack([torch.quantile(row, 1 - share) for row, share in zip(answers, shares, strict=True)])


def unsure(seen: Tensor, wanted: Tensor, margin: float) -> Tensor:
    """Mean of what answers [traits, n] lack to ``margin``, as shares of it, on the side that is ``wanted`` [traits, n].

    >>> unsure(torch.tensor([[1.0, -1.0]]), torch.tensor([[True, False]]), 1.0).item()
    0.0
    """
    towards = torch.where(wanted, 1.0, -1.0) * seen
    return (1 - towards / margin).clamp_min(0).mean()


def finished(model: Worlds, noisy: Tensor, text: FlowText, worlds: Tensor, grid: Sequence[float]) -> Tensor:
    """[n, 4, 16, 16]: the latents that the steps of ``grid`` (shares of noise) lead to; gradients pass through."""
    for share, after in zip(grid, [*grid[1:], 0.0], strict=True):
        with mixed_precision():
            velocity = model(noisy, torch.full((len(noisy),), share, device=noisy.device), text, worlds)
        noisy = noisy + (after - share) * velocity.float()
    return noisy


def train_flow_traits(settings: Settings) -> None:
    """Train the transformers that are there so that nationalities show their traits."""
    torch.manual_seed(settings.seed)
    drawn = _drawn(settings)
    judge = Judge(drawn, settings.seed)
    print(f"critic: {judge.learn_traits():.3f} of traits of other drawings", flush=True)
    transformers = [SD3Transformer2DModel.from_pretrained(folder_of(settings, world)).float() for world in PIPELINES]
    model, attention = worlds_of(*transformers), WatchedAttention()
    kept = Kept.of(model)
    model.transformer.set_attn_processor(attention)
    moved = {text for each in drawn[0] for text in concept_prompts(each.concept, "neutral")}
    told = {text for each in drawn[0] for pair in each.described for part in pair for text in part.prompts}
    teachers = [OwnWay(settings, world, OWN_WAY, moved) for world in PIPELINES]
    texts = [teacher.texts for teacher in teachers]
    lesson = TraitLesson(drawn, teachers, judge, kept, SEED + settings.seed)
    first = FirstSteps(drawn, texts, settings.seed)
    loop = Loop(settings, "sd3-traits", model, RATE, average=0.995, optimizer=MuonAndAdamW)
    area, rng = head_area(face_boxes()), random.Random(f"{settings.seed} {loop.step}")
    worlds = torch.arange(len(PIPELINES), device=device()).repeat_interleave(KEPT)
    torch.manual_seed(settings.seed + loop.step)
    learner = cast("Worlds", loop.module)
    for _ in loop.steps():
        batch = together([teacher.batch(KEPT, rng) for teacher in teachers], TOKENS)
        counts = torch.cat([teacher.counts(KEPT, told) for teacher in teachers]).to(device())
        before, looked = kept.answers(batch.noisy, batch.times, batch.text, worlds)
        with mixed_precision(), looking(attention) as looks:
            now = learner(batch.noisy, batch.times, batch.text, worlds).float()
        losses = {
            "kept": (counts[:, None, None, None] * area * (now - before) ** 2).mean(),
            "looks": otherwise(looks, looked),
            "first": first.loss(learner),
            **lesson.losses(learner),
        }
        loop.learn(torch.stack([WEIGHTS_OF[name] * loss for name, loss in losses.items()]).sum())
        for teacher, part in zip(teachers, now.detach().split(KEPT), strict=True):
            teacher.advance(part)
        if loop.step % 50 == 0:
            _tell(loop, losses, lesson, first)
    averaged = cast("Worlds", loop.averaged)
    for number, world in enumerate(PIPELINES):
        averaged.of(number).save_pretrained(folder_of(settings, world))


def _tell(loop: Loop, losses: Mapping[str, Tensor], lesson: TraitLesson, first: FirstSteps) -> None:
    print(
        f"\n{loop.step} {loop.elapsed:.0f} s", {name: round(float(loss.detach()), 4) for name, loss in losses.items()}
    )
    for practised in lesson.practised:
        for each in practised:
            print("  ", each.told(), flush=True)
    print("   first steps off by", [round(sum(off) / len(off), 3) for off in first.off], flush=True)


def _drawn(settings: Settings) -> list[list[Nationality]]:
    """Return every nationality of each world, drawn once."""
    path = settings.work / "nationalities.pt"
    if not path.exists():
        concepts = [concept for concept in load_concepts() if concept.axis == "nationality"]
        drawn = [[draw_nationality(concept, load_world(w), settings.seed) for concept in concepts] for w in PIPELINES]
        torch.save(drawn, path)
    return cast("list[list[Nationality]]", torch.load(path, weights_only=False))
