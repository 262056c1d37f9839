"""A model with its mitigation and detector, loaded by name for single pictures."""

from __future__ import annotations

import json
import re
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pytest_t2i.adapters.black_or_unreadable import gate
from pytest_t2i.adapters.endpoints.secrets import secrets_of_environment
from pytest_t2i.adapters.mitigations import Mitigated
from pytest_t2i.audits.audit import Audit
from pytest_t2i.data import EMPTY, Detection, Generated, Prompt, Request, Undetected
from pytest_t2i.errors import ConfigurationError, T2IError, UnknownNameError
from pytest_t2i.generation.check_pictures import as_generated
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.detect import detections_of
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import DetectorRef, Need, Plan
from pytest_t2i.generation.progress import Progress, Silent, terminal_progress
from pytest_t2i.generation.ready_made import check_supply
from pytest_t2i.generation.store import Store
from pytest_t2i.library.in_memory import factory_of, is_nameless, name_of_model
from pytest_t2i.option_names import OPTIONS
from pytest_t2i.protocols import Detector, Mitigation, ReadyMade, TextToImage
from pytest_t2i.runs.session.marker_arguments import KEYWORDS
from pytest_t2i.runs.session.session import Session
from pytest_t2i.settings import READERS, Settings, settings_of

if TYPE_CHECKING:
    from PIL.Image import Image


OPTION = re.compile(
    r"(?<!pytest )--t2i-(?P<name>[a-z][a-z-]*[a-z])"
    r"(?:[ =](?P<value>[A-Z]+\b|\d[\d.]*\b|[^\s,;()`]+?(?=[`,;)]|\.?$|\. )))?(?P<more> (?=--t2i-))?"
)
"""An option in a message, with its value where one follows."""
PHRASES = {
    "beside or above the test": "in the current folder or above it",
    "or pass limits=FILE": "or pass limits=FILE, or the bound itself",
    "(say why in limits.toml)": "(say why: reason=TEXT beside the bound, or in limits.toml)",
    "deselect these tests": "select other prompts",
}
"""Words of a run of pytest -> those of a script."""
SWITCHES = {option.flag for option in OPTIONS if option.is_switch}
FLAGS = {option.flag for option in OPTIONS}


def in_script_words(text: str) -> str:
    """Return a message with options of pytest as the arguments that they are in a script.

    >>> in_script_words("judge new images: --t2i-seed 1 --t2i-images 132 (9 s here), or a FILE")
    'judge new images: seed=1, images=132 (9 s here), or a FILE'
    >>> in_script_words("try --t2i-dtype float32. Choose another detector with --t2i-detector")
    'try dtype="float32". Choose another detector with detector=...'
    """
    text = OPTION.sub(_argument, text)
    for words, replacement in PHRASES.items():
        text = text.replace(words, replacement)
    return text


def _argument(match: re.Match[str]) -> str:
    flag, value = f"--t2i-{match['name']}", match["value"] or ""
    if flag not in FLAGS:
        return match[0]
    name = match["name"].replace("-", "_")
    rest = ", " if match["more"] else ""
    if flag in SWITCHES:
        return f"{name}=True{f' {value}' if value else ''}{rest}"
    is_plain = not value or value.isupper() or value.replace(".", "").isdigit()
    return f"{name}={(value or '...') if is_plain else json.dumps(value)}{rest}"


@contextmanager
def clean_errors() -> Iterator[None]:
    """Raise a T2IError alone, and without keys: a traceback shows all exceptions that led to it.

    Exceptions of HTTP libraries quote the service, which may have echoed the key. The message of a
    T2IError names the kind and the place of a mistake in a user's own code.
    """
    try:
        yield
    except T2IError as error:
        error.__cause__ = error.__context__ = None
        error.__suppress_context__ = True
        hide = secrets_of_environment().hide_in
        error.args = tuple(
            in_script_words(hide(part)) if isinstance(part, str) else part for part in error.args
        )
        raise


def settings_for(
    model: Any,
    images: int,
    detector: Any,
    options: Mapping[str, Any],
    model_name: str | None = None,
    refused: Mapping[str, str] = EMPTY,
) -> Settings:
    """Return the settings for options by name, with the readers of the command line."""
    options_by_name = {option.name.replace("-", "_"): option for option in OPTIONS}
    choices = {"images": images, **options}
    choices |= {} if detector is None else {"detector": detector}
    values: dict[str, Any] = {"model": name_of_model(model, model_name)}
    for name, value in choices.items():
        if name not in options_by_name:
            raise UnknownNameError("option", name, [*options_by_name, *KEYWORDS])
        if name in refused:
            raise ConfigurationError(f"{name}={value!r}: {refused[name]}")
        values[options_by_name[name].name] = READERS[options_by_name[name].name](
            name, _text(name, value)
        )
    return settings_of(values)


def _text(name: str, value: Any) -> str:
    if isinstance(value, tuple | list):
        return {"size": "x", "model_option": "\n"}.get(name, ",").join(map(str, value))
    return str(value)


MEASURING = (
    *("limits", "baseline", "anchor", "save_baseline", "force_baseline", "report"),
    *("inconclusive", "confidence", "run_level", "undetected_alike"),
    *("sequential", "judge_certificate", "reference", "captions"),
    *("objects", "labels"),
)
"""Options that only have an effect where something is measured."""
NOTHING_MEASURED = dict.fromkeys(
    MEASURING, "nothing is measured here, so it would have no effect. Give it to t2i.audit(...)"
)


def session_for(
    settings: Settings,
    model: Any,
    fingerprint: str | None,
    detector: Detector | None,
    audits: tuple[Audit, ...] | None = None,
) -> Session:
    """Return a session with these settings, model and detector registered under their names."""
    components = Components(settings, Store(settings.store))
    if detector is not None:
        components.registries.detectors.update({settings.detectors[0]: lambda _: detector})
    if not isinstance(model, str):
        name = str(settings.model)
        components.registries.models.update({name: factory_of(model, fingerprint)})
    session = Session(settings, components, *(() if audits is None else (audits,)))
    session.validate()
    return session


IMAGES = 20
"""Default number of images per prompt."""


def temporary_store() -> TemporaryDirectory[str]:
    """Return a folder for the pictures of one call, which is removed when it is closed."""
    return TemporaryDirectory(prefix="t2i-", ignore_cleanup_errors=True)


def load(model: Any, *, fingerprint: str | None = None, **options: Any) -> Loaded:
    """Load a model by its name, with the mitigation and the detector that options name.

    Unlike ``audit``, the result measures nothing.

    Args:
        model: a model as for ``audit``.
        fingerprint: version of a function, as for ``audit``.
        options: options of a run by their names, such as ``mitigation="random-counterpart"``,
            ``detector="clip"``, ``steps=4``, ``device="cpu"``.

    Returns:
        An object that makes pictures and detects; its parts are loaded on first use.

    Raises:
        ConfigurationError: an option or the model cannot be used.
        UnknownNameError: there is no such model, mitigation, key or option.

    >>> from PIL import Image
    >>> grey = lambda prompts, seeds: [Image.new("RGB", (8, 8), "grey") for _ in prompts]
    >>> loaded = load(grey)
    >>> [made.image.size for made in loaded.generate([loaded.request("a nurse", seed=0)])]
    [(8, 8)]
    """
    detector = options.pop("detector", None)
    # A function without a fingerprint cannot be identified later: its pictures lie in a temporary
    # store that lives as long as the returned object.
    with ExitStack() as temporary, clean_errors():
        if is_nameless(model, fingerprint) and "store" not in options:
            options["store"] = temporary.enter_context(temporary_store())
        settings = settings_for(model, IMAGES, detector, options, refused=NOTHING_MEASURED)
        loaded = Loaded(session_for(settings, model, fingerprint, None))
        weakref.finalize(loaded, temporary.pop_all().close)
    return loaded


class Pictured(NamedTuple):
    """One picture of a prompt.

    >>> Pictured("a nurse", 7, None).seed
    7
    """

    prompt: str
    seed: int
    image: Image | None
    """Picture; None if the model refused to make one."""


class Loaded:
    """A model with its mitigation and detector, as ``load`` returns it.

    >>> from PIL import Image
    >>> from pytest_t2i import load
    >>> grey = lambda prompts, seeds: [Image.new("RGB", (8, 8), "grey") for _ in prompts]
    >>> loaded = load(grey)
    >>> loaded.mitigation is None, loaded.passes
    (True, 1.0)
    """

    def __init__(self, session: Session) -> None:
        self._session, self._components = session, session.components

    @cached_property
    def model(self) -> TextToImage:
        """The model without the mitigation."""
        return self._components.model().get()

    @cached_property
    def mitigation(self) -> Mitigation | None:
        """The mitigation, with its encoder if it compares pictures; None without a mitigation.

        Raises ConfigurationError if the mitigation does not support the model.
        """
        maker = self._components.maker()
        if not isinstance(maker, Mitigated):
            return None
        if maker.named.mitigation.stage == "prompt":
            return maker.named.mitigation
        return cast("Mitigation", maker.inside)

    @property
    def passes(self) -> float:
        """The cost of a picture with these settings, relative to the plain model."""
        mitigating = self._components.mitigating()
        return 1.0 if mitigating is None else mitigating.named.passes

    @property
    def compares_by(self) -> str | None:
        """The name of the encoder by which the mitigation compares pictures; None without one."""
        mitigating = self._components.mitigating()
        encoder = mitigating.named.encoder if mitigating else None
        return encoder[0] if encoder else None

    def request(self, text: str, seed: int) -> Request:
        """Return the request of one picture with the run's settings and mitigation.

        Raises ConfigurationError for a prompt that names a gender, which no mitigation changes, and
        for a prompt without counterparts if the mitigation needs them.
        """
        request = self._session.request_settings.requests(Prompt(text, "prompt", text), [seed])[0]
        if request.variation is None and self._components.mitigating() is not None:
            raise ConfigurationError(
                f"{text!r} names a gender: a mitigation lets such a prompt pass as it is. Write it "
                "with person or people, or with a profession."
            )
        return request

    def generate(self, requests: Sequence[Request]) -> Iterable[Generated]:
        """Make one batch, in order; requests with the mitigation's variation are mitigated."""
        return list(as_generated(self._components.maker().generate(requests)))

    def pictures(
        self, prompts: Sequence[str] = (), images: int | None = None, *, progress: bool = True
    ) -> Iterator[Pictured]:
        """Make the pictures of prompts that the store lacks, and yield all, prompt by prompt.

        After an interruption the same call continues where it stopped.

        Args:
            prompts: texts of the prompts; () takes all prompts of a folder (``images:DIR``).
            images: number of pictures per prompt; None takes that of the options, which is 20, or
                all pictures of a folder.
            progress: whether to show a progress bar.

        Raises:
            ConfigurationError: there is no prompt, or a folder has no picture of a prompt.
        """
        with clean_errors():
            plan = Plan(self._session.request_settings)
            for text, count in self._counts(prompts, images).items():
                prompt = Prompt(text, "prompt", text)
                plan.add(Need(prompt, self._session.seeds(prompt, count)))
        return self._pictured(plan, terminal_progress() if progress else Silent())

    def _counts(self, prompts: Sequence[str], images: int | None) -> dict[str, int]:
        handle = self._components.model()
        model = handle.get() if handle.lists_images else None
        texts = list(dict.fromkeys(prompts or getattr(model, "prompts", ())))
        if not texts:
            raise ConfigurationError(f"expected prompts: {handle.name} does not say which it has")
        if images is None and isinstance(model, ReadyMade):
            counts = {text: len(model.available(text)) for text in texts}
        else:
            counts = dict.fromkeys(texts, images or self._session.settings.images)
        check_supply(handle, counts)
        return counts

    def _pictured(self, plan: Plan, progress: Progress) -> Iterator[Pictured]:
        store, batch = self._session.store, self._session.settings.batch
        runner = Runner(self._components, store, progress, batch, tries_seeds=True)
        with clean_errors(), closing(runner):
            runner.run(plan)
        keys = runner.keys(plan)
        stored = store.images(list(keys.values()))
        for request, key in keys.items():
            image = stored[key]
            picture = None if image.file is None else store.open_image(image)
            yield Pictured(request.prompt, request.seed, picture)

    def detect(self, images: Sequence[Image | None]) -> list[Detection]:
        """Return the deciding detector's detection of each picture.

        Absent, black and broken pictures are undetected without a call of the detector. Raises
        DetectorError for a malformed answer.
        """
        gated = [gate(image) for image in images]
        visible = [picture for picture in gated if not isinstance(picture, Undetected)]
        ref = DetectorRef(self._session.detectors[0])
        detections = iter(detections_of(self._components, ref, visible) if visible else ())
        return [
            Detection(None, picture) if isinstance(picture, Undetected) else next(detections)
            for picture in gated
        ]
