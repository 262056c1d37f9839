"""The extension points: Protocols of one or two methods.

An entry point of one of the groups ``pytest_t2i.models``, ``pytest_t2i.detectors``,
``pytest_t2i.faces``, ``pytest_t2i.persons``, ``pytest_t2i.objects``, ``pytest_t2i.encoders`` and
``pytest_t2i.languages`` names a factory that takes a :class:`LoadOptions` and returns an object
that obeys the Protocol; one of ``pytest_t2i.executors`` takes an :class:`ExecutorOptions`, one of
``pytest_t2i.mitigations`` its keys (:class:`Mitigation`).

Over 300 lines: all that can be plugged in stands here, each with an example.
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

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """How long a server may take to answer over HTTP, and how much it may send.

    >>> AnswerLimits().bytes
    16777216
    """

    seconds: float = 300.0
    """For one answer, all tries and waits together."""
    megabytes: float = 16.0
    """MiB of one answer."""
    at_once: int = 8
    """Pictures that an endpoint is asked for at the same time, at most."""

    @property
    def bytes(self) -> int:
        """The same in bytes."""
        return int(self.megabytes * 2**20)


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What a factory is told.

    >>> LoadOptions(source="weights/mine", device="cuda").dtype
    'auto'
    """

    source: str = ""
    """Hub id, local folder or file, after aliases were resolved; "" asks for the default."""
    device: str = "auto"
    """"auto", "cpu", "cuda", "cuda:1", "mps"."""
    dtype: str = "auto"
    """"auto", "float32", "float16", "bfloat16"."""
    revision: str | None = None
    """Branch, tag or commit of a hub repository."""
    trust_remote_code: bool = False
    """Whether code from the hub repository may run."""
    defaults: GenerationSettings = field(default_factory=GenerationSettings)
    """Settings from the catalogue, used where a request leaves them open."""
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
        """All that changes its pictures: weights, pipeline class, scheduler, dtype, libraries."""

    def generate(self, requests: Sequence[Request]) -> Iterable[Generated]:
        """Make one batch, in order; image k depends on request k alone.

        One that yields its images loses none of them where a later one fails.
        """


@runtime_checkable
class Varying(Protocol):
    """A model that makes images otherwise where a request's ``variation`` asks for it.

    >>> class Mitigated:
    ...     def takes(self, variation):
    ...         return variation.name == "halfway"
    >>> isinstance(Mitigated(), Varying)
    True
    """

    def takes(self, variation: Variation) -> bool:
        """Whether it makes images of this variation."""


@runtime_checkable
class MakesEach(Protocol):
    """A model that makes several images at a time and hands each over as soon as it is there.

    >>> class Service:
    ...     def each(self, requests):
    ...         return ((request, Generated(None, refusal="closed")) for request in requests)
    >>> isinstance(Service(), MakesEach)
    True
    """

    def each(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Generated]]:
        """Every request once with its image, in any order; each is kept before the next."""


@runtime_checkable
class MayIgnoreSeeds(Protocol):
    """A model of which nobody knows whether the same seed gives the same picture: it is tried out.

    >>> class Service:
    ...     may_ignore_seeds = True
    ...
    ...     def at_once(self, requests):
    ...         return [Generated(None, refusal="closed") for _ in requests]
    >>> isinstance(Service(), MayIgnoreSeeds)
    True
    """

    may_ignore_seeds: bool
    """False where its seeds are known to hold."""

    def at_once(self, requests: Sequence[Request]) -> Sequence[Generated]:
        """Have all of them made at the same time, in order."""


Stage = Literal["prompt", "text embeddings", "attention", "guidance", "weights"]
"""Where a mitigation acts."""


@runtime_checkable
class Mitigation(Protocol):
    """Makes the pictures of a model fairer: what is known of it before it acts.

    One of the stage "prompt" is a :class:`PromptMitigation`, any other a
    :class:`PipelineMitigation`. Its factory, such as the class itself, takes the keys of
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
        """As it is registered."""

    @property
    def fingerprint(self) -> str:
        """All that changes what it does, besides its keys."""

    @property
    def stage(self) -> Stage:
        """Where it acts."""

    @property
    def families(self) -> tuple[str, ...]:
        """Classes of the pipelines that it fits; () for any model, at the stage "prompt" alone."""

    @property
    def passes(self) -> float:
        """What a picture costs, in those of the plain model: 1.0 for nothing more."""

    @property
    def needs_counterparts(self) -> bool:
        """Whether it asks for the feminine and the masculine text of each prompt."""


@runtime_checkable
class PromptMitigation(Protocol):
    """A mitigation that gives the model another prompt: fits any model, endpoints included.

    >>> class Women:
    ...     def prompt(self, text, seed, counterparts):
    ...         return counterparts[0]
    >>> Women().prompt("a nurse", 0, ("a female nurse", "a male nurse"))
    'a female nurse'
    """

    def prompt(self, text: str, seed: int, counterparts: tuple[str, ...]) -> str:
        """The prompt that this picture is made from, the same for the same arguments.

        ``counterparts`` are the feminine and the masculine text; () where it needs none.
        """


@runtime_checkable
class PipelineMitigation(Protocol):
    """A mitigation that acts inside a pipeline, for one batch at a time.

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
        """Changes the pipeline while these requests are made, and takes that back at the end.

        They are made by one call of the pipeline: row k of what it works on is request k, and
        begins anew after the last one where a lone picture is made twice over. The counterparts
        are the ``texts`` of each request's ``variation``.
        """


@runtime_checkable
class PassesBySettings(Protocol):
    """A mitigation whose cost depends on how pictures are made.

    >>> class Early:
    ...     def passes_with(self, settings):
    ...         return 1.0 + 2.0 / (settings.steps or 28)
    >>> isinstance(Early(), PassesBySettings)
    True
    """

    def passes_with(self, settings: GenerationSettings) -> float:
        """What a picture costs with these settings, in passes of the plain model.

        ValueError, told as one line before anything is made, where they leave it nothing to do.
        """


@runtime_checkable
class ComparingMitigation(Protocol):
    """A mitigation that compares the pictures it makes, by features of an encoder.

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
        """Name of the encoder; "" for the run's own, None where it needs none as it is set."""

    def seeing(self, encoder: Encoder) -> PipelineMitigation:
        """The same with an encoder, whose version is part of what its pictures are kept by."""


@dataclass(frozen=True, slots=True)
class ExecutorOptions:
    """What the factory of an executor is told.

    >>> options = ExecutorOptions("painter", model=lambda: None, recipe=lambda: None, batch=8)
    >>> options.source, options.batch
    ('', 8)
    """

    name: str
    """The model under test, as it was asked for; for messages."""
    model: Callable[[], TextToImage]
    """Loads the model in this process, once."""
    recipe: Callable[[], tuple[Callable[[LoadOptions], TextToImage], LoadOptions]]
    """The model's factory and what to call it with, to load it elsewhere. Both can be pickled where
    the factory can be imported."""
    batch: int
    """Images per batch: an int of at least 1."""
    say: Callable[[str], None] = print
    """Tells the user something, in the summary of the run too."""
    source: str = ""
    """What stands behind the colon in ``--t2i-executor name:source``: an address, a number."""
    fingerprint: Callable[[], str] = lambda: ""
    """The model's, by which the store keeps its pictures; "" where it is not known. A model that is
    loaded elsewhere must have the same."""


@runtime_checkable
class Executor(Protocol):
    """Has requests made: here, in several processes, on a cluster.

    One that has ``close()`` is closed when the run needs no more images.

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
        """Each request once with its image, in any order.

        They are claimed as they are taken: by the thread that called this, and not all at once.
        """


@runtime_checkable
class TextEmbedding(Protocol):
    """A model that can show its prompt space without making an image.

    >>> import numpy as np
    >>> class Letters:
    ...     def embed_text(self, prompts):
    ...         return [np.array([[len(prompt), 1.0]], np.float32) for prompt in prompts]
    >>> isinstance(Letters(), TextEmbedding)
    True
    """

    def embed_text(self, prompts: Sequence[str]) -> Sequence[np.ndarray]:
        """Text encoder output per prompt, each [n_tokens, d] float32 without padding."""


@runtime_checkable
class ReadyMade(Protocol):
    """A model whose images exist already, with seeds of their own.

    >>> class Archive:
    ...     def available(self, prompt):
    ...         return (0, 7) if prompt == "a photo of a nurse" else ()
    >>> isinstance(Archive(), ReadyMade)
    True
    """

    def available(self, prompt: str) -> Sequence[int]:
        """Seeds of the prompt's images."""


@runtime_checkable
class Calibrated(Protocol):
    """Says which prompts a model's pictures are known for, where that is not any.

    Checks that need another prompt stay inconclusive: nobody knows what its pictures should show. A
    model may obey it, or an entry of a catalogue name an object that does (``calibrated``).

    >>> class Nurses:
    ...     def is_calibrated_for(self, prompt):
    ...         return "nurse" in prompt
    >>> isinstance(Nurses(), Calibrated)
    True
    """

    def is_calibrated_for(self, prompt: str) -> bool:
        """Whether the pictures of this very prompt are known."""


@runtime_checkable
class Detector(Protocol):
    """Says of each image a label or why there is none.

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
        """All that changes its word: name, weights, prompts, thresholds, libraries."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label it may give, e.g. ("male", "female")."""

    def detect(self, images: Sequence[Image]) -> Sequence[Detection]:
        """One detection per image, in order."""


@runtime_checkable
class OpenSet(Protocol):
    """A detector that can also look for any attribute described in words (OASIS eq. 5).

    >>> class Anything:
    ...     def for_attribute(self, attribute):
    ...         return self
    >>> isinstance(Anything(), OpenSet)
    True
    """

    def for_attribute(self, attribute: Attribute) -> Detector:
        """A detector with the labels ("present", "absent")."""


@runtime_checkable
class MadeFor(Protocol):
    """A detector or an encoder that was made for one kind of pictures, and knows others from them.

    It is not asked about pictures of another kind: they are undetected as ``out_of_domain``, and
    have no features.

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
        """The kind of pictures in words, as in "made for ..."; "" where it takes any."""

    def in_domain(self, images: Sequence[Image]) -> Sequence[bool]:
        """Whether each picture is of that kind, in order."""


@runtime_checkable
class FaceDetector(Protocol):
    """Finds faces: a part that detectors are put together from.

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
        """All that changes what it finds: weights, thresholds, libraries."""

    def faces(self, images: Sequence[Image]) -> Sequence[Sequence[Box]]:
        """The faces of every picture, in its own pixels, the largest first."""


@runtime_checkable
class PersonDetector(Protocol):
    """Finds people: a part that detectors are put together from.

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
        """All that changes what it finds: weights, thresholds, libraries."""

    def persons(self, images: Sequence[Image]) -> Sequence[Sequence[Box]]:
        """The people of every picture, in its own pixels, the largest first."""


@runtime_checkable
class ObjectFinder(Protocol):
    """Finds and names objects, with their masks where it can.

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
        """All that changes what it finds: weights, vocabulary, thresholds, libraries."""

    def objects(self, images: Sequence[Image]) -> Sequence[Sequence[FoundObject]]:
        """The objects of every picture, in its own pixels, the largest first."""


@runtime_checkable
class Encoder(Protocol):
    """Turns images into feature vectors.

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
        """All that changes its features."""

    def encode(self, images: Sequence[Image]) -> np.ndarray:
        """[n_images, d] float32, not normalised."""


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
        """[n_texts, d] float32, not normalised."""


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
        """All that changes its answers, as far as it is known."""

    def answer(self, question: str, schema: Mapping[str, Any] | None = None) -> str:
        """The answer, as JSON where a schema is given; MalformedAnswerError to be asked again."""


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
        """The ``count`` likeliest next tokens of each text, the likeliest first.

        Tokens that add nothing readable are left out; the end of the text counts as one.
        """
