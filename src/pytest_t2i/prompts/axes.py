"""Axes: what a prompt template varies, with the concepts put into it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from pytest_t2i.data import EMPTY, Prompt, Triplet, Variant
from pytest_t2i.errors import (
    ConfigurationError,
    FileFormatError,
    UnknownAttributeError,
    UnknownNameError,
    shown,
    some,
)
from pytest_t2i.files import MOST_TEXT
from pytest_t2i.prompts.grammar import INDICATORS, named_in, put_before, swap_person, with_article
from pytest_t2i.prompts.languages import MARK, NO_FORMS, Grammar, Word
from pytest_t2i.read_files import convert, read_toml

PLACEHOLDERS = ("{a word}", "{word}")
"""The marks in a template that stand for the concept."""


def _check_sentences(name: str, sentences: tuple[tuple[str, str], ...], indicator: str) -> None:
    """Raise ConfigurationError unless each sentence names its concept once.

    With the indicator "person", each sentence must also have the word person or people.
    """
    for word, sentence in sentences:
        if len(named_in(word).findall(sentence)) != 1:
            raise ConfigurationError(
                f"axis {name!r}: a sentence names its concept once, got {word}={sentence!r}"
            )
        if indicator == "person" and swap_person(sentence, Variant.FEMININE) == sentence:
            raise ConfigurationError(
                f"axis {name!r}: a sentence holds person or people, got {word}={sentence!r}"
            )


def _check_template(name: str, template: str, indicator: str) -> None:
    """Raise ConfigurationError unless the template takes one concept and the indicator is known."""
    if sum(template.count(mark) for mark in PLACEHOLDERS) != 1:
        raise ConfigurationError(
            f"axis {name!r}: a template holds {{word}} or {{a word}} once, got {template=}"
        )
    if indicator not in ("person", "word"):
        raise ConfigurationError(
            f"axis {name!r}: indicator is 'person' or 'word', got indicator={indicator!r}"
        )


def _check_concepts(name: str, concepts: tuple[str, ...]) -> None:
    """Raise ConfigurationError unless the concepts are words, each listed once."""
    if not concepts:
        raise ConfigurationError(f"axis {name!r}: expected at least one concept, got none")
    for concept in concepts:
        if not isinstance(concept, str) or not concept.strip():
            raise ConfigurationError(f"axis {name!r}: a concept is a word, got concept={concept!r}")
        if len(concept) > MOST_TEXT:
            raise ConfigurationError(
                f"axis {name!r}: expected a concept of at most {MOST_TEXT} characters, got "
                f"{len(concept)}: {shown(concept)}"
            )
    counts = Counter(Prompt("", name, concept).id for concept in concepts)
    twice = sorted(member for member, count in counts.items() if count > 1)
    if twice:
        raise ConfigurationError(
            f"axis {name!r}: every concept is listed once, whatever its capitals; "
            f"got {', '.join(twice)} more than once"
        )


Indicator = Literal["person", "word"]


@dataclass(frozen=True, slots=True)
class Axis:
    """A template, and the concepts that fill it.

    >>> from pytest_t2i import axes
    >>> axes.profession.prompts()[0].text
    'a photo of one real person who is a postman'
    >>> Axis("hobby", "a photo of a person who likes {word}", ("chess",)).prompts()[0].id
    'hobby-chess'
    """

    name: str
    template: str
    """The text with ``{word}`` or ``{a word}`` (the word with its article)."""
    concepts: tuple[str, ...]
    indicator: Indicator = "person"
    """What a triplet changes: "person" becomes woman/man, or "word" gets female/male before it."""
    source: str = ""
    sentences: tuple[tuple[str, str], ...] = ()
    """(concept, sentence that names it once): neutral prompts instead of the filled template."""
    further_templates: tuple[str, ...] = ()
    """Other templates: one of all is drawn for each picture (OASIS A.1.2)."""
    words: tuple[Word, ...] = ()
    """Forms of concepts; a ``Word`` among the concepts is kept here, too."""
    language: Grammar | None = None
    """The language of the template; None for English as the papers write it."""
    parts: tuple[tuple[str, str], ...] = ()
    """(axis, concept) of every prompt, such as its language; "" stands for the prompt's concept."""
    _forms: Mapping[str, Word] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        words = [concept for concept in self.concepts if isinstance(concept, Word)]
        if words:
            names = (c.concept or c.neutral if isinstance(c, Word) else c for c in self.concepts)
            object.__setattr__(self, "concepts", tuple(names))
            object.__setattr__(self, "words", (*self.words, *words))
        forms = {word.concept or word.neutral: word for word in reversed(self.words)}
        object.__setattr__(self, "_forms", forms)
        for template in self.templates:
            if self.language is None:
                _check_template(self.name, template, self.indicator)
            elif not MARK.search(template):
                raise ConfigurationError(
                    f"axis {self.name!r}: a template in {self.language.name} holds {{neutral}}, "
                    f"{{a neutral}} or another form, got {template=}"
                )
        if self.further_templates and self.sentences:
            raise ConfigurationError(
                f"axis {self.name!r}: expected sentences or several templates, got both"
            )
        _check_concepts(self.name, self.concepts)
        _check_sentences(self.name, self.sentences, self.indicator)

    @property
    def templates(self) -> tuple[str, ...]:
        """All templates, of which one is drawn for each picture."""
        return (self.template, *self.further_templates)

    def worded(self, *templates: str) -> Axis:
        """Return the axis with these templates, of which one is drawn for each picture.

        >>> from pytest_t2i import axes
        >>> places = axes.place.worded("a person at the {word}", "people at the {word}")
        >>> places.prompts()[0].wordings
        ('a person at the bus station', 'people at the bus station')
        """
        if not templates:
            raise ConfigurationError(
                f"axis {self.name!r}: expected at least one template, got none"
            )
        return replace(self, template=templates[0], further_templates=templates[1:])

    def prompts(self) -> tuple[Prompt, ...]:
        """Return the neutral prompt of every concept, in order."""
        return _prompts(self)

    def triplets(self) -> tuple[Triplet, ...]:
        """Return the neutral, feminine and masculine prompt of every concept (Wu section 3.1).

        Raises ConfigurationError where the axis has several templates: a triplet has one wording.
        """
        return _triplets(self)

    def only(self, *concepts: str) -> Axis:
        """Return the axis with only these of its concepts.

        Raises UnknownNameError for a concept that the axis does not have.
        """
        for concept in concepts:
            if concept not in self.concepts:
                raise UnknownNameError(f"concept of axis {self.name!r}", concept, self.concepts)
        return replace(self, concepts=tuple(concepts))

    def plus(self, *concepts: str) -> Axis:
        """Return the axis with further concepts at its end."""
        return replace(self, concepts=self.concepts + tuple(concepts))

    def fill(self, word: str) -> str:
        """Return the template filled with a word."""
        return filled(self.template, word)

    def word(self, concept: str) -> Word:
        """Return a concept with its forms; a concept without forms is neutral."""
        return self._forms.get(concept) or Word(concept)

    def _parts(self, concept: str) -> tuple[tuple[str, str], ...]:
        return tuple((axis, of or concept) for axis, of in self.parts)

    def _neutral(self, template: str, concept: str) -> str:
        word = self.word(concept)
        if self.language is None:
            return filled(template, word.neutral)
        return self.language.fill(template, word, Variant.NEUTRAL)

    def variant(self, word: str, variant: Variant) -> Prompt:
        """Return the prompt of a word in a variant (Wu section 3.1).

        >>> told = (("nurse", "A nurse folds a blanket"),)
        >>> ward = Axis("ward", "{a word}", ("nurse",), "word", sentences=told)
        >>> ward.variant("nurse", Variant.MASCULINE).text
        'A male nurse folds a blanket'
        """
        if self.further_templates:
            if variant is not Variant.NEUTRAL:
                raise ConfigurationError(
                    f"axis {self.name!r}: expected one template for a triplet, got "
                    f"{len(self.templates)}. Write axis.worded(TEMPLATE)."
                )
            return worded_prompt(
                Prompt("", self.name, word, parts=self._parts(word)),
                [self._neutral(text, word) for text in self.templates],
            )
        if self.language is not None:
            text = self.language.fill(self.template, self.word(word), variant)
            return Prompt(text, self.name, word, variant, self._parts(word))
        form = self.word(word).form(variant)
        sentence = dict(self.sentences).get(word)
        neutral = self.fill(self.word(word).neutral) if sentence is None else sentence
        if variant is Variant.NEUTRAL:
            text = neutral
        elif self.indicator == "person":
            text = swap_person(self.fill(form) if form and sentence is None else neutral, variant)
        elif sentence is None and form:
            text = self.fill(form)
        elif sentence is None:
            text = self.fill(f"{INDICATORS[variant]['adjective']} {word}")
        else:
            text = put_before(INDICATORS[variant]["adjective"], word, sentence)
        return Prompt(text, self.name, word, variant)


def filled(template: str, word: str) -> str:
    """Return a template filled with a word.

    >>> filled("a photo of {a word}", "artist")
    'a photo of an artist'
    """
    # with_article may load a slow library, so it is called only where it is needed.
    if "{a word}" in template:
        return template.replace("{a word}", with_article(word))
    return template.replace("{word}", word)


def worded_prompt(prompt: Prompt, texts: Sequence[str]) -> Prompt:
    """Return a prompt with several wordings, which its text lists.

    >>> worded_prompt(Prompt("", "hat", "hat"), ["a hat", "the hat"]).text
    'a hat | the hat'
    """
    return replace(prompt, text=" | ".join(texts), wordings=tuple(texts))


# Cached, as every test case of a suite reads its marker, and so whole axes.
@cache
def _prompts(axis: Axis) -> tuple[Prompt, ...]:
    return tuple(axis.variant(word, Variant.NEUTRAL) for word in axis.concepts)


@cache
def _triplets(axis: Axis) -> tuple[Triplet, ...]:
    return tuple(
        Triplet(*(axis.variant(word, variant) for variant in Variant)) for word in axis.concepts
    )


class Axes:
    """Axes by name, as attributes: ``axes.profession``; ``load`` reads more from a TOML file.

    >>> from pytest_t2i import axes
    >>> ", ".join(axis.name for axis in axes)
    'profession, personality, activity, object, place, nationality, style, everyday_style'
    >>> axes["place"].concepts[0]
    'bus station'

    A group of axes has a name of its own, and iteration leaves its axes out:

    >>> axes.wu.science.concepts[0], len(list(axes.wu))
    ('botanist', 16)
    >>> axes["wu.healthcare"].prompts()[0].text
    'a nurse at work'
    """

    def __init__(
        self, members: Iterable[Axis] = (), groups: Mapping[str, Iterable[Axis]] = EMPTY
    ) -> None:
        self._members = {axis.name: axis for axis in members}
        self._groups = {name: _Group(name, axes) for name, axes in groups.items()}

    if TYPE_CHECKING:
        # Types of the built-in axes. For others, ``axes["mine"]`` is typed, ``axes.mine`` is not.
        profession: Axis
        personality: Axis
        activity: Axis
        object: Axis
        place: Axis
        nationality: Axis
        style: Axis
        everyday_style: Axis

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._groups:
            return self._groups[name]
        if name not in self._members:
            raise UnknownAttributeError("axis", name, [*self._members, *self._groups])
        return self._members[name]

    def __getitem__(self, name: str) -> Axis:
        group, _, inner = name.partition(".")
        if name not in self._members and inner and group in self._groups:
            return self._groups[group][inner]
        if name not in self._members:
            raise UnknownNameError("axis", name, [*self._members, *self._groups])
        return self._members[name]

    @property
    def repeated(self) -> dict[str, tuple[str, ...]]:
        """The words that are in several of these axes, with the names of the axes.

        Where the templates are equal, the prompts give the same pictures, which count twice.

        >>> from pytest_t2i import axes
        >>> sorted(axes.wu.repeated)
        ['nutritionist', 'sommelier']
        """
        places: dict[str, tuple[str, ...]] = {}
        for axis in self:
            for word in axis.concepts:
                places[word] = (*places.get(word, ()), axis.name)
        return {word: names for word, names in places.items() if len(names) > 1}

    def __iter__(self) -> Iterator[Axis]:
        return iter(self._members.values())

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._members, *self._groups]

    def load(self, path: str | Path) -> Axes:
        """Return the axes of a TOML file: one table per axis with template, concepts, indicator."""
        return Axes(read_axes(Path(path)))


class _Group(Axes):
    """Axes whose names begin with the name of the group, found by the rest of the name."""

    def __init__(self, name: str, members: Iterable[Axis]) -> None:
        super().__init__()
        self._members = {axis.name.removeprefix(f"{name}."): axis for axis in members}


@cache
def builtin_axes() -> Axes:
    """Return the axes of Lyu, OASIS and styles, and the groups wu (Wu) and languages."""
    words = Path(str(files("pytest_t2i.prompts") / "words"))
    members = [axis for name in ("axes", "styles") for axis in read_axes(words / f"{name}.toml")]
    spoken = [
        replace(axis, name=f"languages.{file.stem}{axis.name.removeprefix('profession')}")
        for file in sorted((words / "languages").glob("*.toml"))
        for axis in read_axes(file)
    ]
    return Axes(members, {"wu": read_axes(words / "wu.toml"), "languages": spoken})


def read_axes(path: str | Path) -> list[Axis]:
    """Return the axes of one TOML file.

    Raises FileFormatError that says what is wrong and where.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "hobbies.toml")
    ...     _ = file.write_text('hobby = {template = "a {word} player", concepts = ["chess"]}')
    ...     read_axes(file)[0].prompts()[0].text
    'a chess player'
    """
    path = Path(path)
    tables = read_toml(path)
    language = tables.get("language")
    is_axis = isinstance(language, Mapping) and "concepts" in language
    if "language" in tables and not is_axis:
        spoken = convert(path, tables.pop("language"), _Spoken, where="[language]")
        return [
            axis
            for name, table in tables.items()
            for axis in _in_language(path, name, table, spoken)
        ]
    return [_axis(path, name, table) for name, table in tables.items()]


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    """A table of a file of axes."""

    template: str | list[str]
    concepts: list[str]
    indicator: str = "person"
    source: str = ""
    sentences: dict[str, str] | None = None


class _Spoken(msgspec.Struct, forbid_unknown_fields=True):
    """The table [language] of a file: its template, or several templates by the wording's name."""

    name: str
    template: str | dict[str, str]
    articles: dict[Variant, list[str]] = {}
    pair: str = ""
    patterns: dict[Variant, str] = {}
    sources: dict[Variant, str] = {}

    def language(self) -> Grammar:
        articles = tuple(tuple(self.articles.get(variant, ())) for variant in Variant)
        patterns = tuple(self.patterns.get(variant, "") for variant in Variant)
        return Grammar(self.name, articles, self.pair, patterns)


class _Forms(msgspec.Struct, forbid_unknown_fields=True):
    """A table of concepts with the columns neutral, feminine and masculine."""

    words: dict[str, list[str]]
    source: str = ""


def _in_language(path: Path, name: str, plain: Any, spoken: _Spoken) -> Iterator[Axis]:
    """Yield the axis of a table for each wording; the first has the name of the table."""
    where = f"[{name}]"
    table = convert(path, plain, _Forms, where=where)
    for concept, forms in table.words.items():
        named_both = len(forms) == len(NO_FORMS) and all(forms[1:]) and spoken.pair
        if not 1 <= len(forms) <= len(NO_FORMS) or not (forms[0] or named_both):
            problem = (
                f"{concept}: expected neutral, feminine and masculine form, or both others and a "
                f"pair in [language] where there is no neutral one, got {shown(forms)}."
            )
            raise FileFormatError(path, problem, where=where)
    words = tuple(replace(Word(*forms), concept=concept) for concept, forms in table.words.items())
    wordings = spoken.template if isinstance(spoken.template, dict) else {"": spoken.template}
    for number, (wording, template) in enumerate(wordings.items()):
        parts = (("language", spoken.name), ("wording", wording), (name, ""))
        try:
            yield Axis(
                f"{name}_{wording}" if number else name,
                template,
                words,  # type: ignore[arg-type]  # an axis keeps the concepts of words
                source="; ".join(spoken.sources.values()),
                language=spoken.language(),
                parts=tuple(part for part in parts if part != ("wording", "")),
            )
        except ConfigurationError as error:
            raise FileFormatError(path, str(error), where=where) from None


def _axis(path: Path, name: str, plain: Any) -> Axis:
    if not isinstance(plain, dict):
        problem = f"expected a table of template and concepts, got {shown(plain)}."
        raise FileFormatError(path, problem, where=f"key {name!r}")
    where = f"[{name}]"
    if not {"template", "concepts"} <= set(plain):
        problem = "expected template (text) and concepts (list of words)."
        raise FileFormatError(path, problem, where=where)
    table = convert(path, plain, _Table, where=where)
    sentences = _sentences(path, where, table)
    templates = [table.template] if isinstance(table.template, str) else table.template
    first, *further = templates or [""]
    try:
        return Axis(
            name,
            first,
            tuple(table.concepts),
            table.indicator,  # type: ignore[arg-type]  # an axis refuses other words itself
            table.source,
            sentences,
            tuple(further),
        )
    except ConfigurationError as error:
        raise FileFormatError(path, str(error), where=where) from None


def _sentences(path: Path, where: str, table: _Table) -> tuple[tuple[str, str], ...]:
    if table.sentences is None:
        return ()
    missing = [word for word in table.concepts if word not in table.sentences]
    if missing:
        count = f"{len(missing)} of {len(table.concepts)}"
        message = f"{count} concepts have no sentence: {some(missing)}."
        remedy = "Write them."
        raise FileFormatError(path, message, where=where, remedy=remedy)
    return tuple(table.sentences.items())
