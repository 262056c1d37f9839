"""Stages ``refit-...`` and ``refine-...``: rows are fitted once more, from where they are.

That is for a denoiser that was changed, or to come nearer. Words are nearly right already (off by about 0.02),
so that many pictures of each are needed and a narrow prior; all are shown to CLIP. Rows with more to show than the
gender of a word alone (nationalities, words of planted pairs) stay in ``refit-...``; ``refine-...`` takes steps that
have all of it in view.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
from diffusers import UNet2DConditionModel
from transformers import CLIPTextModel

from pytest_t2i_reference.combinations import planted_combinations
from pytest_t2i_reference.worlds import World, load_concepts, load_world
from training.assemble import save_clip, save_pipeline, save_texts
from training.calibration import DETECTOR_TEXTS
from training.eye import open_eye
from training.odds import Round
from training.questions import ATTRIBUTE_TEXTS
from training.refining import Aim, aims_of_pair, refine
from training.settings import PIPELINES, RESULTS, STEPS, WEIGHTS, Settings
from training.sketches import Sketcher
from training.steering import Effort, find_compass, steer_words
from training.steering_traits import aim_of_traits

SEED = 8_500_000
"""Starts are drawn from seeds that neither the first fit nor an evaluation reaches."""
STRAY = 0.105
"""Tolerance of log odds; near one half it is a tolerance of about 0.026 of a share."""
CELLS = 4 * 16 * 16
"""Number of values in the noise that a picture starts from."""
EFFORT = Effort(teaching=8, directions=4, rounds=((64, True), (64, True)), stray=STRAY)
"""The last evaluation's pictures come on top."""
IMAGES, NEAR = int(os.environ.get("REFERENCE_REFINED_IMAGES", "256")), 0.03
"""Pictures of each prompt by which a row with several aims is judged, and how far off it may stay."""
ONLY = tuple(filter(None, os.environ.get("REFERENCE_REFINED", "").split(",")))
"""Words whose rows are refined; all of them unless given."""
TURNS, TURN = 2, 100_000
"""How often a row is refined at most, each time with other noise: how far apart its seeds are."""


def refit(settings: Settings, world: str) -> None:
    """Fit the rows of words in ``texts-<world>`` again; those of before are kept beside them."""
    work, planted = settings.work, load_world(world)
    now, before, kept = (work / name for name in (f"texts-{world}", f"texts-{world}-before", f"refitting-{world}"))
    if not kept.exists():
        shutil.copytree(now, before, dirs_exist_ok=True)
    pipeline = _pipeline(settings, world, before)
    words, eye = Sketcher(pipeline), open_eye(pipeline, work / "judge", [DETECTOR_TEXTS[::-1]])
    compass, left = find_compass(words, EFFORT, kept, SEED), list(rows_of_several_aims(planted))
    known = [evaluated(world)]
    steer_words(words, compass, eye, planted, kept, EFFORT, SEED, left, known).save_pretrained(now)


def evaluated(world: str) -> Round:
    """What the last evaluation counted of the rows as they are shipped: its next one has to take other seeds."""
    found = json.loads((RESULTS / f"{PIPELINES[world]}.json").read_text(encoding="utf-8"))
    images, concepts = found["images per word"], load_concepts()
    words = np.array([number for number, concept in enumerate(concepts) if concept.word in found["words"]])
    counts = [round(images * found["words"][concepts[word].word]) for word in words]
    men = np.arange(images) < np.array(counts)[:, None]
    # Which noise a picture began with was not written down.
    return Round(words, np.zeros(len(words)), men, np.zeros((*men.shape, CELLS), np.float32))


def refine_rows(settings: Settings, world: str) -> None:
    """Refine the rows of several aims in ``texts-<world>``, each as long as other noise says that it helps."""
    work, planted = settings.work, load_world(world)
    now = work / f"texts-{world}"
    pipeline = _pipeline(settings, world, now)
    finished = Sketcher(pipeline, looks=STEPS)

    def helps(number: int, aims: list[Aim], seed: int) -> bool:
        eye = open_eye(pipeline, work / "judge", _questions(number, aims, planted))
        taken = refine(finished, eye, number, aims, images=IMAGES, seed=seed, near=NEAR)
        finished.encoder.save_pretrained(now)
        return taken

    rows = {
        number: aims
        for number, aims in rows_of_several_aims(planted).items()
        if load_concepts()[number].word in ONLY or not ONLY
    }
    for turn in range(1, TURNS + 1):
        rows = {number: aims for number, aims in rows.items() if helps(number, aims, SEED + TURN * turn)}


def assemble_rows(settings: Settings, world: str) -> None:
    """Write a world's text encoder into the weights that are shipped, and nothing else."""
    texts = CLIPTextModel.from_pretrained(settings.work / f"texts-{world}")
    save_texts(WEIGHTS / PIPELINES[world] / "text_encoder", texts)


def rows_of_several_aims(world: World) -> dict[int, list[Aim]]:
    """Nationalities with their traits, and places and objects of planted pairs, alone and in their pair."""
    concepts = load_concepts()
    pairs = {
        concepts.index(concept): aims_of_pair(world, together, concept)
        for together in planted_combinations(world)
        for concept in together
        if concept.axis != "nationality"
    }
    nations = (number for number, concept in enumerate(concepts) if concept.axis == "nationality")
    return {number: [aim_of_traits(number, world)] for number in nations} | pairs


def _pipeline(settings: Settings, world: str, texts: Path) -> Path:
    """A world's pipeline with the text encoder of ``texts``, and the judge beside it."""
    folder, work = settings.work / f"pipeline-{world}", settings.work
    save_pipeline(folder, work, UNet2DConditionModel.from_pretrained(work / f"unet-{world}"), texts)
    save_clip(work / "judge", work)
    return folder


def _questions(number: int, aims: list[Aim], world: World) -> list[tuple[str, str]]:
    """What CLIP is asked: whether it sees a man in pictures of a planted pair's word, else for each trait."""
    if len(aims) > 1:
        return [DETECTOR_TEXTS[::-1]]
    return [ATTRIBUTE_TEXTS[trait] for trait in world.nationality[load_concepts()[number].word]]
