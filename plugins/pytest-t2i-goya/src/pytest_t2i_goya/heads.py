"""Files of heads: our own, and checkpoints of the public release, whose code is not run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

import torch
from pytest_t2i import T2IError
from safetensors import safe_open
from safetensors.torch import save

from pytest_t2i_goya.networks import OF_CONTENT, Goya, Sizes

MOST_BYTES = 1 << 30
"""The largest size of a file of heads; the release has 0.2 GiB."""
RELEASE = ("GOYA_content.pth.tar", "GOYA_style.pth.tar")
"""The files of the public release: the first has content, the second style."""
RELEASE_ENCODER = "clip:vit-b-32"
"""The encoder that the release was trained on (thesis section 2.5.4)."""
SHIPPED = "reference"


@dataclass(frozen=True)
class Heads:
    """The networks, with their encoder and the facts of their training."""

    goya: Goya
    sizes: Sizes
    encoder: str
    """The name of the encoder whose features the networks take."""
    styles: tuple[str, ...] = ()
    """The names of the classifier's classes; () where a file does not give them."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """The facts of the training, as far as the file gives them."""

    @property
    def digest(self) -> str:
        """The digest of all numbers in the heads."""
        content = hashlib.sha256()
        for name, tensor in sorted(self.goya.state_dict().items()):
            content.update(name.encode() + tensor.contiguous().numpy().tobytes())
        return content.hexdigest()


def read_heads(name: str) -> Heads:
    """Return heads: ``reference`` (shipped), a .safetensors file, a checkpoint or release folder.

    Raises T2IError that says in one line what is wrong with the file.
    """
    path = _place(name)
    if path.is_dir():
        content, style = (_checkpoint(_there(path / file)) for file in RELEASE)
        tensors = {n: t for n, t in content.items() if n.startswith(OF_CONTENT)}
        tensors |= {n: t for n, t in style.items() if not n.startswith(OF_CONTENT)}
        return _heads(path, tensors, {})
    if path.suffix == ".safetensors":
        return _heads(path, *_safe(path))
    return _heads(path, _checkpoint(path), {})


def save_heads(heads: Heads, path: Path, *, half: bool = False) -> None:
    """Write a .safetensors file, whole or not at all; ``half`` keeps numbers at 16 bits."""
    kind = torch.float16 if half else torch.float32
    tensors = {n: t.to(kind).contiguous() for n, t in heads.goya.state_dict().items()}
    told = {**heads.facts, "encoder": heads.encoder, "styles": json.dumps(heads.styles)}
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_bytes(save(tensors, metadata=told))
    temporary.replace(path)


def _place(name: str) -> Path:
    if name == SHIPPED:
        return Path(str(resources.files(__package__).joinpath("weights/reference.safetensors")))
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if not name or not path.is_file():
        raise T2IError(
            f"heads {name!r}: expected {SHIPPED!r}, a .safetensors file of t2i goya train, or the "
            f"folder of the public release with {' and '.join(RELEASE)}"
        )
    return _there(path)


def _there(path: Path) -> Path:
    if not path.is_file():
        raise T2IError(f"{path}: no such file; the folder of the release has {', '.join(RELEASE)}")
    if path.stat().st_size > MOST_BYTES:
        raise T2IError(f"{path}: expected a file of heads of at most {MOST_BYTES >> 30} GiB")
    return path


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except T2IError:
        raise
    except Exception as error:  # noqa: BLE001 - see below
        # A damaged file can make unpickling and parsing raise any exception.
        first = str(error).strip().partition("\n")[0]
        raise T2IError(
            f"{path}: cannot be read as tensors: {first or type(error).__name__}"
        ) from None


def _checkpoint(path: Path) -> dict[str, torch.Tensor]:
    """Return the tensors of a checkpoint; no pickled code in it is run."""
    with _reading(path):
        stored = torch.load(path, map_location="cpu", weights_only=True)
    tensors = stored.get("state_dict", stored) if isinstance(stored, dict) else None
    named = isinstance(tensors, dict) and all(isinstance(t, torch.Tensor) for t in tensors.values())
    if not named or tensors is None:
        raise T2IError(f"{path}: expected named tensors, or state_dict with some")
    return {str(name).removeprefix("module."): tensor for name, tensor in tensors.items()}


def _safe(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    with _reading(path), safe_open(path, framework="pt") as file:
        names = list(file.keys())
        return {name: file.get_tensor(name) for name in names}, file.metadata() or {}


def _heads(path: Path, tensors: dict[str, torch.Tensor], told: dict[str, str]) -> Heads:
    try:
        sizes = Sizes.of(tensors)
    except (KeyError, ValueError, IndexError) as error:
        raise T2IError(f"{path}: expected the tensors of GOYA, such as {error}") from None
    with torch.device("meta"):
        wanted = {name: tuple(t.shape) for name, t in Goya(sizes).state_dict().items()}
    for name, shape in wanted.items():
        given = tuple(tensors[name].shape) if name in tensors else None
        if given != shape:
            raise T2IError(f"{path}: {name}: expected shape {list(shape)}, got {_shown(given)}")
    goya = Goya(sizes)
    goya.load_state_dict({name: tensors[name].float() for name in wanted})
    goya.eval().requires_grad_(requires_grad=False)
    styles = tuple(_list(path, told.pop("styles", "[]")))
    return Heads(goya, sizes, told.pop("encoder", RELEASE_ENCODER), styles, told)


def _shown(shape: tuple[int, ...] | None) -> str:
    return "none of that name" if shape is None else str(list(shape))


def _list(path: Path, text: str) -> list[str]:
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise T2IError(f"{path}: styles: expected a list of names, got {text[:60]!r}")
    return names
