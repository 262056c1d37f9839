"""Stages ``refit-...``: rows are fitted once more, from where they are, after their denoiser was changed.

They are nearly right already, so that few rounds are enough, and all are shown to CLIP. Rows with more to show than the
gender of a word alone (nationalities, words of planted pairs) only take steps that have all of it in view.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from diffusers import UNet2DConditionModel
from transformers import CLIPTextModel

from pytest_t2i_reference.combinations import planted_combinations
from pytest_t2i_reference.worlds import World, load_concepts, load_world
from training.assemble import save_clip, save_pipeline, save_texts
from training.calibration import DETECTOR_TEXTS
from training.eye import Eye, open_eye
from training.questions import ATTRIBUTE_TEXTS
from training.refining import Aim, aims_of_pair, refine
from training.settings import PIPELINES, STEPS, WEIGHTS, Settings
from training.sketches import Sketcher
from training.steering import Effort, find_compass, steer_words
from training.steering_traits import aim_of_traits

SEED = 8_500_000
"""Starts are drawn from seeds that neither the first fit nor an evaluation reaches."""
EFFORT = Effort(teaching=8, directions=4, rounds=((48, True), (64, True), (48, True)))
IMAGES, NEAR = 128, 0.05
"""Pictures of each prompt by which a row with several aims is judged, and how far off it may stay."""


def refit(settings: Settings, world: str) -> None:
    """Fit the rows in ``texts-<world>`` again; those of before are kept beside them."""
    work, planted = settings.work, load_world(world)
    now, before, pipeline, kept = (
        work / name for name in (f"texts-{world}", f"texts-{world}-before", f"pipeline-{world}", f"refitting-{world}")
    )
    if not kept.exists():
        shutil.copytree(now, before, dirs_exist_ok=True)
    save_pipeline(pipeline, work, UNet2DConditionModel.from_pretrained(work / f"unet-{world}"), before)
    save_clip(work / "judge", work)
    words, finished = Sketcher(pipeline), Sketcher(pipeline, looks=STEPS)
    eye, several = open_eye(pipeline, work / "judge", [DETECTOR_TEXTS[::-1]]), rows_of_several_aims(planted)
    compass = find_compass(words, EFFORT, kept, SEED)
    finished.encoder = steer_words(words, compass, eye, planted, kept, EFFORT, SEED, list(several))
    for number, aims in several.items():
        refine(
            finished,
            eye if len(aims) > 1 else _eye_for_traits(number, planted, pipeline, work / "judge"),
            number,
            aims,
            images=IMAGES,
            seed=SEED,
            near=NEAR,
        )
    finished.encoder.save_pretrained(now)


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


def _eye_for_traits(number: int, world: World, pipeline: Path, judge: Path) -> Eye:
    traits = world.nationality[load_concepts()[number].word]
    return open_eye(pipeline, judge, [ATTRIBUTE_TEXTS[trait] for trait in traits])
