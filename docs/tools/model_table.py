"""The table of models, written from diffusers' classes and the adapter."""

from __future__ import annotations

import csv
import inspect
import io
import sys
import warnings
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import diffusers
from diffusers.pipelines.auto_pipeline import AUTO_TEXT2IMAGE_PIPELINES_MAPPING

from pytest_t2i.adapters.models.calls import GUIDERS, ONE_AT_A_TIME, REWRITINGS, Calls
from pytest_t2i.adapters.models.modular import parameters_of
from pytest_t2i.adapters.models.pipelines import IMAGE_OPTIONAL, half_of_class
from pytest_t2i.adapters.models.prompt_embeddings import family_of

TABLE = Path(__file__).parents[1] / "classes.csv"
TESTS = Path(__file__).parents[2] / "tests"
LACKING = {
    "KolorsPAGPipeline": "needs the package sentencepiece",
    "KolorsPipeline": "needs the package sentencepiece",
    "Cosmos2TextToImagePipeline": "needs the package cosmos_guardrail, whose weights are gated",
}
"""Classes that draw from a prompt where something else is installed."""
OPTIONAL = IMAGE_OPTIONAL | {"ZImageOmniPipeline"}
"""Classes that take a picture and draw without one."""
MITIGATIONS = ("fair_diffusion", "interpolation.mitigations")
"""Modules of the companion whose mitigations act inside a pipeline."""
REASONS = (
    ("writes text", {"LLaDA2Pipeline", "DiffusionGemmaPipeline"}, (), ()),
    ("makes shapes", {"ShapEPipeline"}, (), ()),
    ("makes a text and a picture at once", {"UniDiffuserPipeline"}, (), ()),
    ("gives depth maps beside pictures", {"StableDiffusionLDM3DPipeline"}, (), ()),
    (
        "makes sound",
        {"AceStepPipeline", "StableAudio3Pipeline"},
        ("audio_length_in_s", "audio_end_in_s", "audio_duration"),
        ("Audio",),
    ),
    (
        "makes videos",
        {"AllegroPipeline", "LattePipeline", "MochiPipeline", "LongCatVideoPipeline"},
        ("num_frames", "video", "video_length", "control_video", "frames"),
        ("Video", "LTX", "Helios", "SkyReels", "AnimateDiff", "AnyFlow", "Wan", "Kandinsky6"),
    ),
    ("makes embeddings for another pipeline", set(), (), ("Prior",)),
    ("runs ONNX files, which are not loaded", set(), (), ("Onnx",)),
    (
        "needs a picture",
        {"StableDiffusionDiffEditPipeline", "StableDiffusionPix2PixZeroPipeline"},
        ("control_image", "controlnet_conditioning_scale"),
        ("Edit", "ControlNet", "Img2Img", "Inpaint"),
    ),
)  # fmt: skip
"""Reason, names of classes, arguments of ``__call__``, parts of names: why a class is not run."""


@cache
def tiny_classes() -> frozenset[str]:
    """Names of the classes with which the contract tests make pictures."""
    sys.path.insert(0, str(TESTS))
    return frozenset(import_module("tiny_pipelines").PIPELINES)


@cache
def classes() -> dict[str, Any]:
    """Every class of diffusers that takes a prompt and needs nothing else."""
    mapped = {kind.__name__ for kind in AUTO_TEXT2IMAGE_PIPELINES_MAPPING.values()}
    found = {}
    for name in sorted(name for name in dir(diffusers) if name.endswith("Pipeline")):
        kind = getattr(diffusers, name)
        parameters = {} if hasattr(kind, "_backends") else _parameters(kind)
        needed = {
            each.name
            for each in parameters.values()
            if each.default is each.empty
            and each.kind not in {each.VAR_KEYWORD, each.VAR_POSITIONAL}
        } - {"self", "prompt"}
        if name in mapped | set(LACKING) or ("prompt" in parameters and not needed):
            found[name] = kind
    return found


def _parameters(kind: Any) -> Any:
    """Parameters of a class's ``__call__``; of a modular one, the inputs of its usual blocks."""
    if not issubclass(kind, diffusers.ModularPipeline):
        return inspect.signature(kind.__call__).parameters
    return parameters_of(_of_blocks(kind)) if kind.default_blocks_name else {}


@cache
def _of_blocks(kind: Any) -> Any:
    """A modular pipeline with its usual blocks, without weights."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(diffusers, kind.default_blocks_name)().init_pipeline()


def reason(name: str, kind: Any) -> str | None:
    """Why a class makes no pictures here; None where it does."""
    if name in LACKING:
        return LACKING[name]
    if name in tiny_classes():
        return None
    parameters = _parameters(kind)
    for words, names, arguments, parts in REASONS:
        if name in names or set(arguments) & set(parameters) or any(part in name for part in parts):
            return words
    return "needs a picture" if "image" in parameters and name not in OPTIONAL else None


HEAD = (
    "class", "guidance", "on a GPU", "rewrites", "observed", "mitigation stages", "a call",
    "tested", "why it makes no picture from a prompt",
)  # fmt: skip


def table() -> str:
    """One row for each class that takes a prompt, as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEAD)
    for name, kind in classes().items():
        why = reason(name, kind)
        cells = _cells(name, kind) if why is None else [""] * (len(HEAD) - 2)
        writer.writerow([name, *cells, why or ""])
    return out.getvalue()


def _cells(name: str, kind: Any) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        is_modular = issubclass(kind, diffusers.ModularPipeline)
        pipeline = _of_blocks(kind) if is_modular else kind.__new__(kind)
    calls = Calls(pipeline, family_of(pipeline), {})
    parts = pipeline.component_names if is_modular else inspect.signature(kind.__init__).parameters
    guider = next((part for part in GUIDERS if part in parts), None)
    half = half_of_class(name)
    stages = (stage for stage in REWRITINGS if stage.argument in calls.accepted)
    is_family = calls.family is not None
    return [
        f"the part {guider}" if guider else calls.guidance or "none",
        "" if half is None else str(half).removeprefix("torch."),
        next((stage.argument for stage in stages), ""),
        "all" if is_family else "last" if "callback_on_step_end" in calls.accepted else "",
        ", ".join(_stages(pipeline)),
        "1" if name in ONE_AT_A_TIME else "any" if is_family else "",
        "yes" if name in tiny_classes() else "",
    ]


def _stages(pipeline: Any) -> list[str]:
    """Stages of the companion's mitigations that act inside such a pipeline."""
    bases = {base.__name__ for base in type(pipeline).__mro__}
    stages = set()
    for module in MITIGATIONS:
        for each in vars(import_module(f"pytest_t2i_mitigation.{module}")).values():
            families, stage = getattr(each, "families", None), getattr(each, "stage", None)
            if isinstance(families, tuple) and isinstance(stage, str) and bases & {*families}:
                stages.add(stage)
    return sorted(stages)
