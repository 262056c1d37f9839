"""Labels of hybrids of the reference models, which the cases of cases.py share.

``python tests/measured/bank.py STORE`` makes the pictures (about 5,000) and writes labels.json: 1
male, -1 female, 0 undetected, by hybrid, prompt and seed. With a real case whose prompts grew so
little that the search needs more seeds than that, ``bank.py STORE more`` makes the pictures of
these prompts alone, and writes more_labels.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_t2i import GenerationSettings, Workbench, axes
from pytest_t2i.settings import Settings

from pytest_t2i_explain.hybrids import Model, Workshop
from pytest_t2i_explain.prompts import WorsenedPrompt
from pytest_t2i_explain.sides import Side

LABELS = Path(__file__).with_name("labels.json")
MORE_LABELS = Path(__file__).with_name("more_labels.json")
WORDS = ("CEO", "nurse", "judge", "engineer", "housekeeper", "lawyer")
SEEDS, FEWER = 34, 24
"""Seeds of a prompt, and of one with a mitigation, which makes each picture several times."""
DETECTOR = "clip-enhance:reference"
NOTHING = Side("", "", None, {}, DETECTOR, "", "", {})

NEW = {
    "steps": {"steps": 1},
    "guidance": {"guidance": 2.0},
    "negative prompt": {"negative_prompt": "a photo of a woman"},
}
"""Component -> the new generation settings; the old ones are 4 steps, no guidance."""
PARTS = frozenset({"unet", "text_encoder"})
HYBRIDS = [
    frozenset(filter(None, names.split("+")))
    for names in (
        "", "unet", "text_encoder", "unet+text_encoder",
        "number format", "unet+number format", "text_encoder+number format",
        "unet+text_encoder+number format",
        "steps", "steps+text_encoder", "words", "words+text_encoder",
        "guidance", "guidance+negative prompt", "guidance+text_encoder",
        "guidance+negative prompt+text_encoder", "mitigated", "mitigated+unet",
    )
]  # fmt: skip
"""What is new in each hybrid. With a mitigation on, "mitigated" is the older state."""


GUIDED = ("guidance", "guidance+negative prompt", "guidance+text_encoder",
          "guidance+negative prompt+text_encoder")  # fmt: skip
GUIDED_SEEDS = {"nurse": 60, "judge": 60, "lawyer": 60, "engineer": 180}
PLAIN_SEEDS = {
    "judge": 100,
    "CEO": 80,
    "lawyer": 80,
    "nurse": 70,
    "engineer": 70,
    "housekeeper": 80,
}
# A twin has half of the old model's.
TWIN_SEEDS = {"CEO": 500, "lawyer": 240, "engineer": 240}
ROUNDED_SEEDS = {"judge": 100, "CEO": 80, "lawyer": 80, "housekeeper": 80}
MORE = {
    **{name: {"judge": 60, "CEO": 40} for name in ("mitigated", "mitigated+unet", "unet")},
    **dict.fromkeys(GUIDED, GUIDED_SEEDS),
    "": PLAIN_SEEDS | TWIN_SEEDS,
    "text_encoder": PLAIN_SEEDS,
    **dict.fromkeys(("number format", "number format+text_encoder"), ROUNDED_SEEDS),
    **{name: {"judge": 80} for name in ("words", "words+text_encoder")},
}
"""Hybrid -> word -> seeds in all, where a real case needs more than ``SEEDS``."""


def bench(name: str, store: Path, new: frozenset[str]) -> Workbench:
    """The workbench of one side, with the new settings among these."""
    values = {"steps": 4, "guidance": 1.0, "width": 128, "height": 128}
    for component, change in NEW.items():
        values |= change if component in new else {}
    return Workbench(
        Settings(
            name,
            detectors=(DETECTOR,),
            generation=GenerationSettings(**values),
            store=store,
            probe="never",
            dtype="bfloat16" if "number format" in new else "float32",
            mitigation="random-counterpart" if "mitigated" in new else None,
        )
    )


def side(of: Workbench) -> Model:
    """One side as the search knows it."""
    names = ("model", "generation", "detectors", "mitigation", "dtype")
    facts = replace(NOTHING, model=of.model_facts, fingerprint=of.model_fingerprint)
    return Model(facts, {name: getattr(of.settings, name) for name in names}, of)


def labels(
    store: Path,
    new: frozenset[str],
    words: Sequence[str] = WORDS,
    seeds: int | None = None,
    after: int = 0,
) -> list[list[int]]:
    """The label of each picture of a hybrid, [prompts][seeds], after the first of its seeds."""
    prompts = axes.profession.only(*words).prompts()
    if "words" in new:
        prompts = [replace(p, text=p.text.replace("person who", "man who")) for p in prompts]
    signs = {"male": 1, "female": -1}
    grown = [WorsenedPrompt(prompt, prompt.text, signs, 0.0, after) for prompt in prompts]
    old, biased = (bench(name, store, new) for name in ("reference", "reference-biased"))
    workshop = Workshop(side(old), side(biased), biased, PARTS, grown)
    images = seeds or own_seeds(new)
    return workshop.draw(new & PARTS, images).astype(int).tolist()


def own_seeds(new: Collection[str]) -> int:
    """Seeds of a hybrid in the first bank."""
    return FEWER if "mitigated" in new else SEEDS


def more(store: Path) -> None:
    """Make what is missing of the longer rows, and write the labels beyond the first bank."""
    known = json.loads(MORE_LABELS.read_text()) if MORE_LABELS.exists() else {}
    for names, by_word in MORE.items():
        new = frozenset(filter(None, names.split("+")))
        rows = known.setdefault("+".join(sorted(new)), {})
        for word, seeds in by_word.items():
            own = own_seeds(new)
            if own + len(rows.get(word, ())) < seeds:
                (rows[word],) = labels(store, new, (word,), seeds - own, own)
                MORE_LABELS.write_text(json.dumps(known) + "\n")
                print(names or "old", word, seeds, flush=True)


def main() -> None:
    """Make what is missing, and write all labels."""
    store = Path(sys.argv[1])
    if sys.argv[2:] == ["more"]:
        more(store)
        return
    known = json.loads(LABELS.read_text()) if LABELS.exists() else {}
    for new in HYBRIDS:
        name = "+".join(sorted(new))
        if name not in known:
            known[name] = labels(store, new)
            LABELS.write_text(json.dumps(known) + "\n")
        print(name or "old", flush=True)


if __name__ == "__main__":
    main()
