"""Sentences that quote a number from one of the five documents, found in pages and in code.

A quote is a number in a sentence that names a document (Lyu, OASIS, Wu, the thesis, GOYA, "the
paper", "published") or one of its tables, figures, sections or equations. Numbers that are not
figures do not count: labels such as "Table 5", years, versions, names of models, the bounds and
factors 0, 1 and 2, worked examples, and figures with a claim (``docs/tools/claims.py``).
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[1]
PLACES = (
    "README.md", "docs/**/*.md", "suites/**/*.*", "examples/**/*.*", "src/**/*.py", "src/**/*.toml",
    "plugins/*/README.md", "plugins/*/src/**/*.py", "plugins/*/src/**/*.toml",
)  # fmt: skip
LABEL = (
    r"(?:[Tt]ables?|[Ff]igures?|[Ff]igs?\.|[Ee]qs?\.|[Ee]quations?|[Ss]ections?|[Cc]hapters?"
    r"|Definitions?|Def\.|Appendix|RQ|OASIS|Wu)\s*"
)
NUMBERED = r"(?:S|[A-D]\.)?\d+(?:\.\d+)*(?!\d|,\d|\.\d|\s*%)"
LABELS = re.compile(
    rf"\b{LABEL}{NUMBERED}(?:(?:,|\s+to|\s+and|\s+or|-)\s*(?:eq\.\s)?(?!0\.){NUMBERED})*|RQ\d|\b\d+\.\d+\.\d+\b"
)
DOCUMENT = re.compile(
    r"\b(?:Lyu|OASIS|Wu|[Tt]hesis|GOYA|[Pp]apers?|[Aa]uthors|[Pp]ublished)\b"
    rf"|\b{LABEL}\d"
)
NO_FIGURE = re.compile(
    r"https?://\S+|\]\([^)]*\)|\b(?:19|20)\d\d(?:-\d\d-\d\d)?\b"
    r"|\b(?:SD|SDv|SD v|Stable Diffusion|FLUX\.|AGPL-|CC BY|YOLOv|BLIP-|Florence-|ResNet-|dino-"
    r"|transformers|Python|version) ?\d+(?:\.\d)*(?:, \d\.\d)*"
    r"|\bsd\d(?:\.\d)?\b|\[\d+, n_\w+\]|\b[A-Za-z]+(?:-[A-Za-z]+)+-\d+\b"
    r"|[\w.-]*[A-Za-z][\w.-]*/[\w./-]+|`[^`\s]*[a-z]-?\d[^`\s]*`|--[\w-]+|\b[A-Za-z]+_?\d+\b"
)
"""Addresses, years, versions, models, shapes, files, names in code and options."""
CLAIMED = re.compile(r"-?\d*\.?\d+(?: ?%)?<!--.*?-->")
GENERATED = re.compile(
    r"<!-- (?:made by|[a-z]+: (?:written|collected) by)[^>]*-->.*?<!-- end[^>]*-->|```.*?```",
    re.DOTALL,
)
WORDS = {
    "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
}  # fmt: skip
NUMBER = re.compile(
    r"(?<![\w./{:])[+-]?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?![\w^])"
    rf"|\b(?:{'|'.join(WORDS)})\b"
)
SMALL = {"0", "1", "2", "-1", "-2", "+1", "three", "four"}
"""Bounds, factors and counts of things that are listed beside them."""
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z*`\"\[])")
ABBREVIATED = re.compile(r"\b(eq|Eq|Fig|al|Def|approx|Diff|v)\. ")


class Sentence(NamedTuple):
    """A sentence that names a document, with the figures in it."""

    where: str
    """Path of its file."""
    text: str
    """The sentence on one line."""
    figures: tuple[str, ...]
    """The numbers that count, as written."""


def value(figure: str) -> float:
    """Return the number of a figure.

    >>> value("2,000"), value("-.5"), value("five")
    (2000.0, -0.5, 5.0)
    """
    return float(WORDS.get(figure, figure.replace(",", "")))


def figures(sentence: str) -> tuple[str, ...]:
    """Return the numbers of a sentence that may be quoted.

    >>> figures("Lyu Table 3 prints 97.5 % recall, from 0 to 100 (2025, SD 1.4, eq. 4-5)")
    ('97.5', '100')
    """
    cleaned = LABELS.sub(" ", NO_FIGURE.sub(" ", sentence))
    return tuple(found for found in NUMBER.findall(cleaned) if found not in SMALL)


def paths() -> list[Path]:
    """Return every page and module that may quote."""
    return sorted(
        path
        for place in PLACES
        for path in REPOSITORY.glob(place)
        if path.suffix in {".md", ".py", ".toml"}
    )


@cache
def text_of(where: str) -> str:
    """Return what a person reads in a file, on one line: prose, comments and strings."""
    return " ".join(paragraph for paragraph in _paragraphs(REPOSITORY / where))


def sentences(path: Path) -> Iterator[Sentence]:
    """Yield the sentences of a file that name a document and hold a figure."""
    where = path.relative_to(REPOSITORY).as_posix()
    for paragraph in _paragraphs(path):
        for sentence in SENTENCE.split(ABBREVIATED.sub("\\1.\N{NO-BREAK SPACE}", paragraph)):
            text = sentence.replace("\N{NO-BREAK SPACE}", " ")
            if DOCUMENT.search(NO_FIGURE.sub(" ", text)) and (found := figures(text)):
                yield Sentence(where, text, found)


@cache
def _paragraphs(path: Path) -> tuple[str, ...]:
    text = path.read_text(encoding="utf-8")
    if not DOCUMENT.search(text):
        return ()
    blocks = _of_python(text) if path.suffix == ".py" else _of_lines(path, text)
    return tuple(" ".join(CLAIMED.sub(" ", block).split()) for block in blocks)


def _of_python(text: str) -> Iterator[str]:
    """Yield the strings of a module, and its comments, adjacent ones joined."""
    comment, last = "", -1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0]
        if token.type == tokenize.COMMENT:
            words = token.string.lstrip("#: ")
            if comment and line != last + 1:
                yield comment
                comment = ""
            comment, last = f"{comment} {words}".strip(), line
        elif token.type == tokenize.STRING:
            # A worked example or a formula is no quote.
            for part in re.split(r"\n\s*\n", token.string):
                is_run = ">>>" in part or part.lstrip().startswith(".. math::")
                yield "" if is_run else part.strip("\"'rf ")
    yield comment


def _of_lines(path: Path, text: str) -> Iterator[str]:
    """Yield the paragraphs, rows and items of a page, or the comments and texts of a TOML file."""
    if path.suffix == ".toml":
        text = re.sub(r"^# ?", "", text, flags=re.MULTILINE)
    else:
        text = GENERATED.sub("\n\n", text)
    paragraph: list[str] = []
    for line in [*text.splitlines(), ""]:
        alone = not line.strip() or line.lstrip().startswith(("|", "#", "[")) or " = " in line[:40]
        if alone or re.match(r"\s*(?:-|\*|\d+\.) ", line):
            yield " ".join(paragraph)
            paragraph = []
        if alone:
            yield line
        else:
            paragraph.append(line.strip())
