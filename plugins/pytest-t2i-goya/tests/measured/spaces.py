"""What the shipped heads are worth on held-out drawings, in kind of the thesis' Tables 2.2 to 2.5.

    python plugins/pytest-t2i-goya/tests/measured/spaces.py TRAIN HELD-OUT > spaces.md

TRAIN and HELD-OUT are folders of ``drawn_styles.py``. Beside the shipped heads stand the features
below them, and networks of equal size whose pairs are the same only where content *and* style are:
nothing tells the one space to keep what the other leaves out. These are trained here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from drawn_styles import Content, contents
from pytest_t2i import Interval, load_encoder

from pytest_t2i_goya.encoder import embedded
from pytest_t2i_goya.evaluation import How, chance, dependence, probe, retrieval
from pytest_t2i_goya.features import Asked, Seen, seen
from pytest_t2i_goya.heads import Heads, read_heads
from pytest_t2i_goya.train import examples_of
from pytest_t2i_goya.training import Examples, Schedule, Training

ENCODER = "clip:reference"
SCHEDULE = Schedule(epochs=100, width=256, hidden=256)
"""That of the shipped heads."""
HOW = How()
Spaces = tuple[np.ndarray, np.ndarray]


def pictured(folder: Path) -> Seen:
    """The pictures of a folder with their features, which are kept beside it."""
    asked = Asked(f"images:{folder}", [], [], 1, None, 0, {"progress": False})
    return seen(asked, load_encoder(ENCODER), folder.with_name(f"{folder.name}.npz"), _silent)


def without_split(pictures: Seen) -> Heads:
    """The same networks; a pair is the same where content and style both are."""
    both = [f"{one.content}|{one.style}" for one in pictures.prompts]
    kinds = sorted(set(both))
    numbers = torch.tensor([kinds.index(one) for one in both])
    same = torch.eye(len(kinds), dtype=torch.bool)
    examples = Examples(torch.from_numpy(pictures.features), numbers, numbers, same)
    training = Training(examples, SCHEDULE, None)
    training.run(_silent)
    return training.heads(ENCODER, (), {})


def with_sums(pictures: Seen) -> Heads:
    """GOYA by the sums as printed."""
    names = sorted(set(pictures.contents)), sorted(set(pictures.styles))
    same = torch.eye(len(names[0]), dtype=torch.bool)
    schedule = Schedule(epochs=100, width=256, hidden=256, reading="sums")
    training = Training(examples_of(pictures, *names, same), schedule, None)
    training.run(_silent)
    return training.heads(ENCODER, (), {})


def spaces_of(train: Seen, held: Seen) -> dict[str, Spaces]:
    """Name -> embeddings of content and of style of the held-out pictures."""
    shipped = embedded(read_heads("reference"), held.features)
    unsplit = embedded(without_split(train), held.features)
    sums = embedded(with_sums(train), held.features)
    raw = held.features, held.features
    return {
        "labels": (_one_hot(held.contents), _one_hot(held.styles)),
        "features of clip:reference": raw,
        "no split": (unsplit["content"], unsplit["style"]),
        "no split, projected": (unsplit["projected-content"], unsplit["projected-style"]),
        "GOYA, sums as printed": (sums["content"], sums["style"]),
        "GOYA, sums as printed, projected": (sums["projected-content"], sums["projected-style"]),
        "GOYA": (shipped["content"], shipped["style"]),
        "GOYA, projected": (shipped["projected-content"], shipped["projected-style"]),
    }


def dependences(spaces: dict[str, Spaces], held: Seen) -> Iterator[str]:
    """In kind of Table 2.2."""
    yield "| spaces | dimensions | distance correlation | U-centred, squared | p |"
    yield "|---|---:|---|---|---:|"
    for name, (content, style) in spaces.items():
        found = dependence((content, style), held.contents, HOW)
        size = f"{content.shape[1]} and {style.shape[1]}"
        yield f"| {name} | {size} | {found.printed} | {found.corrected} | {found.p_value:.3f} |"


def subjects(held: Seen) -> dict[str, Sequence[str]]:
    """What is asked of each picture: its style, and parts of its content."""
    by_text: dict[str, Content] = {str(content): content for content in contents()}
    parts = [by_text[one] for one in held.contents]
    return {
        "style": held.styles,
        "gender": [one.gender for one in parts],
        "place": [one.place for one in parts],
        "on the head": [one.on_head for one in parts],
    }


def accuracies(spaces: dict[str, Spaces], held: Seen) -> Iterator[str]:
    """In kind of Tables 2.3 to 2.5: linear probes, and precision among the nearest five."""
    columns = ("probe in content", "probe in style", "P@5 in content", "P@5 in style")
    yield f"| spaces | subject | chance | {' | '.join(columns)} |"
    yield f"|---|---|---:|{'---|' * len(columns)}"
    for name, both in spaces.items():
        if name == "labels":
            continue
        for subject, labels in subjects(held).items():
            probes = [probe(space, labels, held.contents, HOW) for space in both]
            near = [retrieval(space, labels, held.contents, HOW).precision for space in both]
            cells = " | ".join(map(str, (*probes, *near)))
            yield f"| {name} | {subject} | {chance(labels):.3f} | {cells} |"


def apart(low: Interval, high: Interval) -> str:
    """Whether one interval lies clear below another."""
    return "clear" if low.high < high.low else "not clear"


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train", type=Path)
    parser.add_argument("held", type=Path)
    given = parser.parse_args()
    train, held = pictured(given.train), pictured(given.held)
    spaces = spaces_of(train, held)
    print(
        f"{len(held)} held-out drawings of {len(set(held.contents))} contents in "
        f"{len(set(held.styles))} styles; {len(train)} drawings were trained on.\n"
    )
    for table in (dependences, accuracies):
        print("\n".join(table(spaces, held)), end="\n\n", flush=True)
    return 0


def _one_hot(labels: Sequence[str]) -> np.ndarray:
    kinds = sorted(set(labels))
    return np.eye(len(kinds))[[kinds.index(label) for label in labels]]


def _silent(_: str) -> None:
    pass


if __name__ == "__main__":
    sys.exit(main())
