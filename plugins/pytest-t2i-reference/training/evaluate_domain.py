"""Fit and prove the domain of the reference CLIP: ``python -m training.evaluate_domain PHOTOGRAPHS``.

PHOTOGRAPHS holds one folder of pictures for each kind; noise and flat colours are made up. Half of the drawings and
of every kind are fitted, the other half says how good that is; then each kind is left out of the fit as a whole.
Two files are written, and no picture: weights/clip/domain.json, and results/domain.json with what was measured.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pytest_t2i import load_encoder
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from training.domain_pictures import drawings, neither, photographs
from training.progress import Progress
from training.settings import PLUGIN, RESULTS, WEIGHTS, Settings, use_threads

FILE = "domain.json"
"""Beside the weights; CLIP reads it there."""
MADE_FOR = "the drawings of the reference models"
DIGITS = 5
"""Significant digits of the numbers that are shipped."""
LOST = 0.002
"""Share of the drawings that the threshold may refuse, of those that it is set with."""
BATCH = 64
Rows = NDArray[np.float64]
"""[pictures, numbers of a summary]."""


class Summarising(Protocol):
    """An encoder that tells how pictures look to every layer, as CLIP does."""

    def summaries(self, images: Sequence[Image.Image]) -> NDArray[np.float32]:
        """[pictures, numbers of a summary]."""


@dataclass(frozen=True, slots=True)
class Domain:
    """Pictures whose summary does not reach a threshold along a direction."""

    direction: tuple[float, ...]
    threshold: float

    def holds(self, summaries: Rows) -> NDArray[np.bool_]:
        """Whether each of these pictures is of this kind."""
        holds: NDArray[np.bool_] = summaries @ np.array(self.direction) <= self.threshold
        return holds


def main() -> None:
    """Read the arguments and write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photographs", type=Path)
    parser.add_argument("--work", type=Path, default=PLUGIN / "training" / "work", help="folder of what is drawn")
    chosen = parser.parse_args()
    chosen.work.mkdir(parents=True, exist_ok=True)
    settings = Settings(chosen.work)
    use_threads(settings.threads)
    encoder = cast("Summarising", load_encoder(f"clip:{WEIGHTS / 'clip'}"))
    drawn = {name: summaries(encoder, name, list(pictures)) for name, pictures in drawings(settings)}
    photos = {name: summaries(encoder, name, pictures) for name, pictures in photographs(chosen.photographs)}
    others = {name: summaries(encoder, name, list(pictures)) for name, pictures in neither(settings.seed)}
    outside = {**photos, **others}
    domain = fitted(halves(drawn, 0), halves(outside, 0))
    (WEIGHTS / "clip" / FILE).write_text(as_json(domain), encoding="utf-8")
    found = proved(domain, drawn, photos) | {
        "others refused": shares(domain, {name: rows[1::2] for name, rows in others.items()}),
        "refused of a kind that was left out": {
            kind: shares(fitted(halves(drawn, 0), halves(without(outside, kind), 0)), {kind: rows})[kind]
            for kind, rows in outside.items()
        },
    }
    (RESULTS / "domain.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


def summaries(encoder: Summarising, name: str, pictures: Sequence[Image.Image | NDArray[np.uint8]]) -> Rows:
    """How every picture looks to every layer."""
    progress, rows = Progress(name, len(pictures)), []
    for start in range(0, len(pictures), BATCH):
        part = [Image.fromarray(p) if isinstance(p, np.ndarray) else p for p in pictures[start : start + BATCH]]
        rows.append(encoder.summaries(part))
        progress.at(start + len(part))
    return np.concatenate(rows).astype(np.float64)


def halves(pictures: Mapping[str, Rows], which: int) -> Rows:
    """Every second one of each sort, the first (0) or the second (1)."""
    return np.concatenate([rows[which::2] for rows in pictures.values()])


def without(pictures: Mapping[str, Rows], kind: str) -> dict[str, Rows]:
    """All but one kind."""
    return {name: rows for name, rows in pictures.items() if name != kind}


def fitted(inside: Rows, outside: Rows) -> Domain:
    """The direction that tells both apart best, and a threshold that refuses few of the drawings.

    The direction is that of a linear discriminant analysis of two thirds of the drawings, with a covariance shrunk
    as Ledoit and Wolf do; the last third sets the threshold.
    """
    sets_threshold = np.arange(len(inside)) % 3 == 2
    learned, held = inside[~sets_threshold], inside[sets_threshold]
    spread = learned.std(axis=0) + 1e-6
    analysis = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    analysis.fit(np.concatenate([learned, outside]) / spread, np.arange(len(learned) + len(outside)) >= len(learned))
    direction = rounded(analysis.coef_[0] / spread)
    threshold = float(np.quantile(held @ direction, 1 - LOST))
    return Domain(tuple(direction.tolist()), float(rounded(np.array([threshold]))[0]))


def rounded(numbers: Rows) -> Rows:
    """To some significant digits, as they are shipped."""
    return np.array([float(f"{number:.{DIGITS}g}") for number in numbers])


def as_json(domain: Domain) -> str:
    """The file that is shipped."""
    plain = {"made_for": MADE_FOR, "threshold": domain.threshold, "direction": list(domain.direction)}
    return json.dumps(plain) + "\n"


def proved(domain: Domain, drawn: Mapping[str, Rows], photos: Mapping[str, Rows]) -> dict[str, object]:
    """Shares of the halves that were not fitted: drawings accepted and photographs refused."""
    held, other = ({name: rows[1::2] for name, rows in sort.items()} for sort in (drawn, photos))
    refused = shares(domain, held)
    return {
        "pictures": {name: len(rows) for name, rows in {**held, **other}.items()},
        "drawings accepted": round(float(domain.holds(halves(drawn, 1)).mean()), 4),
        "photographs refused": round(float(1 - domain.holds(halves(photos, 1)).mean()), 4),
        "drawings accepted by sort": {name: round(1 - share, 4) for name, share in refused.items()},
        "photographs refused by kind": shares(domain, other),
    }


def shares(domain: Domain, pictures: Mapping[str, Rows]) -> dict[str, float]:
    """The share of each sort that is refused."""
    return {name: round(float(1 - domain.holds(rows).mean()), 4) for name, rows in pictures.items()}


if __name__ == "__main__":
    main()
