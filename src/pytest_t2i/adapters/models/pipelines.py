"""Pipelines of diffusers: found, loaded with their parts, and settled on a device."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, get_args, get_type_hints

from pytest_t2i.adapters.catalogue import LORA
from pytest_t2i.adapters.devices import is_out_of_memory, memory_guard
from pytest_t2i.adapters.loading import (
    load_failure,
    looks_like_path,
    needs,
    remote_code,
    unsafe_weights,
)
from pytest_t2i.adapters.models.model_index import (
    INDEX,
    MODULAR,
    is_modular_folder,
    read_index,
)
from pytest_t2i.adapters.models.modular import (
    CODE,
    is_modular,
    parameters_of,
    parts_of_others,
    read_modular,
)
from pytest_t2i.errors import (
    ConfigurationError,
    ModelLoadError,
    UnknownNameError,
    some,
)
from pytest_t2i.protocols import LoadOptions

with needs("the diffusers adapter", "diffusers"):
    import huggingface_hub
    import torch
    from safetensors import SafetensorError
with needs("the diffusers adapter", "diffusers"):
    import diffusers
    import torch
    import transformers
    from diffusers.models.autoencoders.vae import DecoderOutput
    from diffusers.pipelines import pipeline_utils
    from safetensors import SafetensorError, safe_open
with needs("running a neural network", "diffusers"):
    import torch
from pytest_t2i.adapters.models.pipeline_parts import (
    PATTERNS,
    Parts,
    add_lora,
    apply_changes,
    assembled,
    check_index,
    components,
    part_folders,
)

# diffusers before 0.37 has only torch_dtype, later versions warn about it. Remove this when
# pyproject.toml requires 0.37.
DTYPE_ARGUMENT = "dtype" if hasattr(pipeline_utils, "_resolve_dtype") else "torch_dtype"
PICKLES = {".bin", ".ckpt", ".pt", ".pth"}


def pipeline_folder(options: LoadOptions) -> Path:
    """The local folder of the pipeline, downloaded from the hub where needed."""
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
        if (modular := _modular_folder(options)) is not None:
            return modular
        raise load_failure(error, source, options.revision) from None
    return Path(fetched)


def _modular_folder(options: LoadOptions) -> Path | None:
    """A modular pipeline of the hub, which has no ``model_index.json``; None if it is none."""
    patterns = [MODULAR, CODE, *(f"*/{pattern}" for pattern in PATTERNS)]
    try:
        index = huggingface_hub.hf_hub_download(options.source, MODULAR, revision=options.revision)
        huggingface_hub.snapshot_download(
            options.source, revision=Path(index).parent.name, allow_patterns=patterns
        )
    except Exception:  # noqa: BLE001 - the caller tells the failure of the other index
        return None
    return Path(index).parent


def parts_elsewhere(folder: Path, options: LoadOptions) -> dict[str, Path]:
    """The folders of parts that the catalogue replaces; the files of all parts are checked."""
    index = read_index(folder)
    names = list(components(index))
    parts = part_folders(options, [*names, *absent_parts(index)], folder)
    if is_modular_folder(folder):
        further = [name for name in names if name not in parts]
        parts |= parts_of_others(index, folder, further)
    for name in names:
        _check_weights(folder, parts.get(name, folder / name))
    return parts


def absent_parts(index: dict[str, Any]) -> list[str]:
    """Parts that the class has and the folder has not: HiDream's fourth text encoder, SD3's T5."""
    kind = getattr(diffusers, str(index["_class_name"]), None)
    if kind is None or "_blocks_class_name" in index:
        return []
    parameters = inspect.signature(kind.__init__).parameters.values()
    names = {part.name for part in parameters if part.kind is not part.VAR_KEYWORD} - {"self"}
    return sorted(name for name in names if index.get(name, [None, None]) == [None, None])


def _absent_part(kind: Any, name: str, folder: Path, dtype: torch.dtype) -> Any:
    """Load such a part from elsewhere, as the class that the pipeline's signature names."""
    if name.startswith("tokenizer"):
        return transformers.AutoTokenizer.from_pretrained(str(folder))
    hint = get_type_hints(kind.__init__)[name]
    part_class = next((member for member in get_args(hint) if member is not type(None)), hint)
    return part_class.from_pretrained(str(folder), **{DTYPE_ARGUMENT: dtype})


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


MAIN_PARTS = ("transformer", "unet", "prior", "decoder", "prior_prior", "vae")
"""Parts whose number format is that of the model, the first that is there."""
FORMATS = {"BF16": torch.bfloat16, "F16": torch.float16}
"""Name in a safetensors file -> number format of 16 bits."""


def half_of_class(name: str) -> torch.dtype | None:
    """The number format that a class uses whatever its weights are; None where they decide."""
    if name.startswith("Flux"):
        return torch.bfloat16
    return torch.float16 if name.startswith("StableDiffusion") else None


def half_of(folder: Path, parts: Parts, device: torch.device) -> torch.dtype:
    """The number format of a pipeline on a GPU where none was chosen.

    Stable Diffusion's classes use float16, FLUX bfloat16 (its T5 overflows in float16). Other
    classes use that of their own weights where it has 16 bits, else bfloat16 where the device has
    it, else float32: most were trained in bfloat16, and overflow in float16.
    """
    if (half := half_of_class(str(read_index(folder)["_class_name"]))) is not None:
        return half
    for part in MAIN_PARTS:
        for path in sorted(parts.get(part, folder / part).glob("*.safetensors")):
            with safe_open(path, framework="pt") as tensors:
                names = list(tensors.keys())
                kinds = {str(tensors.get_slice(name).get_dtype()) for name in names[:64]}
            if len(kinds) == 1 and (kind := kinds.pop()) in FORMATS:
                return FORMATS[kind]
            break
    has_bfloat16 = device.type != "cuda" or torch.cuda.is_bf16_supported()
    return torch.bfloat16 if has_bfloat16 else torch.float32


def load_pipeline(
    folder: Path,
    parts: Parts,
    options: LoadOptions,
    dtype: torch.dtype,
    device: torch.device,
    lora: Path | None = None,
) -> Any:
    """Load the pipeline onto its device, with parts, LoRA and scheduler of the options."""
    index = read_index(folder)
    own_class = isinstance(index["_class_name"], list)
    own_part = any((folder / name / f"{index[name][0]}.py").is_file() for name in components(index))
    if (own_class or own_part) and not options.trust_remote_code:
        raise ConfigurationError(remote_code(options.source))
    hush()
    # Classes of diffusers warn of their own parts, which is an error where warnings are errors.
    with memory_guard(f"loading {options.source!r}"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with assembled(folder, parts) as full_folder:
            if is_modular_folder(folder):
                names = list(components(read_index(folder)))
                pipeline = read_modular(full_folder, names, options, dtype)
            else:
                pipeline = _read(full_folder, parts, options, dtype)
            pipeline = _text_to_image(pipeline, options.source)
        vae: Any = getattr(pipeline, "vae", None)
        if vae is not None and "shift_factor" in vae.config and vae.config.shift_factor is None:
            vae.register_to_config(shift_factor=0.0)
        if options.extra.get("changes"):
            apply_changes(pipeline, options.extra["changes"])
        if lora is not None:
            add_lora(pipeline, lora, options.extra[LORA]["scale"])
        _set_scheduler(pipeline, options)
        if options.extra.get("cpu_offload"):
            pipeline.enable_model_cpu_offload(device=device)
        else:
            pipeline.to(device)
    if not is_modular(pipeline):
        pipeline.set_progress_bar_config(disable=True)
    return pipeline


def _read(folder: Path, parts: Parts, options: LoadOptions, dtype: torch.dtype) -> Any:
    arguments: dict[str, Any] = {
        DTYPE_ARGUMENT: dtype,
        "use_safetensors": True,
        "variant": options.extra.get("variant"),
        "trust_remote_code": options.trust_remote_code,
    }
    # diffusers requires an explicit None for parts that were saved as absent (SD3 without T5).
    index = read_index(folder)
    arguments |= {name: None for name, value in index.items() if value == [None, None]}
    _find_moved_modules(index)
    kind = getattr(diffusers, str(index["_class_name"]), None)
    pipeline_class: Any = diffusers.DiffusionPipeline
    try:
        for name in set(absent_parts(index)) & set(parts):
            arguments[name] = _absent_part(kind, name, parts[name], dtype)
        return pipeline_class.from_pretrained(str(folder), **arguments)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise load_failure(error, options.source, options.revision) from None


MOVED = ("amused", "unclip", "wuerstchen")
"""Modules of diffusers that indexes on the hub name, and that are elsewhere since 0.42."""


def _find_moved_modules(index: dict[str, Any]) -> None:
    """Let diffusers find the modules of Stable Cascade, Wuerstchen and unCLIP, which have moved.

    diffusers 0.42 keeps them in ``pipelines.deprecated``, and refuses an index that names the
    former place as if it were code from the hub. Remove this when it finds them itself.
    """
    names = {value[0] for name, value in index.items() if name in set(components(index))}
    for name in names & set(MOVED):
        if not hasattr(diffusers.pipelines, name):
            with suppress(ModuleNotFoundError):  # a version that has not moved them
                moved = importlib.import_module(f"diffusers.pipelines.deprecated.{name}")
                setattr(diffusers.pipelines, name, moved)


IMAGE_OPTIONAL = frozenset(
    {"BriaFibo2Pipeline", "DreamLiteMobilePipeline", "DreamLitePipeline", "Flux2KleinKVPipeline"}
)
"""Classes that take a picture and draw without one, which diffusers' AutoPipeline does not list."""


def _text_to_image(pipeline: Any, source: str) -> Any:
    parameters = parameters_of(pipeline)
    needed = {n for n, p in parameters.items() if p.default is p.empty and p.kind != p.VAR_KEYWORD}
    draws = "prompt" in parameters and not needed - {"prompt"}
    if draws and ("image" not in parameters or type(pipeline).__name__ in IMAGE_OPTIONAL):
        return pipeline
    try:
        return diffusers.AutoPipelineForText2Image.from_pipe(pipeline)
    except (AttributeError, ValueError):  # AttributeError: of blocks that make no picture
        raise ModelLoadError(
            f"{source!r}: expected a text-to-image pipeline, got a {type(pipeline).__name__}. "
            "Choose another model."
        ) from None


def _set_scheduler(pipeline: Any, options: LoadOptions) -> None:
    name, further = options.extra.get("scheduler"), options.extra.get("scheduler_config", {})
    if name is None and further:
        name = type(pipeline.scheduler).__name__
    if name is None:
        return
    names = [name for name in dir(diffusers) if name.endswith("Scheduler")]
    if name not in names:
        raise UnknownNameError("scheduler", str(name), names)
    scheduler_class = getattr(diffusers, name)
    fitting = [kind.__name__ for kind in pipeline.scheduler.compatibles]
    if fitting and name not in {*fitting, type(pipeline.scheduler).__name__}:
        raise ConfigurationError(
            f"scheduler={name!r}: expected one that fits {type(pipeline).__name__} with its "
            f"{type(pipeline.scheduler).__name__}: {', '.join(sorted(fitting))}."
        )
    unknown = set(further) - set(inspect.signature(scheduler_class.__init__).parameters)
    if unknown:
        raise ConfigurationError(
            f"scheduler_config: expected settings of {name}, got {some(sorted(unknown))}."
        )
    pipeline.scheduler = scheduler_class.from_config(pipeline.scheduler.config, **further)


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
            _lay_out(part)
    vae: Any = getattr(pipeline, "vae", None)
    if device.type == "cpu" and isinstance(vae, diffusers.AutoencoderKL):
        vae.decode = partial(_decode_pairs, vae.decode)
    elif hasattr(vae, "enable_slicing"):
        vae.enable_slicing()


def _lay_out(part: torch.nn.Module) -> None:
    """Store two-dimensional convolutions in channels_last; those of videos have five dimensions."""
    if all(weight.ndim != len("ncdhw") for weight in part.parameters()):
        part.to(memory_format=torch.channels_last)
        return
    for weight in part.parameters():
        if weight.ndim == len("nchw"):
            weight.data = weight.data.contiguous(memory_format=torch.channels_last)


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


TRIAL = "import torch; torch.nn.Linear(64, 64).bfloat16()(torch.ones(64, 64).bfloat16())"
"""A program that uses the same instructions as the matrix products of pipelines."""


def check_processor(device: torch.device, dtype: torch.dtype) -> None:
    """Raise ConfigurationError where the processor fails in this number format.

    Some virtual machines announce AMX, the matrix unit of newer CPUs, but do not support its
    instructions: the process is killed at the first product in bfloat16, without a message. A
    separate process tests this.
    """
    if device.type != "cpu" or dtype is not torch.bfloat16 or not _announces_amx():
        return
    if not _survives():
        raise ConfigurationError(
            "dtype='bfloat16' fails on this processor, which announces matrix instructions (AMX) "
            "that it does not support. Leave the number format out (float32 on a CPU), or set the "
            "environment variable DNNL_MAX_CPU_ISA=AVX512_CORE_FP16 to avoid them."
        )


def _announces_amx() -> bool:
    return bool(getattr(torch.cpu, "_is_amx_tile_supported", bool)())


@cache
def _survives() -> bool:
    """Whether the test program ends normally: a signal gives a negative status."""
    trial = subprocess.run([sys.executable, "-c", TRIAL], check=False, capture_output=True)  # noqa: S603 - our own line
    return trial.returncode >= 0
