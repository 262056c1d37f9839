"""Rewriting of prompts before they are drawn, as services do it.

DALL-E 2 was reported in July 2022 to append words such as "black" and "female" to prompts that
describe a person without a race or gender (OpenAI: Reducing bias and improving safety in DALL-E 2;
New Scientist, 22 July 2022). The instructions of DALL-E 3 in ChatGPT, which users published in
October 2023, demand a descent and a gender for each person, "with EQUAL probability", and list six
descents. By default one word of that list and one for a gender are appended here. No language model
is asked; a function of the user's own may ask one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar

from pytest_t2i import code_of_factory, digest

from pytest_t2i_mitigation.random_counterpart import drawn

KINDS = {
    "gender": ("female", "male"),
    "ethnicity": ("Caucasian", "Hispanic", "Black", "Middle-Eastern", "South Asian", "White"),
    "age": ("young", "middle-aged", "elderly"),
}
"""The words of a kind; those of ethnicity are the list of DALL-E 3's instructions."""

WORDS = "ethnicity, gender"
"""The kinds of which a word is appended by default, in this order."""


@dataclass(frozen=True, slots=True)
class Rewriter:
    """A mitigation that appends drawn words to a prompt, or lets a function rewrite it.

    >>> Rewriter().prompt("a photo of a nurse", 3, ())
    'a photo of a nurse, White male'
    >>> Rewriter(words="young/old, gender").prompt("a photo of a nurse", 2, ())
    'a photo of a nurse, young male'
    >>> from pytest_t2i import Mitigation
    >>> isinstance(Rewriter(), Mitigation)
    True
    """

    words: str = WORDS
    """What is appended, in this order: kinds (gender, ethnicity, age), or words with "/" between
    them, of which one is drawn."""
    function: str = ""
    """``module:name`` of a function (prompt, seed) -> text that rewrites prompts instead."""
    _code: str = field(default="", init=False, repr=False)

    name: ClassVar[str] = "rewriter"
    stage: ClassVar[str] = "prompt"
    families: ClassVar[tuple[str, ...]] = ()
    passes: ClassVar[float] = 1.0
    needs_counterparts: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raise ValueError for words or a function that there are not, in one line."""
        alternatives(self.words)
        if self.function:
            if self.words != WORDS:
                raise ValueError("words: goes without function, which rewrites prompts instead")
            object.__setattr__(self, "_code", _identity(imported(self.function)))

    @property
    def fingerprint(self) -> str:
        """The version, and the code of the function."""
        return f"1{self._code}"

    def prompt(self, text: str, seed: int, counterparts: tuple[str, ...]) -> str:
        """Return the rewritten prompt; words are drawn by seed and prompt."""
        del counterparts
        if self.function:
            return imported(self.function)(text, seed)
        chosen = [
            words[int(drawn(f"{seed}|{text}|{place}") * len(words))]
            for place, words in enumerate(alternatives(self.words))
        ]
        return f"{text.strip().removesuffix('.')}, {' '.join(chosen)}"


def alternatives(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the words to draw from, for each part of the key ``words``.

    >>> alternatives("age, female/male/non-binary")
    (('young', 'middle-aged', 'elderly'), ('female', 'male', 'non-binary'))

    Raises ValueError for a part that is neither a kind nor has two words.
    """
    return tuple(_alternatives(part.strip()) for part in text.split(","))


def _alternatives(part: str) -> tuple[str, ...]:
    words = KINDS.get(part) or tuple(word.strip() for word in part.split("/"))
    if len(words) < 2 or not all(words):  # noqa: PLR2004 - one word is no choice
        raise ValueError(
            f"words: expected {', '.join(KINDS)} or words with / between them, such as "
            f"female/male, got {part!r}"
        )
    return words


def imported(path: str) -> Callable[[str, int], str]:
    """Return the function ``module:name``; raise ValueError if there is none."""
    module, _, name = path.partition(":")
    function: Any = None
    try:
        if module and name:
            function = getattr(import_module(module), name, None)
    except ImportError as error:
        raise ValueError(
            f"function: expected module:name of a function, and {module!r} cannot be imported "
            f"({error}): run where it can be, or set pythonpath in the ini file"
        ) from None
    if not callable(function):
        message = f"function: expected module:name of a function, got {path!r}"
        raise ValueError(message)  # noqa: TRY004 - the value of a key
    found: Callable[[str, int], str] = function
    return found


def _identity(function: Any) -> str:
    """Return a digest of a function's code and of its own attribute ``fingerprint``."""
    return digest([code_of_factory(function), str(getattr(function, "fingerprint", ""))])
