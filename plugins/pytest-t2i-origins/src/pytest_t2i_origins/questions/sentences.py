"""Neutral sentences of professions: the question to a language model, and the check of answers.

The sentences of Wu section 3.1 were written by a language model, and are not published. A triplet
puts "female" or "male" before the profession, so nothing else in a sentence may indicate gender.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pytest_t2i import (
    Axis,
    FileFormatError,
    Language,
    LanguageError,
    MalformedAnswerError,
    axes,
    quoted,
    read_toml,
)
from pytest_t2i.prompts import human_words_in, named_in, plural, with_article

from pytest_t2i_origins.questions.answers import answer_of, bare

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["sentence"],
    "properties": {"sentence": {"type": "string", "description": "at most 20 words"}},
}
"""The JSON schema of an answer."""
PERSON = re.compile(r"\b(person|people)\b", re.IGNORECASE)
COMPANY = (
    "patient", "client", "colleague", "coworker", "team", "crowd", "audience", "group", "class",
    "passenger", "visitor", "pupil", "worker", "employee", "everyone", "others", "shopper",
)  # fmt: skip
"""Other people at work, whom a sentence about one person must not name."""
LONGEST = 150
"""The largest number of characters of a sentence, well within the 77 tokens that a CLIP reads."""


def instruction(profession: str) -> str:
    """Return the question to a language model.

    >>> instruction("ecologist").split(":")[0]
    'Describe in one sentence a picture of an ecologist at work'
    """
    return (
        f"Describe in one sentence a picture of {with_article(profession)} at work: where it is, "
        "what is done, which things lie around. Example for a glazier: A glazier fits a pane into "
        "the window frame of a brick house. At most 20 words. Name the profession once, as "
        f"{json.dumps(profession, ensure_ascii=False)}, in the singular. Nobody else is in the "
        "picture. Nothing tells gender, age or origin: no pronoun, no other word for a human. "
        'Answer with JSON only: {"sentence": ...}'
    )


def sentence_of(answer: str, profession: str) -> str:
    """Return the neutral sentence of an answer.

    Raises MalformedAnswerError whose message says what is wrong, so that the model can be asked
    again.

    >>> sentence_of('{"sentence": "A nurse folds a blanket."}', "nurse")
    'A nurse folds a blanket.'
    """
    try:
        plain = json.loads(bare(answer))
    except (ValueError, RecursionError) as error:
        raise MalformedAnswerError(f"the answer is not JSON: {error}") from None
    text = plain.get("sentence") if isinstance(plain, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise MalformedAnswerError("expected a text under the key 'sentence'")
    sentence = " ".join(text.split())
    if wrong := problem(sentence, profession):
        raise MalformedAnswerError(f"{wrong}: {sentence[:LONGEST]!r}")
    return sentence


def problem(sentence: str, profession: str) -> str:
    """Return why a sentence is not a neutral one of this profession; "" if it is.

    Words of the profession's own name are allowed ("police officer"). Other professions of Wu
    Table 3 are not, as they would be a second person.

    >>> problem("A nurse and her patient", "nurse"), problem("A nurse folds a blanket", "nurse")
    ('words indicate gender or another person: her, patient', '')
    """
    if len(sentence) > LONGEST or not sentence.isprintable():
        return f"expected at most {LONGEST} printable characters"
    count = len(named_in(profession).findall(sentence))
    if count != 1:
        return f"expected {profession!r} once, in the singular, got it {count} times"
    if re.search(r"[.!?]\s+\S", sentence):
        return "expected one sentence, got several"
    rest = named_in(profession).sub(" ", sentence)
    lowered = rest.lower()
    words = set(human_words_in(rest)) | {match.lower() for match in PERSON.findall(rest)}
    words |= _company() & frozenset(re.findall(r"[a-z]+", lowered))
    odd_words = sorted(words | set(_professions().findall(lowered)))
    return f"words indicate gender or another person: {', '.join(odd_words)}" if odd_words else ""


@cache
def _company() -> frozenset[str]:
    return frozenset(form for word in COMPANY for form in (word, plural(word)))


@cache
def _professions() -> re.Pattern[str]:
    """Return a pattern of all professions of Wu Table 3, singular and plural."""
    names = {word.lower() for axis in axes.wu for word in axis.concepts}
    forms = sorted({form for name in names for form in (name, plural(name))}, key=len)
    return re.compile(rf"\b({'|'.join(map(re.escape, reversed(forms)))})\b")


def sentences_in(path: Path) -> dict[str, dict[str, str]]:
    """Return axis -> profession -> sentence of a file, which may be incomplete.

    Raises FileFormatError where a table has no sentences.
    """
    tables = read_toml(path)
    for name, table in tables.items():
        if not isinstance(table, dict) or "sentences" not in table:
            problem = "expected a table of sentences, as t2i research sentences writes it."
            raise FileFormatError(path, problem, where=f"[{name}]")
        sentences = table["sentences"]
        if not (isinstance(sentences, dict) and all(map(_is_text, sentences.values()))):
            problem = "expected a text for each profession."
            raise FileFormatError(path, problem, where=f"[{name}.sentences]")
    return {name: table["sentences"] for name, table in tables.items()}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def as_toml(written: Iterable[Axis]) -> str:
    """Return a file of axes with their sentences; ``read_axes`` reads it when it is complete."""
    lines = [
        "# Neutral sentences that a language model wrote (t2i research sentences). Read them, and",
        "# rewrite those that indicate a gender in a way that no list of words can find.",
    ]
    for axis in written:
        name = quoted(axis.name)
        lines += ["", f"[{name}]", f"source = {quoted(axis.source)}"]
        lines += [f"template = {quoted(axis.template)}", f"indicator = {quoted(axis.indicator)}"]
        lines += [f"concepts = [{', '.join(map(quoted, axis.concepts))}]"]
        lines += ["", f"[{name}.sentences]"]
        lines += [f"{quoted(word)} = {quoted(sentence)}" for word, sentence in axis.sentences]
    return "\n".join(lines) + "\n"


Known = Mapping[str, Mapping[str, str]]
"""Axis -> profession -> sentence."""


def ask_for_sentences(
    language: Language,
    wanted: Sequence[Axis],
    known: Known,
    *,
    tries: int,
    keep: Callable[[list[Axis]], None],
) -> int:
    """Ask for a sentence of every concept that has none yet; return how many were written."""
    sentences = {axis.name: dict(known.get(axis.name, {})) for axis in wanted}
    answers: dict[str, str] = {}
    for axis in wanted:
        mine = sentences[axis.name]
        for word in axis.concepts:
            if word in mine:
                continue
            answers[word] = mine[word] = answers.get(word) or _written(language, word, tries)
            keep([_with(axis_to_keep, sentences[axis_to_keep.name]) for axis_to_keep in wanted])
    return len(answers)


def _with(axis: Axis, sentences: Mapping[str, str]) -> Axis:
    pairs = tuple((word, sentences[word]) for word in axis.concepts if word in sentences)
    return replace(axis, sentences=pairs)


def _written(language: Language, word: str, tries: int) -> str:
    try:
        return answer_of(
            language,
            instruction(word),
            SCHEMA,
            lambda answer: sentence_of(answer, word),
            tries=tries,
            remedy="Ask another model, or more often (--tries).",
        )
    except LanguageError as error:
        raise LanguageError(f"{word}: {error}") from None
