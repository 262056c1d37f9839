"""Load a diffusers pipeline from a hub id or a local folder, with clear error messages."""

from __future__ import annotations

import atexit
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, get_args, get_type_hints

from pytest_t2i.adapters.catalogue import LORA
from pytest_t2i.adapters.devices import is_out_of_memory, memory_guard
from pytest_t2i.adapters.identity import WEIGHTS_AND_CONFIGS, file_digest
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
    SHOWN,
    is_modular_folder,
    read_index,
)
from pytest_t2i.adapters.models.modular import (
    CODE,
    is_modular,
    is_switched_off,
    parameters_of,
    parts_of_others,
    read_modular,
)
from pytest_t2i.adapters.models.prompt_embeddings import Family
from pytest_t2i.data import GenerationSettings, digest
from pytest_t2i.errors import (
    ConfigurationError,
    GenerationError,
    ModelLoadError,
    T2IError,
    UnknownNameError,
    some,
)
from pytest_t2i.protocols import LoadOptions


def check_index(folder: Path) -> None:
    """Check that a folder is that of a pipeline."""
    if not folder.is_dir():
        kind = "is a file, not a folder" if folder.exists() else "does not exist"
        raise ModelLoadError(
            f"{folder} {kind}. Give a folder written by save_pretrained, or a hub id "
            "such as 'owner/name'."
        )
    if not (folder / INDEX).is_file() and not is_modular_folder(folder):
        names = sorted(path.name for path in folder.iterdir())
        raise ModelLoadError(
            f"{folder}: expected a diffusers pipeline with {INDEX} or {MODULAR}, found "
            f"{some(names, SHOWN) or 'nothing'}. Write one with pipeline.save_pretrained(folder)."
        )
    read_index(folder)


def components(index: dict[str, Any]) -> Iterator[str]:
    """Names of the parts in a pipeline's index."""
    for name, value in index.items():
        if not name.startswith("_") and isinstance(value, list) and value and value[0]:
            yield name


with needs("the diffusers adapter", "diffusers"):
    import huggingface_hub
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

PATTERNS = [f"*{suffix}" for suffix in sorted(WEIGHTS_AND_CONFIGS - {".py"})]
"""Files of a part; code is left out."""
Parts = Mapping[str, Path]
"""Name of a part -> its folder."""


def part_folders(options: LoadOptions, known: Sequence[str], root: Path) -> dict[str, Path]:
    """The folder of each replaced part, downloaded from the hub where needed."""
    sources: Mapping[str, str] = options.extra.get("parts", {})
    for name in sources:
        if name not in known:
            raise UnknownNameError(f"part of {root}", name, list(known))
    return {name: _folder(source, root / name) for name, source in sources.items()}


SINGLE_FILE = re.compile(r"([\w.-]+/[\w.-]+):([\w./-]+\.safetensors)")
"""A part whose weights are one file of a repository."""


def _folder(source: str, own: Path) -> Path:
    if single := SINGLE_FILE.fullmatch(source):
        return _with_weights(own, single[1], single[2])
    folder = Path(source).expanduser()
    if folder.is_dir():
        return folder.resolve()
    if looks_like_path(source) or source.count("/") != 1:
        raise ModelLoadError(
            f"{source!r}: expected a folder with a part of a pipeline, or a hub id, and there is "
            "no such folder."
        )
    try:
        return Path(huggingface_hub.snapshot_download(source, allow_patterns=PATTERNS))
    except Exception as error:  # noqa: BLE001  the hub client raises a dozen kinds
        raise load_failure(error, source, None) from None


def _with_weights(own: Path, repository: str, name: str) -> Path:
    """A folder with the configuration of the pipeline's own part, and weights from the hub."""
    try:
        weights = Path(huggingface_hub.hf_hub_download(repository, name))
    except Exception as error:  # noqa: BLE001  the hub client raises a dozen kinds
        raise load_failure(error, repository, None) from None
    folder = Path(tempfile.mkdtemp(prefix="pytest-t2i-part-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.copy2(own / "config.json", folder / "config.json")
    _link(weights, folder / "diffusion_pytorch_model.safetensors")
    return folder


@contextmanager
def assembled(root: Path, parts: Parts) -> Iterator[Path]:
    """A temporary folder with links to the pipeline in ``root`` and to the replaced parts."""
    if not parts:
        yield root
        return
    with tempfile.TemporaryDirectory(prefix="pytest-t2i-") as place:
        for path in root.iterdir():
            if path.name not in parts:
                _link(path, Path(place) / path.name)
        for name, folder in parts.items():
            _link(folder, Path(place) / name)
        yield Path(place)


def _link(source: Path, target: Path) -> None:
    try:
        target.symlink_to(source.resolve(), target_is_directory=source.is_dir())
    except OSError:  # on Windows links need a privilege
        copy = shutil.copytree if source.is_dir() else shutil.copy2
        copy(source, target)


def pipeline_digest(root: Path, parts: Parts) -> str:
    """Hex SHA-256 of the pipeline's files; it does not depend on the folders of the parts."""
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*")}
    files = {name: path for name, path in files.items() if name.split("/")[0] not in parts}
    for part, folder in parts.items():
        files |= {
            f"{part}/{path.relative_to(folder).as_posix()}": path for path in folder.rglob("*")
        }
    return digest(
        {
            name: file_digest(path)
            for name, path in files.items()
            if path.suffix in WEIGHTS_AND_CONFIGS and path.is_file() and "/." not in f"/{name}"
        }
    )


BLOB = re.compile(r"[0-9a-f]{64}")
"""Name of a large file in the hub's cache: the SHA-256 of its content."""


def part_digests(root: Path, parts: Parts) -> dict[str, str]:
    """``part NAME`` -> digest of the part's files, for each part of a pipeline."""
    names = dict.fromkeys([*components(read_index(root)), *parts])
    folders = {name: parts.get(name, root / name) for name in names}
    return {f"part {name}": f"sha256:{_part_digest(folder)}" for name, folder in folders.items()}


def _part_digest(folder: Path) -> str:
    """Hex SHA-256 of the names and contents of a part's files; the hub's cache names the latter."""
    files = {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.suffix in WEIGHTS_AND_CONFIGS and path.is_file()
    }
    contents = {name: path.resolve() for name, path in files.items() if "/." not in f"/{name}"}
    return digest(
        {
            name: path.name
            if path.parent.name == "blobs" and BLOB.fullmatch(path.name)
            else file_digest(path)
            for name, path in contents.items()
        }
    )


def apply_changes(pipeline: Any, file: str) -> None:
    """Replace tensors of the pipeline by those of a safetensors file, named ``part.weight``."""
    path = Path(file).expanduser()
    if not path.is_file():
        raise ModelLoadError(f"changes: the file {file} does not exist. Correct the catalogue.")
    try:
        tensors = {_common(name): tensor for name, tensor in load_file(path).items()}
    except (SafetensorError, OSError) as error:
        raise ModelLoadError(f"{path} is damaged ({error}). Write it again.") from None
    weights = _weights(pipeline)
    unknown = sorted(set(tensors) - set(weights))
    if unknown:
        raise ConfigurationError(
            f"{path}: expected weights of {type(pipeline).__name__}, got names that it does not "
            f"have: {some(unknown)}."
        )
    for name, tensor in tensors.items():
        if tensor.shape != weights[name].shape:
            expected_shape, shape = list(weights[name].shape), list(tensor.shape)
            raise ConfigurationError(
                f"{path}: expected {name} of the shape {expected_shape}, got {shape}."
            )
        with torch.no_grad():
            weights[name].copy_(tensor)


ADAPTER = "pytest_t2i"
"""Name under which diffusers loads a LoRA."""
USUAL_FILE = "pytorch_lora_weights.safetensors"
"""Name of the file that diffusers writes for a LoRA."""


def lora_file(options: LoadOptions) -> Path | None:
    """The file of the LoRA that the options add, downloaded where needed; None without one."""
    if (lora := options.extra.get(LORA)) is None:
        return None
    with needs("a LoRA", "lora"):
        importlib.import_module("peft")  # with which diffusers loads it
    source = lora["source"]
    place = Path(source).expanduser()
    if place.is_file():
        return place
    if place.is_dir():
        names = [path.name for path in place.glob("*.safetensors")]
        return place / _only_file(source, names)
    single = SINGLE_FILE.fullmatch(source)
    if single is None and (looks_like_path(source) or source.count("/") != 1):
        raise ModelLoadError(f"lora: {source!r}: expected a folder, a file or a hub id, got none.")
    try:
        if single is not None:
            return Path(huggingface_hub.hf_hub_download(single[1], single[2]))
        with suppress(huggingface_hub.errors.EntryNotFoundError):
            return Path(huggingface_hub.hf_hub_download(source, USUAL_FILE))
        files = huggingface_hub.list_repo_files(source)
        name = _only_file(source, [name for name in files if name.endswith(".safetensors")])
        return Path(huggingface_hub.hf_hub_download(source, name))
    except T2IError:
        raise
    except Exception as error:  # noqa: BLE001  the hub client raises a dozen kinds
        raise load_failure(error, source, None) from None


def _only_file(source: str, names: Sequence[str]) -> str:
    if USUAL_FILE in names:
        return USUAL_FILE
    if len(names) != 1:
        raise ModelLoadError(
            f"lora: {source}: expected one .safetensors file, got {some(sorted(names)) or 'none'}. "
            "Give the file: lora=FILE:SCALE, or on the hub lora=OWNER/NAME:FILE:SCALE."
        )
    return names[0]


def add_lora(pipeline: Any, file: Path, scale: float) -> None:
    """Add a LoRA, times its scale, to the weights of a pipeline.

    It is fused with them: pictures and observations are then those of any pipeline of the class.

    Raises ConfigurationError where the pipeline takes none, or one of its tensors has no place.
    """
    name = type(pipeline).__name__
    if not hasattr(pipeline, "load_lora_weights"):
        raise ConfigurationError(f"lora: {name} takes no LoRA: leave it out.")
    where = {"pretrained_model_name_or_path_or_dict": file.parent, "weight_name": file.name}
    try:
        tensors = pipeline.lora_state_dict(**where)
        pipeline.load_lora_weights(file.parent, weight_name=file.name, adapter_name=ADAPTER)
        shapes = _shapes(tensors[0] if isinstance(tensors, tuple) else tensors, "lora")
        # diffusers leaves out what has no place, and enlarges what is too small for FLUX.
        if lost := (shapes - _shapes(_weights(pipeline), f".{ADAPTER}")).total():
            raise ValueError(f"{lost} of its {shapes.total()} tensors have no place in it")  # noqa: TRY301
        pipeline.fuse_lora([*pipeline.get_list_adapters()], scale, adapter_names=[ADAPTER])
        pipeline.unload_lora_weights()
    except Exception as error:
        if is_out_of_memory(error):
            raise
        words = " ".join(line.strip() for line in str(error).strip().splitlines()[:2])
        raise ConfigurationError(f"lora: {file} does not fit {name}: {words}") from error


def _shapes(tensors: Mapping[str, torch.Tensor], mark: str) -> Counter[tuple[int, ...]]:
    """How many tensors with the mark in their names have each shape; alphas are no weights."""
    return Counter(
        tuple(tensor.shape)
        for name, tensor in tensors.items()
        if mark in name and not name.endswith(".alpha")
    )


def _weights(pipeline: Any) -> dict[str, torch.Tensor]:
    return {
        _common(f"{part}.{name}"): tensor
        for part, module in pipeline.components.items()
        if isinstance(module, torch.nn.Module)
        for name, tensor in module.state_dict(keep_vars=True).items()
    }


def _common(name: str) -> str:
    # transformers 5 drops text_model from the names of some text encoders' weights.
    return name.replace(".text_model.", ".")


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
        own = [name for name in names if name not in parts]
        parts |= parts_of_others(index, folder, own)
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
    part_class = next((each for each in get_args(hint) if each is not type(None)), hint)
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
    _check_code(folder, options)
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
        _without_shift(pipeline)
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


def _check_code(folder: Path, options: LoadOptions) -> None:
    index = read_index(folder)
    own_class = isinstance(index["_class_name"], list)
    own_part = any((folder / name / f"{index[name][0]}.py").is_file() for name in components(index))
    if (own_class or own_part) and not options.trust_remote_code:
        raise ConfigurationError(remote_code(options.source))


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


def _without_shift(pipeline: Any) -> None:
    # SD3 and FLUX add a shift that the autoencoder of SD 1.x or SDXL does not have.
    vae: Any = getattr(pipeline, "vae", None)
    if vae is not None and "shift_factor" in vae.config and vae.config.shift_factor is None:
        vae.register_to_config(shift_factor=0.0)


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


ARGUMENTS = {"steps": "num_inference_steps", "width": "width", "height": "height"}
"""Field of GenerationSettings -> argument of a pipeline's ``__call__``."""
GUIDANCE = (
    "true_cfg_scale", "guidance_scale", "prior_guidance_scale", "distilled_guidance_scale",
    "cfg_scale", "guidance",
)  # fmt: skip
"""Names of the scale of classifier-free guidance in ``__call__``, the one with an effect first."""
TRUE_CFG = "true_cfg_scale"
"""The scale of classes that guide only where there is a negative prompt."""
BLANK = " "
"""The negative prompt of such classes where none was given, as their authors' examples have it."""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A stage inside a pipeline that changes the prompt before it is drawn."""

    argument: str
    """Argument of ``__call__`` that switches it."""
    off: Any
    """Value that switches it off."""
    words: str
    needs: str = ""
    """Part of the pipeline without which there is no such stage."""
    draws: bool = True
    """Whether a language model writes the new prompt, by chance, one prompt at a time."""


REWRITINGS = (
    Rewriting("use_pe", False, "a language model in the pipeline rewrites prompts", "pe"),
    Rewriting("enable_prompt_rewrite", False, "a language model in the pipeline rewrites prompts"),
    Rewriting(
        "complex_human_instruction",
        None,
        "the pipeline puts its instruction before prompts",
        draws=False,
    ),
)
"""The stages of the classes of diffusers that rewrite prompts, on by default."""
ONE_AT_A_TIME = frozenset(
    {
        "AmusedPipeline",
        "DreamLiteMobilePipeline",
        "DreamLitePipeline",
        "Flux3DistilledModularPipeline",
        "Flux3ModularPipeline",
        "GlmImagePipeline",
        "PRXPipeline",
        "PRXPixelPipeline",
        "StableDiffusionPanoramaPipeline",
        "WuerstchenCombinedPipeline",
    }
)
"""Classes that make one picture a call, as a batch would change or break it.

GLM-Image draws the tokens of a whole batch from the seed of its first picture, DreamLite and FLUX.3
take no list of prompts, aMUSEd takes one generator alone, guidance in PRX and Wuerstchen fails with
more than one picture, and the views of a panorama are made from mixed rows.
"""
GUIDERS = ("guider", "ocr_guider")
"""Parts of a pipeline that guide, in place of an argument."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Builds the arguments of one pipeline's ``__call__``."""

    pipeline: Any
    family: Family | None
    further: Mapping[str, Any]
    """Arguments of every call besides those of the settings."""
    rewrites: bool = True
    """Whether a pipeline that rewrites prompts may do so."""

    @property
    def name(self) -> str:
        """Name of the pipeline's class, for messages."""
        return type(self.pipeline).__name__

    @property
    def accepted(self) -> Mapping[str, inspect.Parameter]:
        """Parameters of the pipeline's ``__call__``."""
        return parameters_of(self.pipeline)

    @property
    def guidance(self) -> str | None:
        """The argument of the guidance scale; None where the class takes none."""
        if self.family is not None or self._is_distilled_with_guidance:
            return "guidance_scale"
        names = (name for name in GUIDANCE if name in self.accepted)
        return next(names, None)

    @property
    def takes_guidance(self) -> bool:
        """Whether the class takes a guidance scale, as an argument or by a part of its own."""
        return self.guidance is not None or getattr(self.pipeline, "guider", None) is not None

    @property
    def _is_distilled_with_guidance(self) -> bool:
        """Whether the network takes the scale as an input, as FLUX.1-dev's does."""
        transformer = getattr(self.pipeline, "transformer", None)
        takes = bool(getattr(getattr(transformer, "config", None), "guidance_embeds", False))
        return takes and "guidance_scale" in self.accepted

    @property
    def rewriting(self) -> Rewriting | None:
        """The stage that rewrites prompts; None where there is none."""
        for stage in REWRITINGS:
            has_part = not stage.needs or getattr(self.pipeline, stage.needs, None) is not None
            if stage.argument in self.accepted and has_part:
                return stage
        return None

    @property
    def is_rewriting(self) -> bool:
        """Whether prompts are rewritten in this run."""
        stage = self.rewriting
        return stage is not None and self.rewrites and stage.argument not in self.further

    @property
    def makes_one(self) -> bool:
        """Whether a batch has one picture, as another one would change it."""
        stage = self.rewriting
        draws = self.is_rewriting and stage is not None and stage.draws
        return draws or self.name in ONE_AT_A_TIME

    def arguments(self, settings: GenerationSettings) -> dict[str, Any]:
        """Arguments for steps, guidance and size; texts are passed separately."""
        for name in self.further:
            self.require(name, "it cannot be set: leave --t2i-model-option or extra out")
        call = dict(self.further)
        stage = self.rewriting
        if stage is not None and not self.rewrites:
            call[stage.argument] = stage.off
        for name, argument in ARGUMENTS.items():
            value = getattr(settings, name)
            if value is not None:
                self.require(argument, f"{name}={value!r} has no effect: leave it out")
                call[argument] = value
        if settings.negative_prompt is not None:
            words = f"negative_prompt={settings.negative_prompt!r} has no effect: leave it out"
            self.require("negative_prompt", words)
            guider = getattr(self.pipeline, "guider", None)
            if is_switched_off(guider) and settings.guidance is None:
                raise ConfigurationError(
                    f"{self.name} has its guidance switched off, so {words}, or set a guidance."
                )
        self._guide(call, settings.guidance)
        self._refuse_ineffective(call, settings.negative_prompt)
        self._refuse_numbers(settings)
        return call

    def _guide(self, call: dict[str, Any], scale: float | None) -> None:
        if scale is None:
            self._refuse_other_steps(call)
        if scale is None or getattr(self.pipeline, "guider", None) is not None:
            return
        if self.guidance is None:
            raise ConfigurationError(
                f"{self.name} has no argument guidance_scale, so guidance={scale!r} has no effect: "
                "leave it out."
            )
        call[self.guidance] = scale
        if "guidance_schedule" in self.accepted:  # Ideogram 4's, in place of one scale
            call.setdefault("guidance_schedule", None)

    def _refuse_other_steps(self, call: Mapping[str, Any]) -> None:
        """Refuse a number of steps that Ideogram 4's own scales, one a step, do not fit."""
        scales, steps = self._default("guidance_schedule"), call.get("num_inference_steps")
        if scales and "guidance_schedule" not in call and steps not in {None, len(scales)}:
            raise ConfigurationError(
                f"{self.name} has guidance scales for {len(scales)} steps, got steps={steps}. "
                "Leave steps out, or set a guidance for all steps."
            )

    def negative(self, call: Mapping[str, Any], text: str | None) -> str | None:
        """The negative prompt: a blank where the class would otherwise not guide at all."""
        if text is not None or self.guidance != TRUE_CFG:
            return text
        scale = call.get(TRUE_CFG, self._default(TRUE_CFG))
        return BLANK if isinstance(scale, int | float) and scale > 1 else None

    def _default(self, argument: str) -> Any:
        """The default of an argument of ``__call__``; None where there is no such argument."""
        parameter = self.accepted.get(argument)
        return parameter.default if parameter is not None else None

    def require(self, argument: str, consequence: str) -> None:
        """Raise ConfigurationError where the pipeline has no such argument."""
        if argument not in self.accepted:
            raise ConfigurationError(f"{self.name} has no argument {argument}, so {consequence}.")

    def doubles(self, call: Mapping[str, Any]) -> bool:
        """Whether one request is two rows in the convolutions, or there are no convolutions."""
        if self.family is not None and not self.family.doubles:
            return True
        if self.guidance == TRUE_CFG:
            return False
        guidance = call.get(self.guidance or "", self._default(self.guidance or ""))
        return isinstance(guidance, int | float) and guidance > 1

    def _refuse_ineffective(self, call: Mapping[str, Any], negative: str | None) -> None:
        """Refuse arguments that FLUX accepts and ignores: a measurement would be misleading."""
        true_cfg = call.get(TRUE_CFG, self._default(TRUE_CFG))
        guides = true_cfg is None or true_cfg > 1 or self.family is not None
        if negative is not None and not guides:
            is_ours = self.guidance == TRUE_CFG
            name = "guidance" if is_ours else TRUE_CFG
            other = ", or set a guidance above 1" if is_ours else ""
            raise ConfigurationError(
                f"{self.name} ignores a negative prompt at {name}={true_cfg}, got "
                f"negative_prompt={negative!r}. Leave it out{other}."
            )
        scale = call.get("guidance_scale")
        config = getattr(self.pipeline, "config", {})
        if scale is not None and scale > 1 and config.get("is_distilled", False):
            raise ConfigurationError(
                f"guidance={scale} has no effect on this distilled {self.name}. Leave it out."
            )
        if self.family is None or self.family.doubles:
            return
        if negative is not None:
            raise ConfigurationError(
                f"{self.name} ignores a negative prompt, got negative_prompt={negative!r}. Leave "
                "it out."
            )
        is_distilled = not self.pipeline.transformer.config.get("guidance_embeds", True)
        if is_distilled and call.get("guidance_scale"):
            raise ConfigurationError(
                f"guidance={call['guidance_scale']} has no effect on this distilled {self.name}. "
                "Leave it out or set 0."
            )

    def _refuse_numbers(self, settings: GenerationSettings) -> None:
        if settings.steps is not None and settings.steps < 1:
            raise ConfigurationError(f"steps={settings.steps}: expected at least 1.")
        processor = getattr(self.pipeline, "image_processor", None)
        multiple = int(getattr(getattr(processor, "config", None), "vae_scale_factor", 1))
        patch = getattr(self.pipeline, "patch_size", 1)
        multiple *= patch if isinstance(patch, int) else 1
        for name in ("width", "height"):
            value = getattr(settings, name)
            if value is not None and (value <= 0 or value % multiple):
                raise ConfigurationError(
                    f"{name}={value}: expected a multiple of {multiple} for {self.name}."
                )


def pictures_of(output: Any) -> list[Any]:
    """The pictures of a pipeline's output: ``.images``, ``.image``, or the first of a tuple.

    They may be a tensor of the four families, or pictures of Pillow.
    """
    for name in ("images", "image"):
        value = getattr(output, name, None)
        if value is not None:
            break
    else:
        value = output[0] if isinstance(output, tuple) else output
    if isinstance(value, torch.Tensor):
        return _pictures_from(value)
    pictures = value if isinstance(value, list) else [value]
    flat = [
        picture for entry in pictures for picture in (entry if isinstance(entry, list) else [entry])
    ]
    wrong = next((picture for picture in flat if not hasattr(picture, "convert")), None)
    if wrong is not None:
        raise GenerationError(
            f"expected pictures in the pipeline's output, got {type(wrong).__name__}"
        )
    return flat


def _pictures_from(shares: torch.Tensor) -> list[Any]:
    """Pictures from [batch, 3, height, width] of 0 to 1, rounded as diffusers rounds them."""
    from PIL import Image

    pixels = (shares.float() * 255).round().to(torch.uint8).permute(0, 2, 3, 1)
    return [Image.fromarray(picture) for picture in pixels.contiguous().cpu().numpy()]


with needs("running a neural network", "diffusers"):
    import torch

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
