"""The options of a run, the readers of their texts, and the Settings that they become.

Pytest's ``--t2i-...`` options, their ini keys and the arguments of ``t2i`` share the readers. Each
reader takes the option's name and a text, and raises a ConfigurationError that names the option.
"""

from __future__ import annotations

import json
import math
import operator
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from pytest_t2i.data import GenerationSettings, Money
from pytest_t2i.errors import ConfigurationError, shown
from pytest_t2i.files import user_path
from pytest_t2i.protocols import AnswerLimits

LEAST_CONFIDENCE = 0.5
"""The confidence must be above this level: at or below it, a coin toss would count as evidence."""

POLICIES = ("pass", "status", "fail", "estimate")
"""Effects of an inconclusive check: it is only shown, sets the exit status of the run, fails its
test, or is decided by the estimate."""
Reader = Callable[[str, str], Any]
"""A function (name of the option, text) -> value that raises ConfigurationError for a bad text."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one run."""

    model: str | None = None
    detectors: tuple[str, ...] = ()
    """Names of detectors. The detections of the first are judged, the others are shown; empty for
    the model's default."""
    mitigation: str | None = None
    """Mitigation to test, ``name`` or ``name:key=value,...``; None for the plain model."""
    images: int = 20
    """Images per prompt."""
    seed: int = 0
    generation: GenerationSettings = field(default_factory=GenerationSettings)
    model_option: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of a pipeline, or fields of the requests to a service."""
    dtype: str = "auto"
    device: str = "auto"
    batch: int | None = None
    """Images per batch; None lets the model and the device decide."""
    executor: str = "auto"
    """Executor of the requests: name, name:source or module:factory[:source]."""
    detect_where: str = "here"
    """Process in which detectors run: "here", or "worker" for the worker that made the image."""
    store: Path = Path(".t2i")
    catalogue: Path | None = None
    """TOML file of aliases for models and weights, beside the registered catalogues."""
    labels: str | None = None
    """Labelled images: a folder, a file of labels beside them, or a registered name."""
    judge_certificate: Path | None = None
    """Certificate of the judged detector, over whose errors verdicts have a worst case."""
    limits: Path | None = None
    """TOML file of limits; None looks for limits.toml beside and above each test."""
    baseline: Path | None = None
    anchor: Path | None = None
    """Recorded run of the first release, with which comparisons are made beside the baseline."""
    save_baseline: Path | None = None
    force_baseline: bool = False
    confidence: float = 0.95
    """One-sided level of verdicts."""
    run_level: float | None = None
    """Level that all comparisons of the run share; None gives each one ``confidence``."""
    inconclusive: tuple[str, str] = ("pass", "status")
    """Effect of an inconclusive check (POLICIES): of one prompt, and of the model or a baseline."""
    undetected_alike: float = 0.0
    """Share of a check's images up to which undetected ones are taken to be like the others."""
    report: Path = Path("reports/t2i")
    reference: str | None = None
    """Reference shares of labels: a name, or the path of a TOML file."""
    objects: str | None = None
    """Object detector; None takes the model's default."""
    captions: Path | None = None
    """File of captions, of which the neutral ones are prompts."""
    trust_remote_code: bool = False
    answers: AnswerLimits = field(default_factory=AnswerLimits)
    """Bounds on the answers of a server."""
    sequential: bool = False
    """Whether images are made in rounds, and no more for a test that is decided."""
    price: Money | None = None
    """Price of one image; None for the price in the catalogue, if any."""
    budget: Money | None = None
    """Largest amount that the run may spend; None for any amount."""
    probe: Literal["once", "again", "never"] = "once"
    """When the run probes whether a model honours seeds and settings."""

    @property
    def under_test(self) -> str:
        """The model with its mitigation, as reports name them; "" without a model.

        >>> Settings("sdxl", mitigation="random-counterpart").under_test
        'sdxl with random-counterpart'
        """
        if self.model is None or self.mitigation is None:
            return self.model or ""
        return f"{self.model} with {self.mitigation}"

    @property
    def interval_level(self) -> float:
        """Level of the two-sided intervals that decide: each end holds at ``confidence``.

        >>> Settings().interval_level
        0.9
        """
        return round(2.0 * self.confidence - 1.0, 12)

    def as_json(self) -> dict[str, Any]:
        """Return the settings as plain values for run.json."""
        plain = asdict(self)
        return {
            key: str(value) if isinstance(value, Path | Money) else value
            for key, value in plain.items()
        }


def text(name: str, value: str) -> str:
    """Read any text that is not blank; return it without surrounding blanks."""
    if not value.strip():
        raise ConfigurationError(f"{name}: expected a value, got an empty text")
    return value.strip()


MOST_WHOLE = 2**63 - 1
"""Largest whole number of any option; a store's index takes no larger one."""
MOST_IMAGES, MOST_STEPS, MOST_PIXELS = 1_000_000, 10_000, 16_384
"""Largest numbers of images per prompt, of steps per image and of pixels per side, about a hundred
times those in use."""
MOST_AT_ONCE = 256
"""Largest number of simultaneous requests to an endpoint; each has a thread."""


def whole(low: int, high: int = MOST_WHOLE) -> Reader:
    def read(name: str, value: str) -> int:
        try:
            number = int(value)
        except ValueError:
            problem = f"{name}: expected a whole number, got {shown(value)}"
            raise ConfigurationError(problem) from None
        if number < low:
            raise ConfigurationError(f"{name}: expected at least {low}, got {shown(number)}")
        if number > high:
            raise ConfigurationError(f"{name}: expected at most {high}, got {shown(number)}")
        return number

    return read


def batch(name: str, value: str) -> int | None:
    """Read a whole number of at least 1; None for "auto"."""
    return None if value == "auto" else int(whole(1, MOST_IMAGES)(name, value))


def number(
    name: str,
    value: str,
    *,
    least: str = "of at least 0",
    is_enough: Callable[[float, float], bool] = operator.ge,
) -> float:
    """Read a finite number of at least 0.

    ``is_enough`` compares with 0 and ``least`` is its bound in words, for messages.
    """
    try:
        parsed = float(value)
    except ValueError:
        raise ConfigurationError(f"{name}: expected a number, got {shown(value)}") from None
    if not (is_enough(parsed, 0.0) and math.isfinite(parsed)):
        raise ConfigurationError(f"{name}: expected a number {least}, got {shown(value)}")
    return parsed


def above_zero(name: str, value: str) -> float:
    """Read a number above 0."""
    return number(name, value, least="above 0", is_enough=operator.gt)


def share(name: str, value: str) -> float:
    """Read a probability strictly between 0 and 1."""
    parsed = above_zero(name, value)
    if parsed >= 1.0:
        raise ConfigurationError(f"{name}: expected a number above 0 and below 1, got {value}")
    return parsed


def part(name: str, value: str) -> float:
    """Read a share from 0 to 1, both included."""
    parsed = number(name, value)
    if parsed > 1.0:
        raise ConfigurationError(f"{name}: expected a share from 0 to 1, got {value}")
    return parsed


def confidence(name: str, value: str) -> float:
    """Read a confidence level strictly between 0.5 and 1."""
    level = number(name, value)
    if not LEAST_CONFIDENCE < level < 1.0:
        raise ConfigurationError(
            f"{name}: expected a level above 0.5 and below 1, such as 0.95, got {value}"
        )
    return level


def size(name: str, value: str) -> tuple[int, int]:
    """Read WIDTHxHEIGHT, or one number for both; return (width, height) in pixels."""
    parts = value.lower().split("x")
    if len(parts) not in (1, 2) or not all(part.isdecimal() for part in parts):
        problem = f"{name}: expected pixels such as 512 or 768x512, got {shown(value)}"
        raise ConfigurationError(problem)
    read_pixels = whole(1, MOST_PIXELS)
    return read_pixels(name, parts[0]), read_pixels(name, parts[-1])


def choice(*allowed: str) -> Reader:
    def read(name: str, value: str) -> str:
        if value not in allowed:
            choices = " or ".join(allowed)
            raise ConfigurationError(f"{name}: expected {choices}, got {shown(value)}")
        return value

    return read


def names(name: str, value: str) -> tuple[str, ...]:
    """Read names separated by commas; return each once."""
    distinct = tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))
    if not distinct:
        raise ConfigurationError(f"{name}: expected names separated by commas, got {value!r}")
    return distinct


def path(name: str, value: str) -> Path:
    """Read a path; ``~`` is the home folder."""
    try:
        return user_path(text(name, value))
    except ConfigurationError as error:
        raise ConfigurationError(f"{name}: {str(error).removeprefix(f'{name}: ')}") from None


def arguments(name: str, value: str) -> dict[str, Any]:
    r"""Read ``KEY=VALUE``, one a line; a value is read as TOML reads it, and else a text.

    >>> arguments("--t2i-model-option", "quality=high\nstyle.strength=0.5")
    {'quality': 'high', 'style': {'strength': 0.5}}
    """
    tables: dict[str, Any] = {}
    for line in [line for line in value.split("\n") if line.strip()] or [value]:
        key, equals, words = (part.strip() for part in line.partition("="))
        keys = [part.strip() for part in key.split(".")]
        if not (equals and all(keys)):
            raise ConfigurationError(
                f"{name}: expected KEY=VALUE such as quality=high, got {shown(line.strip())}"
            )
        table = _toml_value(words)
        for part in reversed(keys):
            table = {part: table}
        tables = merged(tables, table)
    return tables


def _toml_value(words: str) -> Any:
    try:
        plain = tomllib.loads(f"value = {words}")["value"]
        json.dumps(plain, allow_nan=False)
    except (ValueError, TypeError, RecursionError):  # no TOML, a date, or no finite number
        return words
    return plain


def lora(name: str, value: Any) -> tuple[str, float]:
    """Read ``FOLDER_OR_ID:SCALE``; without a scale it is 1.

    >>> lora("lora", "owner/name:0.5"), lora("lora", "weights/mine")
    (('owner/name', 0.5), ('weights/mine', 1.0))
    """
    source, _, scale = str(value).rpartition(":")
    try:
        read = float(scale)
    except ValueError:
        source, read = str(value), 1.0
    if not (isinstance(value, str) and source.strip() and math.isfinite(read)):
        problem = f"{name}: expected FOLDER_OR_ID:SCALE such as weights/lora:0.8"
        raise ConfigurationError(f"{problem}, got {shown(value)}")
    return source.strip(), read


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of both, those of inner tables too; ``over`` wins.

    >>> merged({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}, "d": 4})
    {'a': {'b': 3, 'c': 2}, 'd': 4}
    """
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            result[key] = merged(below, value)
        else:
            result[key] = value
    return result


def _yes_or_no(name: str, value: str) -> bool:
    lowered = value.lower()
    if lowered not in ("true", "false", "yes", "no", "1", "0"):
        raise ConfigurationError(f"{name}: expected true or false, got {value!r}")
    return lowered in ("true", "yes", "1")


def inconclusive(name: str, value: str) -> tuple[str, str]:
    """Read the effects of inconclusive checks of a prompt and of the model; one word sets both."""
    policies = [choice(*POLICIES)(name, word.strip()) for word in value.split(",")]
    if len(policies) > 2:  # noqa: PLR2004 - of a prompt, of the model
        raise ConfigurationError(
            f"{name}: expected one word, or two separated by a comma, got {value!r}"
        )
    return policies[0], policies[-1]


CURRENCIES = (
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP "
    "BYN BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP "
    "GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES "
    "KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU "
    "MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON "
    "RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND "
    "TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW "
    "ZWG"
)
"""Currency codes of ISO 4217."""


def money(name: str, value: str) -> Money:
    """Read an amount of money such as ``5 USD``."""
    try:
        amount = Money.read(value)
    except ValueError:
        raise ConfigurationError(
            f"{name}: expected an amount and a currency such as 0.04 USD, got {shown(value)}"
        ) from None
    if amount.currency not in CURRENCIES.split():
        raise ConfigurationError(
            f"{name}: unknown currency {amount.currency!r}: expected a code such as USD or EUR"
        )
    return amount


def price(name: str, value: str) -> Money:
    """Read a price above 0 such as ``0.04 USD``."""
    amount = money(name, value)
    if not amount.amount:
        raise ConfigurationError(f"{name}: expected a price above 0, got {shown(value)}")
    return amount


READERS: dict[str, Reader] = {
    "model": text,
    "detector": names,
    "mitigation": text,
    "images": whole(1, MOST_IMAGES),
    "seed": whole(0),
    "steps": whole(1, MOST_STEPS),
    "guidance": number,
    "size": size,
    "model-option": arguments,
    "dtype": choice("auto", "float32", "float16", "bfloat16"),
    "device": text,
    "batch": batch,
    "executor": text,
    "detect-where": choice("here", "worker"),
    "catalogue": path,
    "store": path,
    "labels": text,
    "judge-certificate": path,
    "limits": path,
    "reference": text,
    "objects": text,
    "captions": path,
    "baseline": path,
    "anchor": path,
    "save-baseline": path,
    "confidence": confidence,
    "run-level": confidence,
    "inconclusive": inconclusive,
    "undetected-alike": part,
    "report": path,
    "force-baseline": _yes_or_no,
    "trust-remote-code": _yes_or_no,
    "answer-deadline": above_zero,
    "concurrency": whole(1, MOST_AT_ONCE),
    "price": price,
    "budget": money,
    "probe": choice("once", "again", "never"),
    "sequential": _yes_or_no,
}
"""Name of an option -> what reads its value."""


def settings_of(values: dict[str, Any]) -> Settings:
    """Return the Settings for values of options by name; absent options have their defaults.

    Raises ConfigurationError for options that exclude one another or lack another one.
    """
    named = {name.replace("-", "_"): value for name, value in values.items()}
    width, height = named.pop("size", (None, None))
    generation = GenerationSettings(
        steps=named.pop("steps", None),
        guidance=named.pop("guidance", None),
        width=width,
        height=height,
    )
    usual = AnswerLimits()
    answers = AnswerLimits(
        named.pop("answer_deadline", usual.seconds),
        at_once=named.pop("concurrency", usual.at_once),
    )
    if named.get("sequential") and "save_baseline" in named:
        raise ConfigurationError(
            "--t2i-save-baseline: a baseline holds all images of every prompt; record it without "
            "--t2i-sequential"
        )
    if "anchor" in named and named["anchor"] == named.get("save_baseline"):
        raise ConfigurationError(
            f"--t2i-save-baseline: {named['anchor']} is the anchor, which is never recorded anew. "
            "Give another file"
        )
    detectors = named.pop("detector", ())
    return Settings(generation=generation, answers=answers, detectors=detectors, **named)
