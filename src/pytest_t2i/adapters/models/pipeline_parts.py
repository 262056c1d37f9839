"""The parts of a pipeline's folder: their digests, weights from elsewhere, and changed weights."""

from __future__ import annotations

import atexit
import importlib
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pytest_t2i.adapters.catalogue import LORA
from pytest_t2i.adapters.devices import is_out_of_memory
from pytest_t2i.adapters.identity import WEIGHTS_AND_CONFIGS, file_digest
from pytest_t2i.adapters.loading import (
    load_failure,
    looks_like_path,
    needs,
)
from pytest_t2i.adapters.models.model_index import (
    INDEX,
    MODULAR,
    SHOWN,
    is_modular_folder,
    read_index,
)
from pytest_t2i.data import digest
from pytest_t2i.errors import (
    ConfigurationError,
    ModelLoadError,
    T2IError,
    UnknownNameError,
    some,
)
from pytest_t2i.protocols import LoadOptions

with needs("the diffusers adapter", "diffusers"):
    import huggingface_hub
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file
with needs("the diffusers adapter", "diffusers"):
    import torch
    from safetensors import SafetensorError
with needs("running a neural network", "diffusers"):
    import torch


def check_index(folder: Path) -> None:
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
    for name, value in index.items():
        if not name.startswith("_") and isinstance(value, list) and value and value[0]:
            yield name


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
