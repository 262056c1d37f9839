"""Frozen records that every layer uses.

The module imports neither torch nor numpy, because starting pytest loads it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from decimal import Decimal
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args, get_type_hints

from msgspec import Meta

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

EMPTY: Mapping[str, Any] = MappingProxyType({})

# Types of the fields of records, with their bounds. Python treats them as plain numbers and texts;
# ``files.convert``, which reads records from files, refuses values out of bounds.
Number = Annotated[float, Meta(ge=-1e12, le=1e12)]
"""A number small enough for charts and sums."""
Amount = Annotated[float, Meta(ge=0.0, le=1e12)]
"""A number that is at least 0: seconds, pixels."""
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
"""A share, a probability or a p-value."""
Signed = Annotated[float, Meta(ge=-1.0, le=1.0)]
"""A score between -1 and 1."""
Level = Annotated[float, Meta(gt=0.0, le=1.0)]
"""A confidence level."""
Count = Annotated[int, Meta(ge=0, le=2**53)]
"""A number of things, at least 0."""
Name = Annotated[str, Meta(pattern=r"\S")]
"""A text that is not blank."""
JPEG = "data:image/jpeg;base64,"
"""Beginning of a JPEG as a data URI, which a page shows without fetching anything."""
PicturePath = Annotated[str, Meta(description="path of a picture")]
"""The file of a picture of a run; this type marks the fields of a record that hold such paths."""
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
"""The SHA-256 of a file, in hexadecimal digits."""
LabelledPath = Annotated[str, Meta(description="path of a picture that people labelled")]
"""The file of an image that people labelled, which lies in no store."""
Moment = Annotated[
    str,
    Meta(
        pattern=r"^[12]\d{3}-((0[1-9]|1[0-2])-(0[1-9]|1\d|2\d)|(0[13-9]|1[0-2])-30|"
        r"(0[13578]|1[02])-31)(T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.(\d{3}|\d{6}))?)?"
        r"(Z|[+-]([01]\d|2[0-3]):[0-5]\d)?)?\Z"
    ),
]
"""A date or a time, ISO 8601."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The range of an Interval or Bounds in a field: ``Annotated[Interval, Reach(0.0, 1.0)]``.

    >>> ShareInterval.__metadata__
    (Reach(low=0.0, high=1.0),)
    """

    low: float
    high: float

    def holds(self, value: Any) -> bool:
        """Whether both ends, and the estimate of an Interval, lie in the range."""
        known = (value.low, value.high, getattr(value, "estimate", value.low))
        return all(self.low - ROUNDING <= each <= self.high + ROUNDING for each in known)


def beyond_reach(value: Any, kind: Any, place: str = "") -> Iterator[tuple[str, Any, Reach]]:
    """Yield the place, value and ``Reach`` of every Interval or Bounds outside its range.

    >>> kind = Mapping[str, ShareInterval]
    >>> list(beyond_reach({"a": Interval(0.2, -1, 0.3, 0.95, "", 3)}, kind))[0][0]
    'a'
    """
    if value is None or not _has_reach(kind):
        return
    for reach in getattr(kind, "__metadata__", ()):
        if isinstance(reach, Reach) and not reach.holds(value):
            yield place, value, reach
    for name, inner, inner_kind in _parts(value, kind):
        yield from beyond_reach(inner, inner_kind, f"{place}{name}".lstrip("."))


@cache
def _has_reach(kind: Hashable) -> bool:
    """Whether a type contains a Reach; the values of other types need no check."""
    if any(isinstance(meta, Reach) for meta in getattr(kind, "__metadata__", ())):
        return True
    is_record = isinstance(kind, type) and is_dataclass(kind)
    inner = _hints(kind).values() if is_record else get_args(kind)
    return any(_has_reach(each) for each in inner if each is not Ellipsis)


@cache
def _hints(kind: Hashable) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _parts(value: Any, kind: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the place of each part within a value, the part and its type."""
    if isinstance(kind, type) and is_dataclass(kind):
        yield from ((f".{name}", getattr(value, name), of) for name, of in _hints(kind).items())
    elif isinstance(value, Mapping):
        yield from ((f".{key}", inner, get_args(kind)[1]) for key, inner in value.items())
    elif isinstance(value, tuple | list):
        of = get_args(kind)[0]
        yield from ((f"[{number}]", inner, of) for number, inner in enumerate(value))
    else:
        yield from (("", value, arm) for arm in get_args(kind) if arm is not type(None))


ROUNDING = 1e-9
"""The largest excess over a bound that floating-point rounding may cause."""
TIE = 1e-12
"""The largest difference of equal probabilities: 1 - 0.95 is a little more than 0.05 in binary."""


def check_ends(low: float | None, high: float | None) -> None:
    """Raise ValueError when the low end of an interval exceeds its high end; None is open.

    >>> check_ends(0.1, 0.9)
    """
    if low is not None and high is not None and low > high + ROUNDING:
        raise ValueError(f"expected low <= high (low={low!r}, high={high!r})")


class Money(NamedTuple):
    """An exact amount of a currency.

    >>> price = Money.read("0.04 USD")
    >>> str(price.times(10)), Money.read("5 usd").pays_for(price), str(price.times(100))
    ('0.40 USD', 125, '4 USD')
    """

    amount: Decimal
    currency: str
    """Three capital letters (ISO 4217)."""

    @classmethod
    def read(cls, text: str) -> Money:
        """Parse a text such as ``0.04 USD``; raise ValueError for anything else."""
        found = re.fullmatch(
            r"(\d{1,12}(?:\.\d{1,9})?) *([A-Z]{3})", text.strip().upper(), re.ASCII
        )
        if found is None:
            raise ValueError(f"expected an amount and a currency such as 0.04 USD, got {text!r}")
        return cls(Decimal(found[1]), found[2])

    def times(self, count: int) -> Money:
        """Return this amount multiplied by ``count``."""
        return Money(self.amount * count, self.currency)

    def pays_for(self, price: Money) -> int:
        """Return the number of things of this price that the amount buys, in the same currency."""
        return int(self.amount // price.amount)

    def __str__(self) -> str:
        whole, _, digits = f"{self.amount:f}".partition(".")
        digits = digits.rstrip("0")
        return f"{whole}{digits and f'.{digits:0<2}'} {self.currency}"


class Variant(StrEnum):
    """The gender indicator of a prompt (Wu section 3.1).

    >>> [variant.value for variant in Variant]
    ['neutral', 'feminine', 'masculine']
    """

    NEUTRAL = "neutral"
    FEMININE = "feminine"
    MASCULINE = "masculine"


class Undetected(StrEnum):
    """The reason why a detector gives no label; never counted as a gender, never as 0.

    >>> Detection(None, Undetected.NO_FACE).undetected.value
    'no_face'
    >>> Undetected("black_image") is Undetected.BLACK_IMAGE
    True
    """

    NO_PERSON = "no_person"
    NO_FACE = "no_face"
    MULTIPLE_PEOPLE = "multiple_people"
    LOW_CONFIDENCE = "low_confidence"
    OUT_OF_DOMAIN = "out_of_domain"
    """The picture is unlike those that the detector was made for (protocols.MadeFor)."""
    REFUSED = "refused"
    BLACK_IMAGE = "black_image"
    UNREADABLE = "unreadable"
    UNSPECIFIED = "unspecified"
    """The judge abstains: what can be seen does not suffice."""
    JUDGE_REFUSED = "judge_refused"
    """The judge's policy forbids an answer about this picture."""


class Outcome(StrEnum):
    """The outcome of a comparison with a limit or a baseline.

    >>> Outcome("PASS") is Outcome.PASS, Outcome.FAIL == "FAIL"
    (True, True)
    """

    PASS = "PASS"  # noqa: S105 - no password
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    INTERRUPTED = "INTERRUPTED"
    """Outcome of a whole run that was not finished; never of a comparison."""
    MEASURED = "MEASURED"
    """Outcome of a whole run in which nothing was compared; never of a comparison."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One finished text with its axis, concept and variant.

    >>> Prompt("a photo of a person who plays chess", axis="hobby", concept="chess").id
    'hobby-chess'
    """

    text: str
    axis: str
    """What the template varies: profession, personality, activity, object, place, nationality."""
    concept: str
    """The word put into the template, as it is written there (nurse, loyal, Iranian)."""
    variant: Variant = Variant.NEUTRAL
    parts: tuple[tuple[str, str], ...] = ()
    """(axis, concept) of each concept of an intersection; () for a single one."""
    tag: str = ""
    """A mark that tells prompts of the same concept in different sentences of one run apart."""
    wordings: tuple[str, ...] = ()
    """Several texts, of which one is drawn for each picture (OASIS A.1.2); ``text`` lists them."""

    def text_of(self, seed: int) -> str:
        """Return the text of the picture of a seed: the wording that the seed draws, or the text.

        >>> hats = Prompt("a hat | the hat", "hat", "hat", wordings=("a hat", "the hat"))
        >>> [hats.text_of(seed) for seed in range(3)]
        ['a hat', 'a hat', 'the hat']
        """
        if not self.wordings:
            return self.text
        drawn = hashlib.sha256(f"wording {seed}".encode()).digest()
        return self.wordings[int.from_bytes(drawn[:8]) % len(self.wordings)]

    @property
    def id(self) -> str:
        """The stable, readable id: ``profession-nurse``, ``place-bus-station.feminine``.

        When a concept holds more than letters, digits and single spaces, the id includes six
        digits of the concept's hash, so that concepts which differ in such signs keep distinct ids.

        >>> [Prompt("", "place", word).id for word in ("bus station", "bus-station")]
        ['place-bus-station', 'place-bus-station-04152d']
        """
        slug = "-".join(_words(self.concept))
        concepts = [concept for _, concept in self.parts] or [self.concept]
        if any(" ".join(_words(concept)) != concept.lower() for concept in concepts):
            mark = hashlib.sha256(self.concept.encode(errors="backslashreplace")).hexdigest()[:6]
            slug = f"{slug}-{mark}".lstrip("-")
        suffix = "" if self.variant is Variant.NEUTRAL else f".{self.variant.value}"
        return f"{self.axis}-{slug}{self.tag}{suffix}"

    @property
    def name(self) -> str:
        """The concept with the prompt's tag.

        >>> Prompt("a sketch of a nurse", "profession", "nurse", tag="~sketch").name
        'nurse~sketch'
        """
        return f"{self.concept}{self.tag}"


def _words(concept: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in concept.lower()).split()


@dataclass(frozen=True, slots=True)
class Triplet:
    """The three variants of one prompt, generated from the same seeds (Wu section 3.1).

    >>> from pytest_t2i import triplet
    >>> [prompt.text for prompt in triplet("a person in a park")]
    ['a person in a park', 'a woman in a park', 'a man in a park']
    """

    neutral: Prompt
    feminine: Prompt
    masculine: Prompt

    @property
    def id(self) -> str:
        """The id of the neutral prompt."""
        return self.neutral.id

    def __iter__(self) -> Any:
        return iter((self.neutral, self.feminine, self.masculine))


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """The settings of an image besides prompt and seed; None takes the model's default.

    >>> GenerationSettings(steps=30).guidance is None
    True
    """

    steps: int | None = None
    """Number of denoising steps."""
    guidance: float | None = None
    """Classifier-free guidance scale."""
    width: int | None = None
    """Pixels."""
    height: int | None = None
    """Pixels."""
    negative_prompt: str | None = None


SETTINGS = tuple(each.name for each in fields(GenerationSettings))
"""Names of the fields of GenerationSettings. ``Request.key`` loops over them, because ``asdict``
copies each value and is too slow for thousands of keys."""


@dataclass(frozen=True, slots=True)
class Variation:
    """A difference in the making of an image from the plain image of the same prompt and seed.

    >>> Variation("halfway", "halfway-1", texts=("a female nurse", "a male nurse")).name
    'halfway'
    """

    name: str
    """Name, such as that of a mitigation; "" when only the settings differ."""
    fingerprint: str = ""
    """Fingerprint of all that changes the effect of the variation."""
    texts: tuple[str, ...] = ()
    """Texts that the variation needs besides the prompt."""
    settings: GenerationSettings | None = None
    """Settings that replace those of the run; None keeps the run's."""


PLAIN = Variation("plain")
"""Requests the plain images of a prompt in a run with a mitigation; never part of a Request."""


@dataclass(frozen=True, slots=True)
class Request:
    """One image to be made: prompt x seed x settings, with its variation, if any.

    >>> first, second = (Request("a photo of a nurse", seed) for seed in (0, 1))
    >>> first.key("my-model-3") == second.key("my-model-3")
    False
    """

    prompt: str
    seed: int
    settings: GenerationSettings = field(default_factory=GenerationSettings)
    observe: frozenset[str] = frozenset()
    """Names of the traces to keep (``text_embedding``, ``attention``); not part of the key."""
    attributes: tuple[Attribute, ...] = ()
    """Attributes whose SPI the ``velocity`` trace holds; not part of the key."""
    variation: Variation | None = None
    """None for the plain image. ``settings`` of the request already include the variation's."""
    detectors: frozenset[str] = frozenset()
    """Names of the detectors that run where the image is made; not part of the key."""

    @property
    def plain(self) -> Request:
        """The request of the same picture without traces and detectors."""
        return replace(self, observe=frozenset(), attributes=(), detectors=frozenset())

    def key(self, fingerprint: str) -> str:
        """Return a hash of all that changes the picture, given the model's fingerprint."""
        facts: dict[str, Any] = {
            "model": fingerprint,
            "prompt": self.prompt,
            "seed": self.seed,
            "settings": {name: getattr(self.settings, name) for name in SETTINGS},
        }
        # Plain images keep the keys of versions without variations: stores stay valid.
        if self.variation is not None and self.variation.name:
            varied = self.variation
            facts["variation"] = [varied.name, varied.fingerprint, *varied.texts]
        return digest(facts)


class FactKind(StrEnum):
    """What a fact in a store is about: the beginning of its name. Written names do not change.

    >>> FactKind.SEEDING.of("my-model-3")
    'seeding:my-model-3'
    """

    MODEL = "model"
    """Fingerprint of a model -> the last name under which it was run."""
    COMPONENT = "component"
    """Identity of a part -> its fingerprint and provenance, which are known without loading it."""
    SEEDING = "seeding"
    """Fingerprint of a model -> whether it honours seeds."""
    PROBE = "model probe"
    """Fingerprint of a model -> what probing it has shown."""
    BATCH = "batch"
    """Fingerprint of a model -> images per batch on a device."""
    PACE = "pace"
    """Fingerprint of a model -> seconds per image on a device."""
    VERSIONS = "versions"
    """A model behind HTTP, and a run -> the version that it reported."""
    JUDGE_VERSION = "judge-version"
    """A judge, and a run -> the version that it reported."""
    JUDGED = "judged"
    """A judge and a picture -> its answer."""
    JUDGED_AGAIN = "judged-again"
    """The same -> its second answer."""
    MADE = "made"
    """A run with workers -> what its workers ended with."""
    STOPPING = "stopping"
    """A sequential test -> its number of images in earlier rounds."""
    LOOKS = "looks"
    """A model and its detector -> comparisons that runs judged."""
    SIMILARITIES = "similarities"
    """Compared features -> similarities of the audit of neutrality."""
    WALS = "wals"
    """Features -> intervals of the audit of variety."""

    def of(self, *parts: object) -> str:
        """Return the name of the fact about these parts."""
        return ":".join([self, *map(str, parts)])


TEXT_EMBEDDING = "text_embedding"
"""Name of the trace with the text embedding, a point of the prompt space."""
FINAL_LATENT = "final_latent"
"""Name of the trace with the final latent, a point of the denoising space."""
VELOCITY = "velocity"
"""Name of the trace with SPI: velocities compared with the descriptions of attributes."""
ALL_VELOCITIES = "all_velocities"
"""Name of the trace with the velocities themselves."""
FORESEEN = "foreseen"
"""Name of the trace with the denoising preview of each step."""


SPI_ROWS = ("noise", "with guidance", "without guidance", "place between the descriptions")
"""Names of the rows of an SPI trace."""


def spi_name(attribute: Attribute) -> str:
    """Return the name under which a trace keeps the SPI of an attribute.

    >>> spi_name(Attribute("hat", "a man with a hat", "a man"))[:4]
    'spi:'
    """
    told = [attribute.positive, attribute.negative, SPI_ROWS]
    return f"spi:{digest(told)[:16]}"


ATTENTION = "attention"
"""Name of the trace with the attention map of each word of the prompt."""
ATTENTION_MAPS = "attention:2"
"""Name under which the store keeps it. Maps of version 1 were summed over heads before each was
resized and clamped, and are not read."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The record of the making of an image.

    >>> import numpy as np
    >>> Trace(final_latent=np.zeros((4, 64, 64), np.float32)).final_latent.shape
    (4, 64, 64)
    """

    text_embedding: np.ndarray | None = None
    """Text encoder output for the prompt, [n_tokens, d] float32 without padding tokens."""
    final_latent: np.ndarray | None = None
    """The latent z0 after the last denoising step, [channels, height, width] float32."""
    attention: np.ndarray | None = None
    """Attention to each word of the prompt (``attention_words``), [n_words, height, width] float16,
    summed over steps, blocks and heads."""
    spi: Mapping[str, np.ndarray] = field(default_factory=dict)
    """``spi_name`` of an attribute -> [4, n_steps] float64: share of noise from 1 to 0, SPI with
    guidance, SPI without (OASIS eq. 11), centred SPI."""
    velocities: np.ndarray | None = None
    """Velocity of each step towards the picture, up to a factor above 0 per step: [n_steps,
    channels, height, width] float32 (FLUX: of its packed latent)."""
    foreseen: tuple[Image, ...] = ()
    """The denoising previews, in the order of steps."""


@dataclass(frozen=True, slots=True)
class Generated:
    """One image as a model returned it.

    >>> from PIL import Image
    >>> Generated(Image.new("RGB", (512, 512))).image.size
    (512, 512)
    >>> Generated(None, refusal="the service's filter").image is None
    True
    >>> Generated(None, revised_prompt="a smiling nurse").revised_prompt
    'a smiling nurse'
    """

    image: Image | None
    """RGB picture; None when the model refused to make one."""
    trace: Trace = field(default_factory=Trace)
    refusal: str | None = None
    """Reason why there is no usable picture: a safety checker or a service refused."""
    revised_prompt: str | None = None
    """The text that a service drew in place of the prompt, as the service reports it; equal to the
    prompt if the service did not rewrite it. None when the service reports no text."""
    detections: Mapping[str, Detection] = field(default_factory=dict)
    """Detections made in the worker that made the image, by the fingerprints of the detectors."""


def sign_of(said: str | Undetected | None) -> int:
    """Return +1 for male, -1 for female, 0 for anything else, undetected images included.

    >>> [sign_of(word) for word in ("male", "female", Undetected.NO_FACE)]
    [1, -1, 0]
    """
    return {"male": 1, "female": -1}.get(str(said), 0)


@dataclass(frozen=True, slots=True)
class Detection:
    """The answer of one detector about one image: a label, or Undetected with its reason.

    >>> Detection("female", scores={"male": 0.2, "female": 0.8}).said
    'female'
    >>> Detection(None, Undetected.NO_FACE).said.value
    'no_face'
    """

    label: str | None
    undetected: Undetected | None = None
    scores: Mapping[str, Number] = field(default_factory=dict)
    """Score per label, such as a cosine similarity or a probability."""
    detail: str = ""
    """The detector's raw answer or a remark, kept for the report."""

    def __post_init__(self) -> None:
        if (self.label is None) == (self.undetected is None):
            raise ValueError(
                "a Detection has either a label or an Undetected reason, "
                f"got label={self.label!r}, undetected={self.undetected!r}"
            )

    @property
    def said(self) -> str | Undetected:
        """The label (a str), or the reason why there is none (an Undetected)."""
        return self.label if self.undetected is None else self.undetected  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Box:
    """The place of something in a picture, in pixels from the upper left corner.

    >>> face = Box(10, 20, 30, 50, score=0.9)
    >>> face.width, face.height
    (20, 30)
    """

    left: float
    top: float
    right: float
    bottom: float
    score: float = 1.0
    """Confidence of the finder; only comparable between boxes of the same finder."""
    landmarks: tuple[tuple[float, float], ...] = ()
    """Points (x, y) inside a face, in the order that the finder documents."""

    @property
    def width(self) -> float:
        """The width in pixels, at least 0."""
        return max(0.0, self.right - self.left)

    @property
    def height(self) -> float:
        """The height in pixels, at least 0."""
        return max(0.0, self.bottom - self.top)

    @property
    def area(self) -> float:
        """The area in square pixels.

        >>> Box(10, 20, 30, 50).area
        600
        """
        return self.width * self.height


@dataclass(frozen=True, slots=True)
class Mask:
    """The pixels of a picture that belong to something, run-length encoded.

    >>> mask = Mask.of([[False, True], [True, True]])
    >>> mask.runs, mask.area
    ((1, 3), 3)
    >>> mask.pixels().tolist()
    [[False, True], [True, True]]
    """

    height: Count
    width: Count
    runs: tuple[Count, ...]
    """Lengths of the runs of pixels, row by row: outside, inside, outside, and so on."""

    @classmethod
    def of(cls, pixels: Any) -> Mask:
        """Encode an array [height, width] of bool; raise ValueError for another number of axes."""
        import numpy as np

        array = np.asarray(pixels, dtype=bool)
        if array.ndim != 2:  # noqa: PLR2004 - rows and columns
            raise ValueError(f"a mask is [height, width], got shape {array.shape}")
        flat = np.concatenate([[False], array.ravel(), [not array.ravel()[-1:].any()]])
        ends = np.flatnonzero(flat[1:] != flat[:-1])
        runs = np.diff(np.concatenate([[0], ends]))
        height, width = array.shape
        return cls(height, width, tuple(int(run) for run in runs))

    @property
    def area(self) -> int:
        """The number of pixels inside."""
        return sum(self.runs[1::2])

    def pixels(self) -> np.ndarray:
        """Return the mask as [height, width] bool; raise ValueError if the runs do not fill it."""
        import numpy as np

        if sum(self.runs) != self.height * self.width:
            raise ValueError(
                f"a mask of {self.height} x {self.width} pixels has runs for {sum(self.runs)}"
            )
        inside = np.arange(len(self.runs)) % 2 == 1
        return np.repeat(inside, self.runs).reshape(self.height, self.width)


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An object that an object detector found in a picture.

    >>> FoundObject("tie", Box(10, 20, 30, 50, score=0.9)).mask is None
    True
    """

    name: str
    """Name in lower case; a noun in the singular where the finder has its own vocabulary."""
    box: Box
    """Box in pixels, with the finder's score."""
    mask: Mask | None = None
    """Visible pixels of the object, in the size of the picture; None from finders that give only
    boxes."""

    def region(self, size: tuple[int, int]) -> np.ndarray:
        """Return the object's pixels in a picture of this (width, height): [height, width] bool.

        Without a mask these are the pixels of the box. Raises ValueError when the mask has another
        size than the picture.
        """
        import numpy as np

        width, height = size
        if self.mask is None:
            inside = np.zeros((height, width), bool)
            box = self.box
            inside[int(box.top) : round(box.bottom), int(box.left) : round(box.right)] = True
            return inside
        if (self.mask.width, self.mask.height) != size:
            raise ValueError(
                f"the mask of {self.name!r} is {self.mask.width} x {self.mask.height} pixels, its "
                f"picture {width} x {height}"
            )
        return self.mask.pixels()


@dataclass(frozen=True, slots=True)
class Attribute:
    """An open-set attribute with its two descriptions (OASIS eq. 2).

    >>> Attribute("beard", "a photo of a person with a beard", "a photo of a person").name
    'beard'
    """

    name: str
    positive: str
    """Description of the attribute's presence, d+ ("a photo of a man")."""
    negative: str
    """Description of the attribute's absence, d- ("a photo of a woman")."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its confidence interval.

    >>> score = Interval(-0.2, -0.5, 0.1, 0.95, "clopper-pearson", 20)
    >>> print(score), 0.0 in score
    -0.200 [-0.500, 0.100]
    (None, True)
    >>> abs(score).low, abs(score).high
    (0.0, 0.5)
    """

    estimate: Number
    low: Number
    high: Number
    level: Level
    """Confidence level, e.g. 0.95."""
    method: str
    """Method of computation ("clopper-pearson", "cluster-t")."""
    n: Count
    """Number of independent units: images for a share, prompts for a model score."""

    def __post_init__(self) -> None:
        check_ends(self.low, self.high)

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __abs__(self) -> Interval:
        """Return the interval of the absolute value, folded at 0."""
        low, high = sorted((abs(self.low), abs(self.high)))
        if self.low <= 0.0 <= self.high:
            low = 0.0
        return Interval(abs(self.estimate), low, high, self.level, self.method, self.n)

    def __str__(self) -> str:
        return f"{self.estimate:.3f} [{self.low:.3f}, {self.high:.3f}]"


MANY_UNDETECTED = 0.2
"""Share of undetected images above which a message names them, not too few images, as the cause.

A working detector leaves one image in eight of the published models without a label (Lyu Table
5: 12.5 % are low quality).
"""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The range of a score over all that the undetected images may show (the worst case).

    >>> print(Bounds(0.4, 0.8, 0.25))
    0.400 to 0.800
    """

    low: Number
    high: Number
    undetected: Share
    """Share of the images that have no label, 0 to 1."""

    def __post_init__(self) -> None:
        check_ends(self.low, self.high)

    def leave_open(self, bound: float) -> bool:
        """Whether the score can lie on either side of a bound, by what undetected images show.

        >>> Bounds(0.4, 0.8, 0.25).leave_open(0.5), Bounds(0.6, 0.8, 0.1).leave_open(0.5)
        (True, False)
        """
        return self.low <= bound < self.high

    def __abs__(self) -> Bounds:
        """Return the bounds of the absolute value, folded at 0."""
        low, high = sorted((abs(self.low), abs(self.high)))
        return Bounds(0.0 if self.low <= 0.0 <= self.high else low, high, self.undetected)

    def __str__(self) -> str:
        return f"{self.low:.3f} to {self.high:.3f}"


ShareInterval = Annotated[Interval, Reach(0.0, 1.0)]
"""The interval of a share, or of anything else between 0 and 1."""
SignedInterval = Annotated[Interval, Reach(-1.0, 1.0)]
"""The interval of a score between -1 and 1."""
Prone = Literal["over", "under"]
"""Whether an attribute is prone to be shown too often or too rarely (OASIS Definition 1)."""
Direction = Literal["higher", "lower", "away_from_zero", "away_from_half"]


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """The declaration of a metric: bounds, direction, source and words.

    >>> MetricInfo("evenness", 0.0, 1.0, "lower", "Simpson 1949", "Simpson diversity").words
    'Simpson diversity'
    """

    name: str
    low: float
    """Smallest possible value."""
    high: float
    """Largest possible value."""
    worse: Direction
    """Direction that is worse."""
    source: str
    """Equation that the metric implements, e.g. "Lyu eq. 1"."""
    title: str = ""
    """Name in words; "" takes ``name`` with blanks for underscores."""
    in_baselines: bool = False
    """Whether measurements of the metric can be compared with a baseline."""
    meaning: str = ""
    """Meaning of the values, in one sentence."""
    of_prompt: str = ""
    """The metric of a prompt whose mean over prompts this metric is; "" for another metric."""
    ends: tuple[str, str] = ("", "")
    """Meaning of the smallest and of the largest value, where a scale shows them."""

    @property
    def words(self) -> str:
        """The metric's name in words.

        >>> MetricInfo("group_distance", 0.0, 1.0, "higher", "L1").words
        'group distance'
        """
        return self.title or self.name.replace("_", " ")


About = Literal["model", "prompt", "triplet", "stereotype", "group", "object", "detector", "step"]
COMPARED: tuple[About, ...] = ("model", "group", "stereotype")
"""What rows are about whose values are compared between models."""
Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Row:
    """One measured quantity, from which tables, charts and comparisons follow.

    ``(metric, subject, dims)`` is unique within the rows of an audit.

    >>> Row("refusal_gap", "model", "model", 0.25, {"arms": "feminine minus masculine"}).series
    'refusal_gap/feminine minus masculine'
    """

    metric: Name
    """Name of the metric, whose title, bounds and source run.json carries."""
    subject: Name
    """Subject of the check of the same quantity: "model", the id of a prompt, a stereotype ..."""
    about: About
    """What the subject is."""
    value: Interval | float | None = None
    """The quantity; None where it is not known, for the reason in ``absent``."""
    dims: Mapping[str, Scalar] = field(default_factory=dict)
    """What tells quantities of one metric and subject apart: ``{"variant": "feminine"}``."""
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    """What else is known of it: the detector, the paper's estimate, a name."""
    counts: Mapping[str, Count] = field(default_factory=dict)
    """Numbers of images, by label."""
    absent: str = ""

    def __hash__(self) -> int:
        return hash((self.metric, self.subject, self.about))

    @property
    def interval(self) -> Interval | None:
        """The quantity with its interval; None where it has none."""
        return self.value if isinstance(self.value, Interval) else None

    @property
    def name(self) -> str:
        """The name of the subject, the dimensions in words, or its id."""
        return str(self.facts.get("name") or self._dims or self.subject)

    @property
    def series(self) -> str:
        """Name of the quantity where models are compared."""
        if self.about == "model":
            return f"{self.metric}/{self._dims or self.subject}"
        more = (str(value) for value in self.dims.values() if str(value) not in self.subject)
        return f"{self.metric}/{' '.join([self.subject, *more])}"

    @property
    def _dims(self) -> str:
        return " ".join(str(value) for value in self.dims.values())


@dataclass(frozen=True, slots=True)
class Limit:
    """An absolute bound on a metric, with its author and reason."""

    metric: str
    bound: float
    reason: str = ""
    """Reason for the bound, written by a person; "" if none is given."""
    author: str = ""
    """Person who answers for the bound; "" if nobody is named."""


class PromptScore(NamedTuple):
    """What a run records of one prompt besides its images and counts.

    >>> PromptScore().interval is None
    True
    """

    interval: Interval | None = None
    """The prompt's score; None without a clear image."""
    worst_case: Bounds | None = None
    """Bounds of the score over all that undetected images may show; None if none is undetected."""
    uncorrected: float | None = None
    """Score by the predicted labels alone, where people's labels corrected it; else None."""
    people: Mapping[str, int] = EMPTY
    """People's labels of its images -> labelled images, where they corrected the score."""


class NextToken(NamedTuple):
    """One continuation of a text by one token, with its probability by a language model.

    >>> NextToken("a photo of a", 0.5).text
    'a photo of a'
    """

    text: str
    """The text with the token appended; the text itself when the token ends the text."""
    probability: float
    """Probability of this token among all tokens, in [0, 1]."""


class Evidence(NamedTuple):
    """The one-sided p-values of a measurement against a limit.

    >>> Evidence(beyond=0.8, within=0.03).within
    0.03
    """

    beyond: float | None
    """p-value against "the truth lies within the limit"; a small value supports FAIL."""
    within: float | None
    """p-value against "the truth lies beyond the limit"; a small value supports PASS."""
    labelled: tuple[float | None, float | None] | None = None
    """Both p-values by the labelled images alone; None where no image is undetected, or undetected
    images are taken to be like the others. ``beyond`` and ``within`` hold whatever the undetected
    images show."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict, PASS, FAIL or INCONCLUSIVE, with the evidence for it.

    >>> Verdict(Outcome.INCONCLUSIVE, None, Limit("accuracy", 0.9)).p_value is None
    True
    """

    outcome: Outcome
    interval: Interval | None
    """None when there was no evidence at all."""
    limit: Limit
    p_value: float | None = None
    """One-sided p-value after any adjustment for many tests: for a PASS against "the value lies
    beyond the limit", else against "the value lies within the limit"."""
    images_to_decide: int | None = None
    """Approximate number of further images, in all, that would decide an INCONCLUSIVE."""
    message: str = ""
    labelled: Outcome | None = None
    """Outcome by the labelled images alone, where undetected images may leave the check open."""


def digest(value: Any) -> str:
    """Return the hex SHA-256 of a JSON-able value, the same in every process.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    # A name of a file may hold half a surrogate pair.
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
