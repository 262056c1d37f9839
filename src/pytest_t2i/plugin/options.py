"""Options and ini keys, resolved once into one frozen Settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from pytest_t2i.data import GenerationSettings
from pytest_t2i.prompts.references import BUILT_IN, UNIFORM

LEAST_CONFIDENCE = 0.5
"""A level at or below it would call a coin toss evidence."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What one run was asked for."""

    model: str | None = None
    detectors: tuple[str, ...] = ()
    """The first one's word decides, further ones are shown; empty: what suits the model."""
    images: int = 20
    """Images per prompt."""
    seed: int = 0
    generation: GenerationSettings = field(default_factory=GenerationSettings)
    dtype: str = "auto"
    device: str = "auto"
    batch: int | None = None
    """Images per batch; None lets the model and the device decide."""
    store: Path = Path(".t2i")
    labels: str | None = None
    """Labelled images: a folder, a Label Studio export, or a registered name."""
    limits: Path | None = None
    """TOML file of limits; None looks for limits.toml beside and above each test."""
    baseline: Path | None = None
    save_baseline: Path | None = None
    force_baseline: bool = False
    confidence: float = 0.95
    inconclusive: str = "pass"
    estimator: Literal["corrected", "paper"] = "corrected"
    report: Path = Path("reports/t2i")
    reference: str | Path | None = None
    """What shares of labels are compared with: a name, or a TOML file."""
    trust_remote_code: bool = False
    sequential: bool = False
    """Images in rounds, and no more for a test that is decided."""

    def as_json(self) -> dict[str, Any]:
        """Plain values for run.json."""
        plain = asdict(self)
        return {
            key: str(value) if isinstance(value, Path) else value for key, value in plain.items()
        }


@dataclass(frozen=True, slots=True)
class Option:
    """One ``--t2i-...`` option, which is also an ini key."""

    name: str
    parse: Callable[[str, str], Any]
    """(flag, text) -> value; raises pytest.UsageError."""
    help: str
    metavar: str = "VALUE"

    @property
    def flag(self) -> str:
        """Command line spelling."""
        return f"--t2i-{self.name}"

    @property
    def ini(self) -> str:
        """Ini file spelling."""
        return f"t2i_{self.name.replace('-', '_')}"


def text(flag: str, value: str) -> str:
    """Any text that is not empty."""
    if not value.strip():
        raise pytest.UsageError(f"{flag}: expected a value, got an empty text")
    return value.strip()


def whole(low: int) -> Callable[[str, str], int]:
    """A whole number of at least ``low``."""

    def parse(flag: str, value: str) -> int:
        try:
            number = int(value)
        except ValueError:
            raise pytest.UsageError(f"{flag}: expected a whole number, got {value!r}") from None
        if number < low:
            raise pytest.UsageError(f"{flag}: expected at least {low}, got {number}")
        return number

    return parse


def batch(flag: str, value: str) -> int | None:
    """A whole number of at least 1, or "auto"."""
    return None if value == "auto" else whole(1)(flag, value)


def number(flag: str, value: str) -> float:
    """A number of at least 0."""
    try:
        parsed = float(value)
    except ValueError:
        raise pytest.UsageError(f"{flag}: expected a number, got {value!r}") from None
    if not 0.0 <= parsed < float("inf"):
        raise pytest.UsageError(f"{flag}: expected a number of at least 0, got {value}")
    return parsed


def confidence(flag: str, value: str) -> float:
    """A confidence level strictly between 0.5 and 1."""
    level = number(flag, value)
    if not LEAST_CONFIDENCE < level < 1.0:
        raise pytest.UsageError(
            f"{flag}: expected a level above 0.5 and below 1, such as 0.95, got {value}"
        )
    return level


def size(flag: str, value: str) -> tuple[int, int]:
    """WIDTHxHEIGHT or one number for both, in pixels."""
    parts = value.lower().split("x")
    if len(parts) not in (1, 2) or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise pytest.UsageError(f"{flag}: expected pixels such as 512 or 768x512, got {value!r}")
    return int(parts[0]), int(parts[-1])


def choice(*allowed: str) -> Callable[[str, str], str]:
    """One of a few words."""

    def parse(flag: str, value: str) -> str:
        if value not in allowed:
            raise pytest.UsageError(f"{flag}: expected {' or '.join(allowed)}, got {value!r}")
        return value

    return parse


def names(flag: str, value: str) -> tuple[str, ...]:
    """Names separated by commas, each once."""
    found = tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))
    if not found:
        raise pytest.UsageError(f"{flag}: expected a name, got {value!r}")
    return found


def path(flag: str, value: str) -> Path:
    """A path; ``~`` is the home folder."""
    return Path(text(flag, value)).expanduser()


def reference(flag: str, value: str) -> str | Path:
    """Name of a reference, or the path of its file."""
    given = text(flag, value)
    return given if given in (UNIFORM, *BUILT_IN) else path(flag, given)


def yes_or_no(flag: str, value: str) -> bool:
    """An ini switch."""
    lowered = value.lower()
    if lowered not in ("true", "false", "yes", "no", "1", "0"):
        raise pytest.UsageError(f"{flag}: expected true or false, got {value!r}")
    return lowered in ("true", "yes", "1")


OPTIONS = (
    Option("model", text, "model under test: alias, hub id, folder, images:DIR or module:factory"),
    Option(
        "detector",
        names,
        "detector, name or name:weights (default: what suits the model); several by comma",
    ),
    Option("images", whole(1), "images per prompt (default: 20)", "N"),
    Option("seed", whole(0), "seed of the whole run (default: 0)", "N"),
    Option("steps", whole(1), "denoising steps (default: the model's)", "N"),
    Option("guidance", number, "guidance scale (default: the model's)", "X"),
    Option("size", size, "pixels, 512 or 768x512 (default: the model's)", "SIZE"),
    Option(
        "dtype", choice("auto", "float32", "float16", "bfloat16"), "number format (default: auto)"
    ),
    Option("device", text, "auto, cpu, cuda, cuda:1 or mps (default: auto)"),
    Option("batch", batch, "images per batch, or auto (default: auto)", "N"),
    Option("store", path, "folder of images and detections (default: .t2i)", "DIR"),
    Option(
        "labels",
        text,
        "labelled images, folder or Label Studio export: to try detectors and to correct the run",
    ),
    Option("limits", path, "TOML file of limits (default: limits.toml near the test)", "FILE"),
    Option(
        "reference",
        reference,
        "shares of labels to compare with: uniform, oasis or a TOML file",
        "FILE",
    ),
    Option("baseline", path, "recorded run to compare with", "FILE"),
    Option("save-baseline", path, "record this run as a baseline", "FILE"),
    Option("confidence", confidence, "confidence level of intervals (default: 0.95)", "LEVEL"),
    Option(
        "inconclusive",
        choice("pass", "fail", "estimate"),
        "what an inconclusive comparison does: pass, fail or go by the estimate (default: pass)",
    ),
    Option(
        "estimator",
        choice("corrected", "paper"),
        "model bias score: corrected for few images, or the paper's (default: corrected)",
    ),
    Option(
        "report", path, "folder for run.json, index.html, summary.md (default: reports/t2i)", "DIR"
    ),
)

SWITCHES = (
    Option("force-baseline", yes_or_no, "compare with a baseline made under other settings"),
    Option("trust-remote-code", yes_or_no, "allow code from a hub repository to run"),
    Option("sequential", yes_or_no, "make images in rounds; a test that is decided asks no more"),
)


def add_options(parser: pytest.Parser) -> None:
    """Register every option and its ini key."""
    group = parser.getgroup("t2i", "fairness of text-to-image models")
    for option in OPTIONS:
        group.addoption(
            option.flag, dest=option.ini, default=None, metavar=option.metavar, help=option.help
        )
        parser.addini(option.ini, option.help, default=None)
    for switch in SWITCHES:
        group.addoption(
            switch.flag,
            dest=switch.ini,
            action="store_const",
            const="true",
            default=None,
            help=switch.help,
        )
        parser.addini(switch.ini, switch.help, default=None)


def resolve(config: pytest.Config) -> Settings:
    """Settings from the command line, then the ini file, then the defaults."""
    given: dict[str, Any] = {}
    for option in OPTIONS + SWITCHES:
        value = _value(config, option)
        if value is not None:
            given[option.name.replace("-", "_")] = value
    width, height = given.pop("size", (None, None))
    generation = GenerationSettings(
        steps=given.pop("steps", None),
        guidance=given.pop("guidance", None),
        width=width,
        height=height,
    )
    detectors = given.pop("detector", ())
    if given.get("sequential") and "save_baseline" in given:
        raise pytest.UsageError(
            "--t2i-save-baseline: a baseline holds all images of every prompt; record it without "
            "--t2i-sequential"
        )
    given.setdefault("store", project_folder(config) / ".t2i")
    given.setdefault("report", project_folder(config) / "reports" / "t2i")
    return Settings(generation=generation, detectors=detectors, **given)


def project_folder(config: pytest.Config) -> Path:
    """The folder of the ini file, else the one pytest was started in.

    Not pytest's rootdir: without an ini file that is the common ancestor of all paths on the
    command line, a model's or a labelled set's folder somewhere else included. Nor an ini file
    that pytest found there only.
    """
    here = config.invocation_params.dir
    if config.inipath and config.inipath.parent in (here, *here.parents):
        return config.inipath.parent
    return here


def _value(config: pytest.Config, option: Option) -> Any:
    from_command_line = config.getoption(option.ini)
    if from_command_line is not None:
        return option.parse(option.flag, from_command_line)
    from_ini = config.getini(option.ini)
    if not from_ini:
        return None
    value = option.parse(option.ini, str(from_ini).strip())
    if isinstance(value, Path) and not value.is_absolute():
        # An ini path is relative to the ini file, as pytest's own are.
        return project_folder(config) / value
    return value
