"""The extension points: Protocols of one or two methods.

An entry point of one of the groups ``pytest_t2i.models``, ``pytest_t2i.detectors``,
``pytest_t2i.faces``, ``pytest_t2i.persons``, ``pytest_t2i.objects``, ``pytest_t2i.encoders`` and
``pytest_t2i.languages`` names a factory that takes a :class:`LoadOptions` and returns an object
that obeys the Protocol. A factory of ``pytest_t2i.executors`` takes an :class:`ExecutorOptions`; a
factory of ``pytest_t2i.mitigations`` takes the mitigation's keys (:class:`Mitigation`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from pytest_t2i.data import (
    Attribute,
    Box,
    Detection,
    FoundObject,
    Generated,
    GenerationSettings,
    NextToken,
    Request,
    Variation,
)
from pytest_t2i.errors import DetectorError

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """The bounds on the answers of a server over HTTP: time, size and requests at the same time.

    >>> AnswerLimits().bytes
    67108864
    """

    seconds: float = 300.0
    """Longest time for one answer, all tries and waits together."""
    megabytes: float = 64.0
    """Largest size of one answer in MiB."""
    at_once: int = 8
    """Largest number of pictures requested from an endpoint at the same time."""

    @property
    def bytes(self) -> int:
        """The largest size of one answer in bytes."""
        return int(self.megabytes * 2**20)


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """The arguments of a factory: which weights to load, and how.

    >>> LoadOptions(source="weights/mine", device="cuda").dtype
    'auto'
    """

    source: str = ""
    """Hub id, local folder or file, with aliases resolved; "" for the default."""
    device: str = "auto"
    """Device: "auto", "cpu", "cuda", "cuda:1" or "mps"."""
    dtype: str = "auto"
    """Number format: "auto", "float32", "float16" or "bfloat16"."""
    revision: str | None = None
    """Branch, tag or commit of a hub repository."""
    trust_remote_code: bool = False
    """Whether code from the hub repository may run."""
    defaults: GenerationSettings = field(default_factory=GenerationSettings)
    """Settings from the catalogue, used where those of a request are None."""
    answers: AnswerLimits = AnswerLimits()
    """Bounds on the answers of a server."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of the catalogue entry (variant, scheduler, ...)."""


@runtime_checkable
class TextToImage(Protocol):
    """A text-to-image model.

    >>> from PIL import Image
    >>> class Grey:
    ...     fingerprint = "grey-1"
    ...
    ...     def generate(self, requests):
    ...         return [Generated(Image.new("RGB", (64, 64), "grey")) for _ in requests]
    >>> isinstance(Grey(), TextToImage)
    True
    """

    @property
    def fingerprint(self) -> str:
        """All that changes the pictures: weights, pipeline class, scheduler, dtype, libraries."""

    def generate(self, requests: Sequence[Request]) -> Iterable[Generated]:
        """Make one batch, in order; image k depends on request k alone.

        A generator is best: the images that it yielded are kept when a later one fails.
        """


@runtime_checkable
class Varying(Protocol):
    """A model that supports requests with a ``variation``.

    >>> class Mitigated:
    ...     def takes(self, variation):
    ...         return variation.name == "halfway"
    >>> isinstance(Mitigated(), Varying)
    True
    """

    def takes(self, variation: Variation) -> bool:
        """Whether the model makes images of this variation."""


@runtime_checkable
class MakesEach(Protocol):
    """A model that makes several images at a time and yields each as soon as it is finished.

    >>> class Service:
    ...     def each(self, requests):
    ...         return ((request, Generated(None, refusal="closed")) for request in requests)
    >>> isinstance(Service(), MakesEach)
    True
    """

    def each(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Generated]]:
        """Yield every request once with its image, in any order; each is stored before the next."""


@runtime_checkable
class MayIgnoreSeeds(Protocol):
    """A model that may ignore seeds, so that a run probes whether equal seeds give equal pictures.

    >>> class Service:
    ...     may_ignore_seeds = True
    ...
    ...     def at_once(self, requests):
    ...         return [Generated(None, refusal="closed") for _ in requests]
    >>> isinstance(Service(), MayIgnoreSeeds)
    True
    """

    may_ignore_seeds: bool
    """False where the model is known to honour seeds."""

    def at_once(self, requests: Sequence[Request]) -> Sequence[Generated]:
        """Make the images of all requests at the same time; return them in order."""


@runtime_checkable
class MayIgnoreSettings(Protocol):
    """A model of which a run probes whether seeds, the batch and guidance change what they should.

    >>> class Pipeline:
    ...     may_ignore_settings = True
    ...
    ...     def other_guidance(self, settings):
    ...         return None
    ...
    ...     def notes(self, settings):
    ...         return ()
    >>> isinstance(Pipeline(), MayIgnoreSettings)
    True
    """

    @property
    def may_ignore_settings(self) -> bool:
        """False where the tests of this project show that the model honours them."""

    def other_guidance(self, settings: GenerationSettings) -> GenerationSettings | None:
        """The settings with another guidance; None where the model takes none."""

    def notes(self, settings: GenerationSettings) -> tuple[str, ...]:
        """What a reader of the run must know of the model, a sentence each."""


Stage = Literal["prompt", "text embeddings", "attention", "guidance", "weights"]
"""The part of the generation on which a mitigation acts."""


@runtime_checkable
class Mitigation(Protocol):
    """A method that makes the pictures of a model fairer: the properties common to all stages.

    A mitigation of the stage "prompt" is also a :class:`PromptMitigation`, any other a
    :class:`PipelineMitigation`. The factory, such as the class itself, takes the keys of
    ``--t2i-mitigation NAME:key=value`` as keyword arguments with defaults.

    >>> class Stated:
    ...     name, fingerprint, stage, families, passes = "stated", "1", "prompt", (), 1.0
    ...     needs_counterparts = False
    ...
    ...     def prompt(self, text, seed, counterparts):
    ...         return f"{text}, whoever it is"
    >>> isinstance(Stated(), Mitigation), isinstance(Stated(), PromptMitigation)
    (True, True)
    """

    @property
    def name(self) -> str:
        """The registered name."""

    @property
    def fingerprint(self) -> str:
        """All that changes the effect of the mitigation, besides its keys."""

    @property
    def stage(self) -> Stage:
        """The stage at which the mitigation acts."""

    @property
    def families(self) -> tuple[str, ...]:
        """The classes of supported pipelines; () for any model, only at the stage "prompt"."""

    @property
    def passes(self) -> float:
        """The cost of a picture relative to the plain model; 1.0 costs no more."""

    @property
    def needs_counterparts(self) -> bool:
        """Whether the mitigation needs the feminine and the masculine text of each prompt."""


@runtime_checkable
class PromptMitigation(Protocol):
    """A mitigation that rewrites the prompt; any model supports it, endpoints included.

    >>> class Women:
    ...     def prompt(self, text, seed, counterparts):
    ...         return counterparts[0]
    >>> Women().prompt("a nurse", 0, ("a female nurse", "a male nurse"))
    'a female nurse'
    """

    def prompt(self, text: str, seed: int, counterparts: tuple[str, ...]) -> str:
        """Return the prompt of this picture, equal for equal arguments.

        ``counterparts`` are the feminine and the masculine text; () if ``needs_counterparts`` is
        false.
        """


@runtime_checkable
class PipelineMitigation(Protocol):
    """A mitigation that changes a pipeline for one batch at a time.

    >>> from contextlib import contextmanager
    >>> class Louder:
    ...     @contextmanager
    ...     def applied(self, pipeline, requests):
    ...         before, pipeline.scale = pipeline.scale, 2.0
    ...         try:
    ...             yield
    ...         finally:
    ...             pipeline.scale = before
    >>> isinstance(Louder(), PipelineMitigation)
    True
    """

    def applied(self, pipeline: Any, requests: Sequence[Request]) -> AbstractContextManager[Any]:
        """Change the pipeline on entry of the context, and restore it on exit.

        One call of the pipeline makes these requests: row k of its batch is request k modulo the
        number of requests, because a lone picture may be made twice. The counterparts are the
        ``texts`` of each request's ``variation``.
        """


@runtime_checkable
class PassesBySettings(Protocol):
    """A mitigation whose cost depends on the generation settings.

    >>> class Early:
    ...     def passes_with(self, settings):
    ...         return 1.0 + 2.0 / (settings.steps or 28)
    >>> isinstance(Early(), PassesBySettings)
    True
    """

    def passes_with(self, settings: GenerationSettings) -> float:
        """Return the cost of a picture with these settings, relative to the plain model.

        Raises ValueError when the mitigation has no effect with these settings; its message reaches
        the user before any image is made.
        """


@runtime_checkable
class ComparingMitigation(Protocol):
    """A mitigation that compares its pictures by features of an encoder.

    >>> class Nearest:
    ...     compares_by = ""
    ...
    ...     def seeing(self, encoder):
    ...         return self
    >>> isinstance(Nearest(), ComparingMitigation)
    True
    """

    @property
    def compares_by(self) -> str | None:
        """The name of the encoder; "" for the run's encoder, None if the keys make it unneeded."""

    def seeing(self, encoder: Encoder) -> PipelineMitigation:
        """Return this mitigation with an encoder, whose version is part of its pictures' keys."""


@dataclass(frozen=True, slots=True)
class ExecutorOptions:
    """The arguments of an executor's factory.

    >>> options = ExecutorOptions("painter", model=lambda: None, recipe=lambda: None, batch=8)
    >>> options.source, options.batch
    ('', 8)
    """

    name: str
    """Name of the model under test as the user wrote it, for messages."""
    model: Callable[[], TextToImage]
    """Function that loads the model in this process, once."""
    recipe: Callable[[], tuple[Callable[[LoadOptions], TextToImage], LoadOptions]]
    """Function that returns the model's factory and its argument, to load the model in another
    process. Both can be pickled if the factory can be imported."""
    batch: int
    """Images per batch, at least 1."""
    say: Callable[[str], None] = print
    """Function that prints a message to the user; the summary of the run repeats it."""
    source: str = ""
    """Text after the colon in ``--t2i-executor name:source``, such as an address or a number."""
    fingerprint: Callable[[], str] = lambda: ""
    """Function that returns the fingerprint by which the store keeps the model's pictures; "" if it
    is unknown. A model loaded in another process must have the same fingerprint."""


@runtime_checkable
class Executor(Protocol):
    """An executor of requests: in this process, in several processes or on a cluster.

    If it has a method ``close()``, the run calls it when no more images are needed.

    >>> class Plain:
    ...     def __init__(self, model):
    ...         self.model = model
    ...
    ...     def run(self, requests):
    ...         for request in requests:
    ...             yield request, *self.model.generate([request])
    >>> isinstance(Plain(None), Executor)
    True
    """

    def run(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Generated]]:
        """Yield each request once with its image, in any order.

        Taking a request from ``requests`` claims it in the store. Take requests in the thread that
        called ``run``, and only as many as are about to be made.
        """


@runtime_checkable
class TextEmbedding(Protocol):
    """A model that returns text embeddings without making an image.

    >>> import numpy as np
    >>> class Letters:
    ...     def embed_text(self, prompts):
    ...         return [np.array([[len(prompt), 1.0]], np.float32) for prompt in prompts]
    >>> isinstance(Letters(), TextEmbedding)
    True
    """

    def embed_text(self, prompts: Sequence[str]) -> Sequence[np.ndarray]:
        """Return the text encoder's output per prompt, [n_tokens, d] float32 without padding."""


@runtime_checkable
class ReadyMade(Protocol):
    """A model whose images exist already, each with a fixed seed.

    Where ``numbers(prompt)`` gives some of these seeds, they are numbers alone and say nothing of
    the noise that an image is made from.

    >>> class Archive:
    ...     def available(self, prompt):
    ...         return (0, 7) if prompt == "a photo of a nurse" else ()
    >>> isinstance(Archive(), ReadyMade)
    True
    """

    def available(self, prompt: str) -> Sequence[int]:
        """Return the seeds of the prompt's images, in the order in which a run takes them."""


@runtime_checkable
class Calibrated(Protocol):
    """A model that is calibrated for some prompts only: what their pictures show is known.

    Checks that need any other prompt stay inconclusive. The model itself obeys this Protocol, or
    the key ``calibrated`` of its catalogue entry names an object that does.

    >>> class Nurses:
    ...     def is_calibrated_for(self, prompt):
    ...         return "nurse" in prompt
    >>> isinstance(Nurses(), Calibrated)
    True
    """

    def is_calibrated_for(self, prompt: str) -> bool:
        """Whether the model is calibrated for exactly this text."""


@runtime_checkable
class Detector(Protocol):
    """A classifier that gives each image a label, or a reason why there is none.

    >>> class Sure:
    ...     fingerprint, labels = "sure-1", ("male", "female")
    ...
    ...     def detect(self, images):
    ...         return [Detection("female") for _ in images]
    >>> isinstance(Sure(), Detector)
    True
    """

    @property
    def fingerprint(self) -> str:
        """All that changes the detections: name, weights, prompts, thresholds, libraries."""

    @property
    def labels(self) -> tuple[str, ...]:
        """All possible labels, e.g. ("male", "female")."""

    def detect(self, images: Sequence[Image]) -> Sequence[Detection]:
        """Return one detection per image, in order."""


@runtime_checkable
class LooksAhead(Protocol):
    """A detector of which a part runs on the processor, such as the search for faces.

    On a machine with a GPU that part is done while the GPU makes images. A detector that does all
    its work on the processor, or elsewhere, has ``needs_device = False`` instead.

    >>> class Searching:
    ...     def look_ahead(self, images):
    ...         self.found = {id(image): "a face" for image in images}
    >>> isinstance(Searching(), LooksAhead)
    True
    """

    def look_ahead(self, images: Sequence[Image]) -> None:
        """Do the processor's part for images that ``detect`` gets next; remember the results."""


@runtime_checkable
class OpenSet(Protocol):
    """A detector that can also detect any attribute described in words (OASIS eq. 5).

    >>> class Anything:
    ...     def for_attribute(self, attribute):
    ...         return self
    >>> isinstance(Anything(), OpenSet)
    True
    """

    def for_attribute(self, attribute: Attribute) -> Detector:
        """Return a detector of this attribute with the labels ("present", "absent")."""


@runtime_checkable
class CountsPeople(Detector, Protocol):
    """A detector that counts the people of a picture, and how many present as each label.

    The label of a detection is that of the person in front, who is the largest; it is undetected
    with a reason where there is nobody, or the presentation of that person is unclear. Its scores
    hold the number of people under "people", and under each label the number of people who present
    as that; people whose presentation is unclear are counted under "people" alone. Detections of
    pictures that show nothing (refused, black, unreadable) have no scores. ``people_of`` reads
    them.

    >>> class Pairs:
    ...     fingerprint, labels, counts_people = "pairs-1", ("male", "female"), True
    ...
    ...     def detect(self, images):
    ...         scores = {"people": 2, "male": 1, "female": 1}
    ...         return [Detection("female", scores=scores) for _ in images]
    >>> isinstance(Pairs(), CountsPeople)
    True
    """

    @property
    def counts_people(self) -> bool:
        """Whether scores hold numbers of people; True."""


PEOPLE = "people"
"""Score of a detector that counts people: how many a picture shows."""


@dataclass(frozen=True, slots=True)
class People:
    """The people of one picture.

    >>> People(5, {"male": 1, "female": 3}).unclear
    1
    """

    number: int
    groups: Mapping[str, int]
    """Label -> number of people who present as that."""

    @property
    def labelled(self) -> int:
        """Number of people with a label."""
        return sum(self.groups.values())

    @property
    def unclear(self) -> int:
        """Number of people whose presentation is unclear."""
        return self.number - self.labelled


def people_of(detection: Detection, detector: str, labels: Sequence[str]) -> People | None:
    """Return the people of a detection by a detector that counts them (``CountsPeople``).

    Returns None for an undetected picture without scores, of which nothing is known.

    Raises DetectorError, which names the detector, where a number is missing or is no whole number,
    or where the groups are more people than there are.

    >>> scores = {"people": 3, "male": 2, "female": 0}
    >>> people_of(Detection("male", scores=scores), "mine", ("male", "female"))
    People(number=3, groups={'male': 2, 'female': 0})
    """
    if detection.label is None and PEOPLE not in detection.scores:
        return None

    def count(name: str) -> int:
        value = detection.scores.get(name)
        if value is None or not float(value).is_integer() or value < 0:
            raise DetectorError(
                f"detector {detector!r}: expected a whole number of at least 0 as the score "
                f"{name!r}, as it counts people, got {value!r} in {dict(detection.scores)}"
            )
        return int(value)

    people = People(count(PEOPLE), {label: count(label) for label in labels})
    if people.unclear < 0:
        raise DetectorError(
            f"detector {detector!r}: expected at most {people.number} people with a label, as the "
            f"score {PEOPLE!r} says, got {dict(people.groups)}"
        )
    return people


@runtime_checkable
class MadeFor(Protocol):
    """A detector or encoder that is made for one kind of pictures and recognizes other kinds.

    Pictures of other kinds are not passed to it: they are undetected as ``out_of_domain``, and have
    no features.

    >>> class OfPortraits:
    ...     made_for = "upright portraits"
    ...
    ...     def in_domain(self, images):
    ...         return [image.height > image.width for image in images]
    >>> isinstance(OfPortraits(), MadeFor)
    True
    """

    @property
    def made_for(self) -> str:
        """The kind of pictures in words, as in "made for ..."; "" for any kind."""

    def in_domain(self, images: Sequence[Image]) -> Sequence[bool]:
        """Return whether each picture is of that kind, in order."""


@runtime_checkable
class FaceDetector(Protocol):
    """A finder of faces, of which detectors are composed.

    >>> class Whole:
    ...     fingerprint = "whole-1"
    ...
    ...     def faces(self, images):
    ...         return [[Box(0, 0, *image.size)] for image in images]
    >>> isinstance(Whole(), FaceDetector)
    True
    """

    @property
    def fingerprint(self) -> str:
        """All that changes the boxes: weights, thresholds, libraries."""

    def faces(self, images: Sequence[Image]) -> Sequence[Sequence[Box]]:
        """Return the faces of every picture, in pixels of that picture, the largest first."""


@runtime_checkable
class PersonDetector(Protocol):
    """A finder of people, of which detectors are composed.

    >>> class Whole:
    ...     fingerprint = "whole-1"
    ...
    ...     def persons(self, images):
    ...         return [[Box(0, 0, *image.size)] for image in images]
    >>> isinstance(Whole(), PersonDetector)
    True
    """

    @property
    def fingerprint(self) -> str:
        """All that changes the boxes: weights, thresholds, libraries."""

    def persons(self, images: Sequence[Image]) -> Sequence[Sequence[Box]]:
        """Return the people of every picture, in pixels of that picture, the largest first."""


@runtime_checkable
class ObjectFinder(Protocol):
    """A finder that names objects and gives their boxes, and masks where it can.

    >>> class Whole:
    ...     fingerprint = "whole-1"
    ...
    ...     def objects(self, images):
    ...         return [[FoundObject("picture", Box(0, 0, *image.size))] for image in images]
    >>> isinstance(Whole(), ObjectFinder)
    True
    """

    @property
    def fingerprint(self) -> str:
        """All that changes the objects found: weights, vocabulary, thresholds, libraries."""

    def objects(self, images: Sequence[Image]) -> Sequence[Sequence[FoundObject]]:
        """Return the objects of every picture, in pixels of that picture, the largest first."""


@runtime_checkable
class Encoder(Protocol):
    """An encoder that turns images into feature vectors.

    >>> import numpy as np
    >>> class MeanColour:
    ...     fingerprint = "mean-colour-1"
    ...
    ...     def encode(self, images):
    ...         return np.array([np.asarray(i).mean(axis=(0, 1)) for i in images], np.float32)
    >>> isinstance(MeanColour(), Encoder)
    True
    """

    @property
    def fingerprint(self) -> str:
        """All that changes the features."""

    def encode(self, images: Sequence[Image]) -> np.ndarray:
        """Return the features, [n_images, d] float32, not normalised."""


@runtime_checkable
class TextEncoder(Protocol):
    """An encoder whose features can be compared with texts by cosine.

    >>> import numpy as np
    >>> class Lengths:
    ...     def encode_text(self, texts):
    ...         return np.array([[len(text), 1.0] for text in texts], np.float32)
    >>> isinstance(Lengths(), TextEncoder)
    True
    """

    def encode_text(self, texts: Sequence[str]) -> np.ndarray:
        """Return the features, [n_texts, d] float32, not normalised."""


@runtime_checkable
class Language(Protocol):
    """A language model that answers questions.

    >>> class Silent:
    ...     fingerprint = "silent-1"
    ...
    ...     def answer(self, question, schema=None):
    ...         return "{}"
    >>> isinstance(Silent(), Language)
    True
    """

    @property
    def fingerprint(self) -> str:
        """All that changes the answers, as far as it is known."""

    def answer(self, question: str, schema: Mapping[str, Any] | None = None) -> str:
        """Return the answer, as JSON where a JSON schema is given.

        Raises MalformedAnswerError for an answer that cannot be used; the caller may ask again.
        """


@runtime_checkable
class NextTokens(Protocol):
    """A language model that continues texts token by token.

    >>> class Parrot:
    ...     def next_tokens(self, texts, count):
    ...         return [[NextToken(f"{text} again", 1.0)] for text in texts]
    >>> isinstance(Parrot(), NextTokens)
    True
    """

    def next_tokens(self, texts: Sequence[str], count: int) -> Sequence[Sequence[NextToken]]:
        """Return the ``count`` likeliest next tokens of each text, the likeliest first.

        Tokens that add no readable text are left out; the end of the text counts as a token.
        """
