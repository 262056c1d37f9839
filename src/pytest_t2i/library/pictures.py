"""Pictures of prompts, made and kept as a run keeps them, for what needs pictures alone."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_t2i.data import Prompt
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import Need, Plan
from pytest_t2i.generation.progress import Silent, shown
from pytest_t2i.generation.ready_made import check_supply
from pytest_t2i.library.in_memory import is_nameless
from pytest_t2i.library.session import session_for, settings_for
from pytest_t2i.protocols import ReadyMade
from pytest_t2i.runs.session import Session

if TYPE_CHECKING:
    from PIL.Image import Image

IMAGES = 20
"""Default number of images of each prompt."""


class Pictured(NamedTuple):
    """One picture of a prompt.

    >>> Pictured("a nurse", 7, None).seed
    7
    """

    prompt: str
    seed: int
    image: Image | None
    """None where the model refused it."""


def pictures(
    model: Any,
    prompts: Sequence[str] = (),
    *,
    images: int | None = None,
    fingerprint: str | None = None,
    progress: bool = True,
    **options: Any,
) -> Iterator[Pictured]:
    """Make pictures of prompts and keep them in the store; what is there is not made again.

    Nothing is looked at and nothing is measured: ``audit`` does that. Stopped at any moment, the
    same call goes on from there.

    Args:
        model: as ``audit`` takes it.
        prompts: their texts; () for all that a folder of pictures (``images:DIR``) has.
        images: pictures of each prompt; None for 20, of a folder for all that it has.
        fingerprint: all that changes the pictures of a function.
        progress: whether to show a progress bar.
        options: those of a run by their names, such as ``seed=1``, ``steps=4`` or ``store=DIR``.

    Returns:
        Each picture, prompt by prompt, opened when it comes up.

    Raises:
        ConfigurationError: an option or the model is none, or there is no prompt or no picture of
            one.
        UnknownNameError: there is no such model or option.

    >>> import tempfile
    >>> from PIL import Image
    >>> grey = lambda prompts, seeds: [Image.new("RGB", (8, 8), "grey") for _ in prompts]
    >>> kept = tempfile.mkdtemp()
    >>> made = pictures(grey, ["a nurse"], images=2, fingerprint="g", progress=False, store=kept)
    >>> [(one.prompt, one.image.size) for one in made]
    [('a nurse', (8, 8)), ('a nurse', (8, 8))]
    """
    # Nothing tells one function from another: what it made is kept while it is read.
    passing = is_nameless(model, fingerprint) and "store" not in options
    if passing:
        options["store"] = tempfile.mkdtemp(prefix="t2i-")
    settings = settings_for(model, IMAGES if images is None else images, None, options)
    session = session_for(settings, model, fingerprint, None)
    made = _made(session, _wanted(session, prompts, images), progress)
    return _dropped(made, settings.store) if passing else made


def _dropped(made: Iterator[Pictured], store: Path) -> Iterator[Pictured]:
    try:
        yield from made
    finally:
        shutil.rmtree(store, ignore_errors=True)


def _wanted(session: Session, prompts: Sequence[str], images: int | None) -> dict[str, int]:
    """Text -> how many pictures of it."""
    handle = session.components.model()
    model = handle.get() if handle.lists_images else None
    texts = list(dict.fromkeys(prompts or getattr(model, "prompts", ())))
    if not texts:
        raise ConfigurationError(f"expected prompts: {handle.name} does not say which it has")
    if images is None and isinstance(model, ReadyMade):
        wanted = {text: len(model.available(text)) for text in texts}
    else:
        wanted = dict.fromkeys(texts, session.settings.images)
    check_supply(handle, wanted)
    return wanted


def _made(session: Session, wanted: dict[str, int], progress: bool) -> Iterator[Pictured]:
    plan = Plan(session.generation, session.components.mitigating())
    for text, count in wanted.items():
        prompt = Prompt(text, "prompt", text)
        plan.add(Need(prompt, session.seeds(prompt, count)))
    runner = Runner(
        session.components, session.store, shown() if progress else Silent(),
        session.settings.batch, tries_seeds=True,
    )  # fmt: skip
    with closing(runner):
        runner.run(plan)
    keys = runner.keys(plan)
    stored = session.store.images(list(keys.values()))
    for request, key in keys.items():
        kept = stored[key]
        image = None if kept.file is None else session.store.open_image(kept)
        yield Pictured(request.prompt, request.seed, image)
