"""Words with neutral, feminine and masculine forms, and the languages whose templates they fill."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_t2i.data import Variant

MARK = re.compile(r"\{(a )?(word|neutral|feminine|masculine)\}")
"""What stands for a form in a template, with its article or without; word is neutral."""
NO_FORMS = ("", "", "")


@dataclass(frozen=True, slots=True)
class Word:
    """A concept with its forms.

    >>> Word("Lehrkraft", feminine="Lehrerin", masculine="Lehrer").form(Variant.FEMININE)
    'Lehrerin'
    """

    neutral: str
    """The form that names no gender; "" where the language has none and names both."""
    feminine: str = ""
    masculine: str = ""
    concept: str = ""
    """The name of the concept, equal in all languages; "" takes the neutral form."""

    def form(self, variant: Variant) -> str:
        """Return the form of a variant; "" where there is none."""
        return str(getattr(self, variant.value))


@dataclass(frozen=True, slots=True)
class Grammar:
    """How a language puts forms into templates. Triples are neutral, feminine and masculine.

    >>> german = Grammar("German", (("eine ",), ("eine ",), ("ein ",)), "{a feminine} oder {a masculine}")
    >>> doctor = Word("", "Ärztin", "Arzt", "doctor")
    >>> german.fill("Ein Foto, auf dem {a neutral} zu sehen ist", doctor, Variant.NEUTRAL)
    'Ein Foto, auf dem eine Ärztin oder ein Arzt zu sehen ist'
    >>> german.fill("Eine Person, die als {neutral} arbeitet", doctor, Variant.MASCULINE)
    'Eine Person, die als Arzt arbeitet'
    """  # noqa: E501 - an example

    name: str
    """Its English name, the concept of the axis "language"."""
    articles: tuple[tuple[str, ...], ...] = ((), (), ())
    """Articles with the blank behind them; a form without one of them takes the first."""
    pair: str = ""
    """Names both genders where a word has no neutral form."""
    patterns: tuple[str, ...] = NO_FORMS
    """Forms of a word that has none: ``female {neutral}``."""

    def fill(self, template: str, word: Word, variant: Variant) -> str:
        """Return a template with the form of a variant.

        In the neutral variant each mark has the form that it names, so that ``{masculine}`` is the
        generic masculine; other variants have their own form throughout.
        """

        def put(match: re.Match[str]) -> str:
            named = Variant.NEUTRAL if match[2] == "word" else Variant(match[2])
            if variant is not Variant.NEUTRAL:
                return self._form(word, variant, bool(match[1]))
            form = named if word.form(named) else Variant.NEUTRAL
            return self._form(word, form, bool(match[1]))

        return MARK.sub(put, template)

    def _form(self, word: Word, variant: Variant, with_article: bool) -> str:
        place = list(Variant).index(variant)
        text = word.form(variant) or self.patterns[place]
        if not text and variant is Variant.NEUTRAL:
            pair = self.pair if with_article else self.pair.replace("{a ", "{")
            return MARK.sub(lambda mark: self._form(word, Variant(mark[2]), bool(mark[1])), pair)
        if "{" in text:
            text = MARK.sub(self._form(word, Variant.NEUTRAL, with_article=False), text)
        articles = self.articles[place]
        own = next((article for article in articles if text.startswith(article)), "")
        if with_article:
            return text if own or not articles else f"{articles[0]}{text}"
        return text.removeprefix(own)
