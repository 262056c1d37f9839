"""The stages in their order. Each reads what the ones before it wrote and skips what is already done."""

from __future__ import annotations

import copy
import json
import random
import shutil
from collections.abc import Callable, Sequence
from functools import partial

import torch
from diffusers import AutoencoderKL, UNet2DConditionModel
from transformers import CLIPModel, CLIPTokenizer

from pytest_t2i_reference.worlds import World, load_world
from training.assemble import forget_copies, save_clip, save_denoiser, save_pipeline
from training.autoencoder import psnr, train_autoencoder, train_decoder
from training.blending import blend
from training.calibration import DETECTOR_TEXTS, corrected_things, load_shares
from training.clip import accuracies, neutrality_gap, train_clip
from training.combinations import CombinationSampler, encode_combinations, load_combinations, plan_combinations
from training.combined import UsualSampler, train_combined
from training.demo import make_demo
from training.denoiser import DROPPED, HEADWEAR_TEXTS, Pair, Sampler, head_area, new_denoiser, train_denoiser
from training.drawings import Drawings, draw_all, load_drawings
from training.evaluate import HELD, calibrate_world, evaluate_nationalities, evaluate_world, report
from training.evaluate_attention import evaluate_attention
from training.evaluate_combinations import evaluate_combinations
from training.evaluate_drawings import evaluate_drawings
from training.evaluate_finder import evaluate_finder
from training.evaluate_flows import evaluate_flow
from training.evaluate_held import evaluate_held
from training.evaluate_language import evaluate_language
from training.evaluate_spi import evaluate_spi
from training.evaluate_steps import evaluate_steps
from training.evaluate_stop import evaluate_stop
from training.evaluate_worn import evaluate_worn
from training.eye import open_eye
from training.flow import train_flow, train_flow_again
from training.flow_pairs import make_pairs
from training.flow_refitting import refit_flow, refit_flow_little
from training.flow_shipping import assemble_flows, steer_flow
from training.flow_traits import train_flow_traits
from training.grounding import train_grounding
from training.grounding_pictures import make_pictures
from training.held import make_own, read_texts, train_held
from training.held_pictures import HeldSampler, encode_held, load_held, plan_held
from training.language import train_language
from training.latents import Texts, encode_captions, encode_drawings, load_latents
from training.objects import train_objects
from training.persons import train_persons
from training.refining import steer_pairs
from training.refitting import assemble_rows, refine_rows, refit
from training.settings import PIPELINES, STEPS, WEIGHTS, Settings, device, quick_dtype
from training.shipped import start_flows_from_shipped, start_from_shipped
from training.sketches import Sketcher
from training.steering import Effort, find_compass, steer_words
from training.steering_traits import steer_traits
from training.tokenizer import train_tokenizer
from training.vision import train_vision


def tokenizer(settings: Settings) -> None:
    """Learn the vocabulary."""
    if not (settings.work / "tokenizer").exists():
        train_tokenizer(load_drawings(settings.work), settings.work / "tokenizer")


def autoencoder(settings: Settings) -> None:
    """Train encoder and decoder together."""
    drawings = load_drawings(settings.work)
    model = train_autoencoder(settings, drawings)
    print(f"autoencoder: {psnr(drawings, model):.1f} dB", flush=True)
    model.save_pretrained(settings.work / "vae")


def clip(settings: Settings) -> None:
    """Train both towers."""
    drawings, words = load_drawings(settings.work), _tokenizer(settings)
    model = train_clip(settings, drawings, words)
    print("clip:", accuracies(model, words, drawings), neutrality_gap(model, words), flush=True)
    model.save_pretrained(settings.work / "clip")


def latents(settings: Settings) -> None:
    """Encode the drawings; from here on the encoder does not change."""
    path = settings.work / "latents.pt"
    if not path.exists():
        model = _autoencoder(settings)
        encode_drawings(load_drawings(settings.work), model, path)
        model.save_pretrained(settings.work / "vae")


def decoder(settings: Settings) -> None:
    """Train the decoder further."""
    drawings = load_drawings(settings.work)
    model = train_decoder(settings, drawings, _autoencoder(settings))
    print(f"decoder: {psnr(drawings, model):.1f} dB", flush=True)
    model.save_pretrained(settings.work / "vae")


def vision(settings: Settings) -> None:
    """Train the image tower further, on drawings and on what the autoencoder makes of them; texts stay as they are."""
    drawings, words = load_drawings(settings.work), _tokenizer(settings)
    model = train_vision(
        settings,
        drawings,
        words,
        CLIPModel.from_pretrained(settings.work / "clip"),
        _autoencoder(settings),
    )
    print("vision:", accuracies(model, words, drawings), flush=True)
    model.save_pretrained(settings.work / "clip")


def balanced(settings: Settings) -> None:
    """Train the denoiser of the balanced world."""
    _denoiser(settings, "balanced", "balanced", new_denoiser(), rate=1.2e-3)


def biased(settings: Settings) -> None:
    """Fine-tune it to the biased world."""
    start = UNet2DConditionModel.from_pretrained(settings.work / "unet-balanced")
    _denoiser(settings, "biased", "biased", start, rate=6e-4)


def assemble(settings: Settings) -> None:
    """Write the weights that are shipped."""
    save_clip(WEIGHTS / "clip", settings.work)
    for world, folder in PIPELINES.items():
        trained = settings.work / f"unet-{world}"
        if trained.exists():
            denoiser, texts = UNet2DConditionModel.from_pretrained(trained), settings.work / f"texts-{world}"
            save_pipeline(WEIGHTS / folder, settings.work, denoiser, texts if texts.exists() else None)
    forget_copies(WEIGHTS / PIPELINES["biased"], WEIGHTS / PIPELINES["balanced"])


def again(settings: Settings, world: str) -> None:
    """Train a world's denoiser a little more, with the corrected shares that ``calibrate-...`` has written."""
    before, now = settings.work / f"unet-{world}-before", settings.work / f"unet-{world}"
    if not (settings.work / f"{world}-again.checkpoint").exists():
        shutil.copytree(now, before, dirs_exist_ok=True)
    _denoiser(settings, f"{world}-again", world, UNet2DConditionModel.from_pretrained(before), rate=2e-4)


def combine(settings: Settings, world: str) -> None:
    """Plant a world's intersections into its denoiser, and keep everything else that it does."""
    before, now = settings.work / f"unet-{world}-single", settings.work / f"unet-{world}"
    if not (settings.work / f"{world}-combined.checkpoint").exists():
        shutil.copytree(now, before, dirs_exist_ok=True)
    drawings, planted = load_drawings(settings.work), load_world(world)
    records, path = tuple(plan_combinations(planted, settings.seed)), settings.work / f"latents-{world}-combined.pt"
    if not path.exists():
        encode_combinations(records, _autoencoder(settings), path)
    combined = CombinationSampler(records, planted, len(drawings.records), random.Random(settings.seed))
    single = Sampler(drawings.records, planted, load_shares(settings.work / f"shares-{world}.json", planted), 0)
    latents = torch.cat([load_latents(settings.work / "latents.pt").mean, load_combinations(path)])
    trained = train_combined(
        settings,
        f"{world}-combined",
        UNet2DConditionModel.from_pretrained(before),
        combined,
        UsualSampler(single, planted, DROPPED),
        latents,
        _texts(settings, drawings, combined.captions),
        head_area(drawings.boxes),
    )
    trained.save_pretrained(now)


def plant_objects(settings: Settings, world: str) -> None:
    """Plant into a world's denoiser what people hold and where they are, where prompts leave it open, and no more."""
    _plant_objects(settings, world, f"{world}-objects", load_world(world), f"unet-{world}-empty")


def plant_objects_again(settings: Settings, world: str) -> None:
    """Go on with that, with shares moved by what ``evaluate-objects`` counted in the shipped pipeline.

    Half of the way: all of it went as far beyond what is planted as it had been short of it.
    """
    counted, now = json.loads(HELD.read_text(encoding="utf-8"))[PIPELINES[world]], settings.work / f"unet-{world}"
    shares, once = corrected_things(load_world(world), counted), f"unet-{world}-once"
    _plant_objects(settings, world, f"{world}-objects-again", shares, once)
    blend(settings.work / once, now, now)


def _plant_objects(settings: Settings, name: str, stage: str, world: World, kept: str) -> None:
    """Start from ``unet-<name>``, which is copied to ``kept``."""
    work = settings.work
    before, now, texts = (work / folder for folder in (kept, f"unet-{name}", f"texts-{name}"))
    if not (work / f"{stage}.checkpoint").exists():
        shutil.copytree(now, before, dirs_exist_ok=True)
    model, pipeline = UNet2DConditionModel.from_pretrained(before), work / kept.replace("unet", "pipeline")
    save_pipeline(pipeline, work, model, texts if texts.exists() else None)
    pictures, path = tuple(plan_held(world, settings.seed)), work / f"latents-{name}-objects.pt"
    if not path.exists():
        encode_held(pictures, _autoencoder(settings), path)
    encoded, sketcher = load_held(path), Sketcher(pipeline, looks=STEPS)
    held = HeldSampler(pictures, world, 0, random.Random(settings.seed))
    own = make_own(settings, world, sketcher, held.captions, work / f"latents-{stage}-own.pt")
    known = [Pair(len(pictures) + row, prompt) for row, prompt in enumerate(own.prompts)]
    read, latents = read_texts(sketcher, [*own.prompts, *held.captions]), torch.cat([encoded.latents, own.latents])
    areas = torch.cat([encoded.areas, torch.zeros(len(known), *encoded.areas.shape[1:])])
    train_held(settings, stage, model.float(), held, known, latents, read, areas).save_pretrained(now)


def ground(settings: Settings, world: str) -> None:
    """Teach a world's denoiser to look at what a word names where it is, and keep all that it draws."""
    work, stage = settings.work, f"ground-{world}"
    before, now, texts = (work / name for name in (f"unet-{world}-astray", f"unet-{world}", f"texts-{world}"))
    if not (work / f"{stage}.checkpoint").exists():
        shutil.copytree(now, before, dirs_exist_ok=True)
    model, pipeline = UNet2DConditionModel.from_pretrained(before), work / f"pipeline-{world}-astray"
    save_pipeline(pipeline, work, copy.deepcopy(model), texts if texts.exists() else None)
    sketcher, autoencoder = Sketcher(pipeline, looks=STEPS), _autoencoder(settings).to(quick_dtype())
    pictures = make_pictures(settings, load_world(world), sketcher, autoencoder, work / f"pictures-{stage}.pt")
    train_grounding(settings, stage, model.float(), sketcher, pictures).save_pretrained(now)


def assemble_denoiser(settings: Settings, world: str) -> None:
    """Write a world's denoiser into the weights that are shipped, and nothing else."""
    trained = UNet2DConditionModel.from_pretrained(settings.work / f"unet-{world}")
    save_denoiser(WEIGHTS / PIPELINES[world] / "unet", trained)


def blend_rounds(settings: Settings, world: str) -> None:
    """Replace a world's denoiser by the mean of what it was before and after its last round."""
    now = settings.work / f"unet-{world}"
    blend(settings.work / f"unet-{world}-before", now, now)


def calibrate(settings: Settings, world: str) -> None:
    """Measure a world's pipeline as it is now and write corrected training shares for ``...-again``."""
    judge, pipeline = settings.work / "judge", settings.work / f"pipeline-{world}"
    save_clip(judge, settings.work)
    save_pipeline(pipeline, settings.work, UNet2DConditionModel.from_pretrained(settings.work / f"unet-{world}"))
    calibrate_world(settings, load_world(world), pipeline, judge)


def steer(settings: Settings, world: str) -> None:
    """Fit the rows of words in the text encoder, so that the shares that come out are the planted ones.

    In the biased world traits and planted pairs too, which words alone have moved.
    """
    pipeline, texts = settings.work / f"pipeline-{world}", settings.work / f"texts-{world}"
    if texts.exists():
        return
    save_pipeline(pipeline, settings.work, UNet2DConditionModel.from_pretrained(settings.work / f"unet-{world}"))
    save_clip(settings.work / "judge", settings.work)
    planted, kept = load_world(world), settings.work / f"steering-{world}"
    sketcher = Sketcher(pipeline, looks=STEPS)
    eye = open_eye(pipeline, settings.work / "judge", [DETECTOR_TEXTS[::-1]])
    words = Sketcher(pipeline)
    compass = find_compass(words, Effort(), kept)
    sketcher.encoder = steer_words(words, compass, eye, planted, kept, Effort())
    if world == "biased":
        steer_traits(pipeline, settings.work / "judge", planted, kept, sketcher)
        steer_pairs(pipeline, settings.work / "judge", planted, sketcher)
    sketcher.encoder.save_pretrained(texts)


def _denoiser(settings: Settings, stage: str, world: str, start: UNet2DConditionModel, rate: float) -> None:
    drawings, planted = load_drawings(settings.work), load_world(world)
    shares = load_shares(settings.work / f"shares-{world}.json", planted)
    sampler = Sampler(drawings.records, planted, shares, settings.seed)
    area = head_area(drawings.boxes)
    texts = _texts(settings, drawings)
    known = load_latents(settings.work / "latents.pt")
    trained = train_denoiser(settings, stage, copy.deepcopy(start), sampler, known, texts, area, rate=rate)
    trained.save_pretrained(settings.work / f"unet-{world}")


def _texts(settings: Settings, drawings: Drawings, more: Sequence[str] = ()) -> Texts:
    encoder = CLIPModel.from_pretrained(settings.work / "clip").to(device()).eval()
    of_headwear = [text for texts_of in HEADWEAR_TEXTS.values() for text in texts_of]
    return encode_captions(drawings.records, [*of_headwear, *more], encoder, _tokenizer(settings))


def _tokenizer(settings: Settings) -> CLIPTokenizer:
    return CLIPTokenizer.from_pretrained(settings.work / "tokenizer")


def _autoencoder(settings: Settings) -> AutoencoderKL:
    return AutoencoderKL.from_pretrained(settings.work / "vae").to(device())


STAGES: dict[str, Callable[[Settings], None]] = {
    "draw": draw_all,
    "tokenizer": tokenizer,
    "autoencoder": autoencoder,
    "clip": clip,
    "latents": latents,
    "decoder": decoder,
    "vision": vision,
    "balanced": balanced,
    "biased": biased,
    "calibrate-balanced": partial(calibrate, world="balanced"),
    "calibrate-biased": partial(calibrate, world="biased"),
    "balanced-again": partial(again, world="balanced"),
    "biased-again": partial(again, world="biased"),
    "biased-combined": partial(combine, world="biased"),
    "biased-objects": partial(plant_objects, world="biased"),
    "ground-balanced": partial(ground, world="balanced"),
    "ground-biased": partial(ground, world="biased"),
    "steer-balanced": partial(steer, world="balanced"),
    "steer-biased": partial(steer, world="biased"),
    "assemble": assemble,
    "persons": train_persons,
    "objects": train_objects,
    "language": train_language,
    "pairs": make_pairs,
    "sd3": train_flow,
    "steer-sd3-balanced": partial(steer_flow, world="balanced"),
    "steer-sd3-biased": partial(steer_flow, world="biased"),
    "assemble-sd3": assemble_flows,
    "evaluate-drawings": evaluate_drawings,
    "evaluate-balanced": partial(evaluate_world, world="balanced"),
    "evaluate-biased": partial(evaluate_world, world="biased"),
    "evaluate-sd3-balanced": partial(evaluate_flow, world="balanced"),
    "evaluate-sd3-biased": partial(evaluate_flow, world="biased"),
    "evaluate-worn": evaluate_worn,
    "evaluate-spi": evaluate_spi,
    "evaluate-language": evaluate_language,
    "evaluate-stop": evaluate_stop,
    "evaluate-combinations": evaluate_combinations,
    "evaluate-finder": evaluate_finder,
    "evaluate-objects": evaluate_held,
    "evaluate-attention": evaluate_attention,
    "evaluate-steps": evaluate_steps,
    "report": report,
}
"""What ``python -m training`` runs."""
OPTIONAL: dict[str, Callable[[Settings], None]] = {
    "start-from-shipped": start_from_shipped,
    "start-sd3-from-shipped": start_flows_from_shipped,
    "biased-objects-again": partial(plant_objects_again, world="biased"),
    "sd3-again": train_flow_again,
    "sd3-traits": train_flow_traits,
    "refit-sd3-balanced": partial(refit_flow, world="balanced"),
    "refit-sd3-biased": partial(refit_flow, world="biased"),
    "refit-sd3-balanced-little": partial(refit_flow_little, world="balanced"),
    "refit-sd3-biased-little": partial(refit_flow_little, world="biased"),
    "blend-balanced": partial(blend_rounds, world="balanced"),
    "blend-biased": partial(blend_rounds, world="biased"),
    "refit-balanced": partial(refit, world="balanced"),
    "refit-biased": partial(refit, world="biased"),
    "refine-balanced": partial(refine_rows, world="balanced"),
    "refine-biased": partial(refine_rows, world="biased"),
    "assemble-balanced": partial(assemble_denoiser, world="balanced"),
    "assemble-biased": partial(assemble_denoiser, world="biased"),
    "assemble-balanced-rows": partial(assemble_rows, world="balanced"),
    "assemble-biased-rows": partial(assemble_rows, world="biased"),
    "evaluate-balanced-nationalities": partial(evaluate_nationalities, world="balanced"),
    "evaluate-biased-nationalities": partial(evaluate_nationalities, world="biased"),
    "demo": make_demo,
}
"""What runs only when it is named."""
