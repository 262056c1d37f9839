"""Pictures of prompts, made and stored as in a run, without detection or measurement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_t2i.data import Prompt
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import Need, Plan
from pytest_t2i.generation.progress import Silent, terminal_progress
from pytest_t2i.generation.ready_made import check_supply
from pytest_t2i.library.in_memory import is_nameless
from pytest_t2i.library.load import (
    NOTHING_MEASURED,
    clean_errors,
    session_for,
    settings_for,
    temporary_store,
)
from pytest_t2i.protocols import ReadyMade
from pytest_t2i.runs.session.session import Session

if TYPE_CHECKING:
    from PIL.Image import Image

IMAGES = 20
"""Default number of images per prompt."""


class Pictured(NamedTuple):
    """One picture of a prompt.

    >>> Pictured("a nurse", 7, None).seed
    7
    """

    prompt: str
    seed: int
    image: Image | None
    """Picture; None if the model refused to make one."""


@clean_errors()
def pictures(
    model: Any,
    prompts: Sequence[str] = (),
    *,
    images: int | None = None,
    fingerprint: str | None = None,
    progress: bool = True,
    **options: Any,
) -> Iterator[Pictured]:
    """Make pictures of prompts that the store lacks, and yield all of them.

    Unlike ``audit``, this function neither detects nor measures. After an interruption the same
    call continues where it stopped.

    Args:
        model: a model as for ``audit``.
        prompts: texts of the prompts; () takes all prompts of a folder (``images:DIR``).
        images: number of pictures per prompt; None takes 20, or all pictures of a folder.
        fingerprint: version of a function, as for ``audit``.
        progress: whether to show a progress bar.
        options: options of a run by their names, such as ``seed=1``, ``steps=4`` or ``store=DIR``.

    Returns:
        An iterator over the pictures, prompt by prompt; each file is opened when it is reached.

    Raises:
        ConfigurationError: an option or the model cannot be used, there is no prompt, or a folder
            has no picture of a prompt.
        UnknownNameError: there is no such model or option.

    >>> import tempfile
    >>> from PIL import Image
    >>> grey = lambda prompts, seeds: [Image.new("RGB", (8, 8), "grey") for _ in prompts]
    >>> kept = tempfile.mkdtemp()
    >>> made = pictures(grey, ["a nurse"], images=2, fingerprint="g", progress=False, store=kept)
    >>> [(one.prompt, one.image.size) for one in made]
    [('a nurse', (8, 8)), ('a nurse', (8, 8))]
    """
    # A function without a fingerprint cannot be identified later: its pictures lie in a temporary
    # store while the result is read.
    with ExitStack() as temporary:
        if is_nameless(model, fingerprint) and "store" not in options:
            options["store"] = temporary.enter_context(temporary_store())
        count = IMAGES if images is None else images
        settings = settings_for(model, count, None, options, refused=NOTHING_MEASURED)
        session = session_for(settings, model, fingerprint, None)
        results = _made(session, _wanted(session, prompts, images), progress)
        return _kept_until_read(results, temporary.pop_all())


def _kept_until_read(results: Iterator[Pictured], temporary: ExitStack) -> Iterator[Pictured]:
    with temporary:
        yield from results


def _wanted(session: Session, prompts: Sequence[str], images: int | None) -> dict[str, int]:
    """Return the number of pictures per prompt text."""
    handle = session.components.model()
    model = handle.get() if handle.lists_images else None
    texts = list(dict.fromkeys(prompts or getattr(model, "prompts", ())))
    if not texts:
        raise ConfigurationError(f"expected prompts: {handle.name} does not say which it has")
    if images is None and isinstance(model, ReadyMade):
        counts = {text: len(model.available(text)) for text in texts}
    else:
        counts = dict.fromkeys(texts, session.settings.images)
    check_supply(handle, counts)
    return counts


def _made(session: Session, counts: dict[str, int], progress: bool) -> Iterator[Pictured]:
    plan = Plan(session.request_settings)
    for text, count in counts.items():
        prompt = Prompt(text, "prompt", text)
        plan.add(Need(prompt, session.seeds(prompt, count)))
    runner = Runner(
        session.components, session.store, terminal_progress() if progress else Silent(),
        session.settings.batch, tries_seeds=True,
    )  # fmt: skip
    with clean_errors(), closing(runner):
        runner.run(plan)
    keys = runner.keys(plan)
    stored = session.store.images(list(keys.values()))
    for request, key in keys.items():
        stored_image = stored[key]
        image = None if stored_image.file is None else session.store.open_image(stored_image)
        yield Pictured(request.prompt, request.seed, image)
