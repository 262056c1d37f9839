"""The page of one prompt: pictures before and after by seed, and the paths of searches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_t2i import Detection, Loaded, sections, write_page

from pytest_t2i_mitigation.one_prompt.make import Pair

if TYPE_CHECKING:
    from PIL.Image import Image

GENDERS = ("male", "female")
OF = ("feminine", "masculine")
"""The genders of the counterparts, in their order."""
PICTURES = "pictures"
"""The folder of the pictures, beside the page."""
FEW = (
    "So few pictures decide nothing. For the model bias score with its interval, run "
    "t2i mitigate --all suites/mitigation."
)


def write(folder: Path, prompt: str, mitigation: str, loaded: Loaded, made: Sequence[Pair]) -> Path:
    """Write the page and its pictures; return the path of the page."""
    shown = [
        _before_and_after(folder, prompt, made),
        *(_path(folder, pair) for pair in made if pair.search is not None),
        _cost(mitigation, loaded, made),
    ]
    return write_page(
        folder, f"“{prompt}” with {mitigation.partition(':')[0]}", shown,
        kicker=f"{len(made)} seeds, with and without the mitigation", lead=counted(made),
    )  # fmt: skip


def counted(made: Sequence[Pair]) -> str:
    """Return a sentence with the counts of labels before and after."""
    before, after = (_counts([pair.said[side] for pair in made]) for side in (0, 1))
    return f"Before: {before}. After: {after}. {FEW}"


def _counts(said: Sequence[Detection]) -> str:
    labels = [one.label for one in said]
    told = [f"{labels.count(gender)} {gender}" for gender in GENDERS]
    undetected = len(labels) - sum(labels.count(gender) for gender in GENDERS)
    return ", ".join([*told, f"{undetected} undetected"] if undetected else told)


def _before_and_after(folder: Path, prompt: str, made: Sequence[Pair]) -> sections.Section:
    rows = [
        [
            _picture(
                _kept(folder, image, f"seed-{pair.request.seed}-{side}"),
                said,
                (f"seed {pair.request.seed}, {side}", more),
            )
            for pair, image, said, more in sides
        ]
        for side, sides in (
            ("before", [(pair, pair.plain, pair.said[0], "") for pair in made]),
            ("after", [(pair, pair.mitigated, pair.said[1], how(pair)) for pair in made]),
        )
    ]
    album = sections.Album.side_by_side(
        "Before and after, by seed", rows, text=prompt, level="body"
    )
    return sections.Section("Before and after", (album,))


def how(pair: Pair) -> str:
    """Return how the mitigated picture was made, in a few words."""
    if pair.search is not None:
        return f"weight {pair.search.weights[pair.search.chosen]:.2f}"
    if pair.weight is not None:
        return f"weight {pair.weight:.2f}"
    return f"“{pair.text}”" if pair.text else ""


def _path(folder: Path, pair: Pair) -> sections.Section:
    search, seed = pair.search, pair.request.seed
    pictures = []
    for place, (image, said) in enumerate(zip(search.pictures, pair.said[2:], strict=True)):
        file = _kept(folder, image, f"seed-{seed}-path-{place}")
        told = (f"weight {search.weights[place]:.3f}", _place(pair, place))
        pictures.append(_picture(file, said, told))
    album = sections.Album(
        f"Seed {seed}: from the masculine to the feminine counterpart", tuple(pictures),
        text="Weight 0 is the masculine counterpart, 1 the feminine one.", level="body",
    )  # fmt: skip
    between = [
        (f"{search.weights[a]:.3f} to {search.weights[b]:.3f}", step)
        for (a, b), step in zip(pairwise(search.path), search.steps, strict=True)
    ]
    distances = sections.Table(
        "Distances between neighbours on the path", ("weights", "distance"), tuple(between)
    )
    facts = sections.Table("The path in numbers", ("", "value"), tuple(_numbers(pair)))
    return sections.Section(f"The path of seed {seed}", (album, distances, facts))


def _place(pair: Pair, place: int) -> str:
    if place == pair.search.chosen:
        return "on the path, chosen"
    return "on the path" if place in pair.search.path else "left out"


def _numbers(pair: Pair) -> Iterator[tuple[sections.Cell, ...]]:
    search = pair.search
    yield ("fitted Beta, alpha (eq. 4.20)", search.beta.alpha)
    yield ("fitted Beta, beta (eq. 4.20)", search.beta.beta)
    yield ("weight of the chosen picture", search.weights[search.chosen])
    yield ("consistency, mean of the distances (eq. 4.28)", search.consistency)
    yield ("smoothness, 1 - Gini (eq. 4.31)", search.smoothness)


def _cost(mitigation: str, loaded: Loaded, made: Sequence[Pair]) -> sections.Section:
    request = made[0].request
    texts = request.variation.texts if request.variation is not None else ()
    rows: list[tuple[sections.Cell, ...]] = [("mitigation", mitigation)]
    rows += [("passes of the model per picture", f"{loaded.passes:.3g}")]
    if any(pair.search is not None for pair in made):
        rows += [("pictures are compared by", loaded.compares_by)]
    rows += [("steps", request.settings.steps), ("guidance", request.settings.guidance)]
    rows += [(f"{of} counterpart", text) for of, text in zip(OF, texts, strict=False)]
    return sections.Section(
        "How it was made", (sections.Table("Settings", ("", "value"), tuple(rows)),)
    )


def _picture(file: str | None, said: Detection, told: tuple[str, ...]) -> sections.Picture:
    word = said.label or str(said.said).replace("_", " ")
    kind = said.label if said.label in GENDERS else "undetected"
    return sections.Picture(file, word, tuple(filter(None, told)), kind=kind)


def _kept(folder: Path, image: Image | None, name: str) -> str | None:
    if image is None:
        return None
    file = folder / PICTURES / f"{name}.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    image.save(file)
    return str(file)
