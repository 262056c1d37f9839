"""Clear messages for errors between a name and loaded weights. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from traceback import walk_tb

from pytest_t2i.errors import (
    ConfigurationError,
    MissingExtraError,
    ModelLoadError,
    T2IError,
    chain_of,
    first_of,
    unfit_packages,
)

HUB = "https://huggingface.co"
NETWORK_MODULES = {"httpx", "httpx2", "httpcore", "httpcore2", "requests", "urllib3", "socket"}


@contextmanager
def needs(feature: str, extra: str) -> Iterator[None]:
    """Turn a failed import into a MissingExtraError that names the extra."""
    try:
        yield
    except T2IError:
        raise
    except Exception as error:
        first = first_of(error)
        name = (getattr(first, "name", None) or "").partition(".")[0]
        if name.startswith("pytest_t2i"):
            raise
        if isinstance(first, ModuleNotFoundError) and name and not is_installed(name):
            raise MissingExtraError(feature, extra, name) from None
        if "libGL" in str(first) or "libgthread" in str(first):
            raise ConfigurationError(
                f"{feature} needs OpenCV, which lacks a library of the operating system ({first}). "
                "On a machine without a screen run: pip uninstall --yes opencv-python && "
                "pip install opencv-python-headless"
            ) from None
        if not (remedy := unfit_packages(error)):
            raise
        raise ConfigurationError(
            f"{feature} cannot import its packages: {_in_words(first)}. {remedy}"
        ) from None


def is_installed(module: str) -> bool:
    """Whether a top-level module can be imported; nothing is imported for it."""
    try:
        return find_spec(module) is not None
    except ValueError:  # a module without a spec, imported by hand
        return True
    except ModuleNotFoundError:
        return False


def _in_words(error: BaseException) -> str:
    text = str(error).strip().partition("\n")[0].rstrip(".")
    return f"{type(error).__name__}: {text or 'no message'}"


def looks_like_path(source: str) -> bool:
    return source.startswith((".", "/", "~")) or "\\" in source or source.count("/") > 1


def folder_or_hub_id(source: str) -> str:
    """The existing folder that a source names, else the source as a hub id."""
    folder = Path(source).expanduser()
    if folder.is_dir():
        return str(folder)
    if looks_like_path(source) or folder.exists():
        raise ModelLoadError(
            f"{folder}: expected a folder written by save_pretrained, or a hub id such as "
            "'owner/name', and there is no such folder."
        )
    return source


def hub_commit(folder: Path) -> str | None:
    """The commit of a folder in the hub's cache; None for any other folder.

    >>> hub_commit(Path("hub/models--a--b/snapshots/0123abc"))
    '0123abc'
    """
    is_snapshot = folder.parent.name == "snapshots" and folder.parent.parent.name.startswith(
        "models--"
    )
    return folder.name if is_snapshot else None


def load_failure(error: BaseException, source: str, revision: str | None = None) -> ModelLoadError:
    """A ModelLoadError with one clear message for an error of the hub or of a library."""
    causes = list(chain_of(error))
    for explain in (_environment, _hub_answer, _unreachable, _broken_file):
        message = explain(causes, source, revision)
        if message:
            return ModelLoadError(message)
    first, remedy = causes[-1], unfit_packages(error)
    words = _in_words(error) if first is error else f"{_in_words(error)}: {_in_words(first)}"
    return ModelLoadError(f"cannot load {source!r}: {words}{'. ' if remedy else ''}{remedy}")


def _names(causes: list[BaseException]) -> set[str]:
    return {base.__name__ for cause in causes for base in type(cause).__mro__}


def _environment(causes: list[BaseException], source: str, revision: str | None) -> str | None:
    """What is wrong with proxies or certificates, where the HTTP library itself has failed."""
    from pytest_t2i.adapters.endpoints.proxies import check_environment

    del source, revision
    frames = (frame for frame, _ in walk_tb(causes[-1].__traceback__))
    if not any(str(frame.f_globals.get("__name__", "")).startswith("httpx") for frame in frames):
        return None
    try:
        check_environment()
    except ConfigurationError as error:
        return str(error)
    return None


def _hub_answer(causes: list[BaseException], source: str, revision: str | None) -> str | None:
    names = _names(causes)
    if "GatedRepoError" in names:
        return (
            f"{source!r} is a gated model, and this machine has no access to it. Accept its "
            f"licence at {HUB}/{source}, then run `hf auth login` or set HF_TOKEN, and run again."
        )
    if "RepositoryNotFoundError" in names:
        return (
            f"the Hugging Face hub has no model {source!r} that you have access to. Check the "
            f"spelling at {HUB}/models; for a private model run `hf auth login` or set HF_TOKEN; "
            "for a local folder give its path."
        )
    if "RevisionNotFoundError" in names:
        return f"revision={revision!r} does not exist in {source!r}. See {HUB}/{source}/commits."
    if "HFValidationError" in names:
        return f"{source!r}: expected an existing folder or a hub id such as 'owner/name'."
    if "RemoteEntryNotFoundError" in names:
        return (
            f"{source!r} on the Hugging Face hub lacks a required file: "
            f"{str(causes[-1]).strip().partition(chr(10))[0]}"
        )
    return None


def _unreachable(causes: list[BaseException], source: str, revision: str | None) -> str | None:
    from pytest_t2i.adapters.endpoints.proxies import through

    names = _names(causes)
    fetch = f"`hf download {source}{f' --revision {revision}' if revision else ''}`"
    if "OfflineModeIsEnabled" in names or _told_to_stay_offline(names):
        return (
            f"the weights of {source!r} are not in the local cache, and HF_HUB_OFFLINE is set. "
            f"Unset HF_HUB_OFFLINE, or run {fetch} once with a network, or give a local folder."
        )
    modules = {type(cause).__module__.partition(".")[0] for cause in causes}
    if modules & NETWORK_MODULES or names & {"ConnectionError", "LocalEntryNotFoundError"}:
        return (
            f"the weights of {source!r} are not in the local cache, and {HUB} cannot be "
            f"reached{through(HUB)}. "
            f"Run {fetch} once with a network, or give a local folder."
        )
    return None


def _told_to_stay_offline(names: set[str]) -> bool:
    if "LocalEntryNotFoundError" not in names:
        return False
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


def _broken_file(causes: list[BaseException], source: str, revision: str | None) -> str | None:
    del revision
    text = " ".join(str(cause) for cause in causes)
    if "SafetensorError" in _names(causes):
        return (
            f"a weights file of {source!r} is damaged ({causes[-1]}). Delete the file and download "
            "it again."
        )
    if "safetensors" in text and ("no file named" in text or "not found" in text):
        return unsafe_weights(source)
    if "trust_remote_code" in text:
        return remote_code(source)
    return None


def unsafe_weights(source: str, files: str = "") -> str:
    """Message for weights that exist only as pickles."""
    note = f" (only {files})" if files else ""
    return (
        f"{source!r} has no safetensors weights{note}. Pickled weights can run code when they are "
        "loaded, so they are refused. Convert them once with save_pretrained, or use a revision or "
        "copy with .safetensors files."
    )


def remote_code(source: str) -> str:
    """Message for a repository that contains Python code of its own."""
    return (
        f"{source!r} contains Python code that would have to run. Read that code first; if you "
        "trust it, allow it with --t2i-trust-remote-code."
    )
