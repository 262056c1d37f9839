"""Modular pipelines of diffusers: their inputs, their parts wherever they lie, and their loading.

A ModularPipeline is a list of blocks. Its ``__call__`` takes what the blocks take, its parts may
come from several repositories, and those that fail to load are left out with a warning.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pytest_t2i.adapters.identity import WEIGHTS_AND_CONFIGS
from pytest_t2i.adapters.loading import load_failure, needs, remote_code
from pytest_t2i.data import digest
from pytest_t2i.errors import ConfigurationError, ModelLoadError, some
from pytest_t2i.protocols import LoadOptions

with needs("the diffusers adapter", "diffusers"):
    import diffusers
    import huggingface_hub

KIND: type | None = getattr(diffusers, "ModularPipeline", None)
"""The class of modular pipelines; None in a version of diffusers without them."""
UPSAMPLER = "prompt_upsampler"
"""Step, and part, of FLUX.3 that rewrites prompts; a pipeline may lack the part."""
DRAWING = "text2image"
"""Workflow of the blocks that draw from a text alone."""
CODE = "modular_config.json"
"""File of a repository with blocks of its own, which are code."""


def is_modular(pipeline: Any) -> bool:
    return KIND is not None and isinstance(pipeline, KIND)


def parameters_of(pipeline: Any) -> Mapping[str, inspect.Parameter]:
    """The parameters of a pipeline's ``__call__``; of a modular one, the inputs of its blocks."""
    if not is_modular(pipeline):
        return inspect.signature(pipeline.__call__).parameters
    blocks = pipeline.blocks
    try:
        blocks = blocks.get_workflow(DRAWING)
    except (NotImplementedError, ValueError, AttributeError):  # the blocks have one way to run
        blocks = pipeline.blocks
    # Inputs that blocks hand on to each other are required of a block, not of the caller.
    return {
        parameter.name: inspect.Parameter(
            parameter.name, inspect.Parameter.KEYWORD_ONLY, default=parameter.default
        )
        for parameter in blocks.inputs
        if parameter.name
    }


def module_facts(pipeline: Any) -> dict[str, str]:
    """What changes pictures and lies in no file: the blocks, and parts made from settings."""
    if not is_modular(pipeline):
        return {}
    parts = {name: getattr(pipeline, name, None) for name in pipeline.config_component_names}
    settings = {
        name: {"class": type(part).__name__} | {k: repr(v) for k, v in _config(part).items()}
        for name, part in parts.items()
        if part is not None
    }
    steps = ", ".join(pipeline.blocks.sub_blocks)
    return {
        "blocks": f"{type(pipeline.blocks).__name__}: {steps}",
        "made parts": f"sha256:{digest(settings)}",
    }


def _config(part: Any) -> Mapping[str, Any]:
    return {k: v for k, v in dict(getattr(part, "config", {})).items() if not k.startswith("_")}


def parts_of_others(index: Mapping[str, Any], root: Path, names: Iterable[str]) -> dict[str, Path]:
    """The folders of parts that are not in the pipeline's own, downloaded where needed."""
    folders: dict[str, Path] = {}
    for name in names:
        spec = index[name][2]
        source, subfolder = spec.get("pretrained_model_name_or_path"), spec.get("subfolder") or ""
        # A folder that was moved or downloaded still names the place where it was written.
        if not source or (root / name).is_dir():
            continue
        folder = Path(source).expanduser()
        if not folder.is_dir():
            patterns = [f"{subfolder}/*{end}" if subfolder else f"*{end}" for end in _ENDS]
            try:
                folder = Path(
                    huggingface_hub.snapshot_download(
                        source, revision=spec.get("revision"), allow_patterns=patterns
                    )
                )
            except Exception as error:  # noqa: BLE001 - the hub client raises a dozen kinds
                raise load_failure(error, source, spec.get("revision")) from None
        folders[name] = folder / subfolder
    return folders


_ENDS = sorted(WEIGHTS_AND_CONFIGS - {".py"})


def read_modular(folder: Path, names: list[str], options: LoadOptions, dtype: Any) -> Any:
    if (folder / CODE).is_file() and not options.trust_remote_code:
        raise ConfigurationError(remote_code(options.source))
    try:
        pipeline = KIND.from_pretrained(  # type: ignore[union-attr]
            str(folder), trust_remote_code=options.trust_remote_code
        )
        names = [name for name in names if (folder / name).is_dir()]
        pipeline.load_components(
            names,
            pretrained_model_name_or_path=str(folder),
            subfolder={name: name for name in names},
            revision=None,
            variant=options.extra.get("variant"),
            dtype=dtype,
        )
    except Exception as error:
        raise load_failure(error, options.source, options.revision) from error
    steps = pipeline._blocks.sub_blocks  # noqa: SLF001 - ``blocks`` is a copy
    rewrites = options.extra.get("rewrites", True)
    if UPSAMPLER in steps and not (rewrites and getattr(pipeline, UPSAMPLER, None)):
        steps.pop(UPSAMPLER)
    silence(pipeline._blocks)  # noqa: SLF001
    absent = [name for name in names if getattr(pipeline, name, None) is None]
    if absent:
        raise ModelLoadError(
            f"{options.source}: diffusers could not load {some(absent)} of this "
            f"{type(pipeline).__name__}. Load it with diffusers alone to see why: "
            "ModularPipeline.from_pretrained(...).load_components()."
        )
    return pipeline


def is_switched_off(guider: Any) -> bool:
    """Tell whether a part that guides does so only when it is asked to, as that of Z-Image."""
    return _config(guider).get("enabled") is False


def run_blocks(pipeline: Any, prompt: Any, **call: Any) -> SimpleNamespace:
    """Run the blocks; return the pictures, and the prompts where other ones were drawn."""
    state = pipeline(prompt=prompt, **call)
    text = state.get("prompt")
    revised = [text] if isinstance(text, str) and text != prompt else None
    return SimpleNamespace(images=state.get("images"), revised_prompts=revised)


def silence(blocks: Any) -> None:
    """Switch off the progress bars of all blocks, at any depth."""
    for block in getattr(blocks, "sub_blocks", {}).values():
        if hasattr(block, "set_progress_bar_config"):
            block.set_progress_bar_config(disable=True)
        silence(block)
