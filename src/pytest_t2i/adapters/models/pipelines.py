"""Load a diffusers pipeline from a hub id or a local folder, with clear error messages."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pytest_t2i.adapters.models.model_index import INDEX, check_index, components, read_index
from pytest_t2i.adapters.models.replaced_parts import Parts, apply_changes, assembled, part_folders
from pytest_t2i.adapters.support.devices import is_out_of_memory, memory_guard
from pytest_t2i.adapters.support.loading import (
    load_failure,
    looks_like_path,
    needs,
    remote_code,
    unsafe_weights,
)
from pytest_t2i.errors import (
    ConfigurationError,
    ModelLoadError,
    UnknownNameError,
)
from pytest_t2i.protocols import LoadOptions

# No telemetry: the hub is only used to download the weights that the user named.
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

with needs("the diffusers adapter", "diffusers"):
    import diffusers
    import torch
    import transformers
    from diffusers.models.autoencoders.vae import DecoderOutput
    from diffusers.pipelines import pipeline_utils
    from safetensors import SafetensorError, safe_open

# diffusers before 0.37 has only torch_dtype, later versions warn about it. Remove this when
# pyproject.toml requires 0.37.
DTYPE_ARGUMENT = "dtype" if hasattr(pipeline_utils, "_resolve_dtype") else "torch_dtype"
PICKLES = {".bin", ".ckpt", ".pt", ".pth"}


def pipeline_folder(options: LoadOptions) -> Path:
    """The local folder of the pipeline, downloaded from the hub where needed.

    Raises:
        ModelLoadError: there is no such model, the model is gated, cannot be downloaded or has no
            safetensors, or the folder is not that of a pipeline.
    """
    source = options.source
    folder = Path(source).expanduser()
    if folder.is_dir() or looks_like_path(source) or folder.exists():
        check_index(folder)
        return folder.resolve()
    hush()
    try:
        fetched = diffusers.DiffusionPipeline.download(
            source,
            revision=options.revision,
            variant=options.extra.get("variant"),
            use_safetensors=True,
            trust_remote_code=options.trust_remote_code,
        )
    except Exception as error:  # noqa: BLE001  the hub client raises a dozen kinds
        raise load_failure(error, source, options.revision) from None
    return Path(fetched)


def parts_elsewhere(folder: Path, options: LoadOptions) -> dict[str, Path]:
    """The folders of parts that the catalogue replaces; the files of all parts are checked.

    Raises:
        UnknownNameError: the pipeline has no part of that name.
        ModelLoadError: a part is absent or has damaged files.
    """
    known = list(components(read_index(folder)))
    parts = part_folders(options, known, folder)
    for name in known:
        _check_weights(folder, parts.get(name, folder / name))
    return parts


def _check_weights(root: Path, folder: Path) -> None:
    if not folder.is_dir():
        raise ModelLoadError(
            f"{root}: expected the folder {folder.name}/, which {INDEX} names, and it does not "
            "exist. Download or write the pipeline again."
        )
    files = sorted(path for path in folder.iterdir() if path.is_file())
    pickles = [path for path in files if path.suffix in PICKLES]
    safe = [path for path in files if path.suffix == ".safetensors"]
    if pickles and not safe:
        names = ", ".join(f"{folder.name}/{path.name}" for path in pickles[:3])
        raise ModelLoadError(unsafe_weights(str(root), names))
    for path in safe:
        try:
            with safe_open(path, framework="pt"):
                pass
        except (SafetensorError, OSError) as error:
            raise ModelLoadError(
                f"{path} is damaged ({error}). Delete the file, and download or write it again."
            ) from None


def load_pipeline(
    folder: Path, parts: Parts, options: LoadOptions, dtype: torch.dtype, device: torch.device
) -> Any:
    """Load the pipeline onto its device, with the parts and the scheduler of the options.

    Raises:
        ModelLoadError: the files are not those of a text-to-image pipeline.
        ConfigurationError: remote code was not allowed, or the scheduler does not fit.
        OutOfDeviceMemoryError: the pipeline does not fit into memory.
    """
    _check_code(folder, options)
    hush()
    with memory_guard(f"loading {options.source!r}"):
        with assembled(folder, parts) as whole:
            pipeline = _text_to_image(_read(whole, options, dtype), options.source)
        _without_shift(pipeline)
        if options.extra.get("changes"):
            apply_changes(pipeline, options.extra["changes"])
        _set_scheduler(pipeline, options)
        if options.extra.get("cpu_offload"):
            pipeline.enable_model_cpu_offload(device=device)
        else:
            pipeline.to(device)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


def _check_code(folder: Path, options: LoadOptions) -> None:
    index = read_index(folder)
    own_class = isinstance(index["_class_name"], list)
    own_part = any((folder / name / f"{index[name][0]}.py").is_file() for name in components(index))
    if (own_class or own_part) and not options.trust_remote_code:
        raise ConfigurationError(remote_code(options.source))


def _read(folder: Path, options: LoadOptions, dtype: torch.dtype) -> Any:
    wanted: dict[str, Any] = {
        DTYPE_ARGUMENT: dtype,
        "use_safetensors": True,
        "variant": options.extra.get("variant"),
        "trust_remote_code": options.trust_remote_code,
    }
    # diffusers requires an explicit None for parts that were saved as absent (SD3 without T5).
    index = read_index(folder)
    wanted |= {name: None for name, value in index.items() if value == [None, None]}
    pipeline_class: Any = diffusers.DiffusionPipeline
    try:
        return pipeline_class.from_pretrained(str(folder), **wanted)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise load_failure(error, options.source, options.revision) from None


def _text_to_image(pipeline: Any, source: str) -> Any:
    parameters = inspect.signature(pipeline.__call__).parameters
    needed = {n for n, p in parameters.items() if p.default is p.empty and p.kind != p.VAR_KEYWORD}
    if "prompt" in parameters and "image" not in parameters and not needed - {"prompt"}:
        return pipeline
    try:
        return diffusers.AutoPipelineForText2Image.from_pipe(pipeline)
    except ValueError:
        raise ModelLoadError(
            f"{source!r}: expected a text-to-image pipeline, got a {type(pipeline).__name__}. "
            "Choose another model."
        ) from None


def _without_shift(pipeline: Any) -> None:
    # SD3 and FLUX add a shift that the autoencoder of SD 1.x or SDXL does not have.
    vae: Any = getattr(pipeline, "vae", None)
    if vae is not None and "shift_factor" in vae.config and vae.config.shift_factor is None:
        vae.register_to_config(shift_factor=0.0)


def _set_scheduler(pipeline: Any, options: LoadOptions) -> None:
    name = options.extra.get("scheduler")
    if name is None:
        return
    known = [name for name in dir(diffusers) if name.endswith("Scheduler")]
    if name not in known:
        raise UnknownNameError("scheduler", str(name), known)
    chosen = getattr(diffusers, name)
    fitting = [kind.__name__ for kind in pipeline.scheduler.compatibles]
    if fitting and name not in {*fitting, type(pipeline.scheduler).__name__}:
        raise ConfigurationError(
            f"scheduler={name!r}: expected one that fits {type(pipeline).__name__} with its "
            f"{type(pipeline.scheduler).__name__}: {', '.join(sorted(fitting))}."
        )
    pipeline.scheduler = chosen.from_config(pipeline.scheduler.config)


def settle(pipeline: Any, device: torch.device) -> None:
    """Arrange memory so that a picture does not depend on its batch, to the bit on most CPUs.

    oneDNN's 1x1 convolutions depend on the batch in the default layout, and not in channels_last,
    which is also faster; the decoder always gets the same number of images. With MKL_CBWR
    (devices.py) and a single request made twice, the tiny models of all four families agree exactly
    on an Intel CPU with AVX-512. MKL is strict on Intel CPUs only: on AMD CPUs, and on some with
    AVX2 only, a guided SDXL, or a few values of any model, differ by 1 of 255.

    The number of threads changes pictures: GroupNorm of torch 2.15 sums channels_last by thread,
    and a few values of a picture differ by 1 of 255.
    """
    # A watermark would depend on whether invisible-watermark happens to be installed.
    if getattr(pipeline, "watermark", None) is not None:
        pipeline.watermark = None
    for name in ("unet", "transformer", "vae"):
        part = getattr(pipeline, name, None)
        # MPS has known faults with this layout.
        if isinstance(part, torch.nn.Module) and device.type != "mps":
            part.to(memory_format=torch.channels_last)
    vae: Any = getattr(pipeline, "vae", None)
    if device.type == "cpu" and isinstance(vae, diffusers.AutoencoderKL):
        vae.decode = partial(_decode_pairs, vae.decode)
    elif hasattr(vae, "enable_slicing"):
        vae.enable_slicing()


def _decode_pairs(
    decode: Callable[..., Any], latents: torch.Tensor, return_dict: bool = True, **further: Any
) -> Any:
    """The result of ``decode``, always for two images at a time, which is faster than one."""
    even = torch.cat([latents, latents[-1:]]) if len(latents) % 2 else latents
    pairs = [decode(pair, return_dict=False, **further)[0] for pair in even.split(2)]
    pictures = torch.cat(pairs)[: len(latents)]
    return DecoderOutput(pictures) if return_dict else (pictures,)


def hush() -> None:
    """Disable the libraries' progress bars and messages."""
    for library in (diffusers, transformers):
        library.utils.logging.set_verbosity_error()
        library.utils.logging.disable_progress_bar()
