"""Replace parts of a pipeline by other folders, and tensors by those of a file.

A catalogue entry may name another folder for a part (``parts``), and a file whose tensors replace
those of the same names (``changes``). Nothing is copied: the pipeline is read from a temporary
folder of links.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_t2i.adapters.support.digests import WEIGHTS_AND_CONFIGS, file_digest
from pytest_t2i.adapters.support.loading import load_failure, looks_like_path, needs
from pytest_t2i.data import digest
from pytest_t2i.errors import ConfigurationError, ModelLoadError, UnknownNameError, some
from pytest_t2i.protocols import LoadOptions

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
    """The folder of each replaced part, downloaded from the hub where needed.

    Args:
        options: ``extra["parts"]`` maps names to folders or hub ids.
        known: names of the pipeline's parts.
        root: folder of the pipeline, for messages.

    Raises:
        UnknownNameError: the pipeline has no part of that name.
        ModelLoadError: there is no such folder, or it cannot be downloaded.
    """
    asked: Mapping[str, str] = options.extra.get("parts", {})
    for name in asked:
        if name not in known:
            raise UnknownNameError(f"part of {root}", name, list(known))
    return {name: _folder(source) for name, source in asked.items()}


def _folder(source: str) -> Path:
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


def apply_changes(pipeline: Any, file: str) -> None:
    """Replace tensors of the pipeline by those of a safetensors file, named ``part.weight``.

    Raises:
        ModelLoadError: the file does not exist, or is damaged.
        ConfigurationError: the pipeline has no such weight, or one of another shape.
    """
    path = Path(file).expanduser()
    if not path.is_file():
        raise ModelLoadError(f"changes: the file {file} does not exist. Correct the catalogue.")
    try:
        tensors = {_common(name): tensor for name, tensor in load_file(path).items()}
    except (SafetensorError, OSError) as error:
        raise ModelLoadError(f"{path} is damaged ({error}). Write it again.") from None
    own = _weights(pipeline)
    unknown = sorted(set(tensors) - set(own))
    if unknown:
        raise ConfigurationError(
            f"{path}: expected weights of {type(pipeline).__name__}, got names that it does not "
            f"have: {some(unknown)}."
        )
    for name, tensor in tensors.items():
        if tensor.shape != own[name].shape:
            wanted, given = list(own[name].shape), list(tensor.shape)
            raise ConfigurationError(f"{path}: expected {name} of the shape {wanted}, got {given}.")
        with torch.no_grad():
            own[name].copy_(tensor)


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
