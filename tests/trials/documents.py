"""Every document that pytest-t2i reads: a valid one of each, and the reader it goes to."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
from mistakes import Mistake, as_texts, as_toml, wrong_documents, wrong_texts
from PIL import Image
from pytest_t2i_origins.languages.file import load
from pytest_t2i_origins.questions.candidates import attributes_of

from pytest_t2i.adapters.catalogue import read_catalogues
from pytest_t2i.adapters.finders.tags import TagVocabulary
from pytest_t2i.adapters.models.manifest import read_manifest
from pytest_t2i.adapters.models.model_index import read_index
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.data import Detection, Interval, Outcome, Row, Undetected
from pytest_t2i.labels import prompts_of, read_labels, vocabulary_of
from pytest_t2i.labels.labels_csv import read_label_file
from pytest_t2i.prompts import read_axes, read_captions, read_reference, read_stereotypes
from pytest_t2i.prompts.internet_users import read_footprints
from pytest_t2i.protocols import LoadOptions
from pytest_t2i.runs.compare.read_compared_models import read_compared_models
from pytest_t2i.runs.record.images import ImageRecord, images_beside
from pytest_t2i.runs.record.read_run import read_run
from pytest_t2i.runs.record.record import AuditRecord, Counts, PromptRecord, RunRecord
from pytest_t2i.verdicts import baseline_file
from pytest_t2i.verdicts.check import Check
from pytest_t2i.verdicts.limits_file import read_limits


@dataclass(frozen=True)
class Document:
    """A file that people or programs write and pytest-t2i reads."""

    name: str
    file: str
    """Its name in a folder of its own."""
    text: str
    """A valid one."""
    read: Callable[[Path], Any]
    """Its reader, given the file."""
    free: tuple[str, ...] = ()
    """Keys below which anything may stand: facts that are only shown, or others' own."""

    def write(self, folder: Path, text: str | None = None) -> Path:
        """The valid document, or another text in its place, with what belongs beside it."""
        for picture in ("a.png", "b.png"):
            if not (folder / picture).exists():
                Image.new("RGB", (4, 4)).save(folder / picture)
        (folder / "run.images.jsonl").write_text(LINES, encoding="utf-8")
        path = folder / self.file
        path.write_text(self.text if text is None else text, encoding="utf-8")
        return path

    @property
    def plain(self) -> Any:
        """The valid document as tables and lists; None where it is lines of text."""
        read = {".json": json.loads, ".toml": tomllib.loads}.get(Path(self.file).suffix)
        return read(self.text) if read else None

    def dump(self, plain: Any) -> str:
        """Tables and lists in this document's format; ValueError where it has no word for them."""
        return as_toml(plain) if self.file.endswith(".toml") else json.dumps(plain)

    def mistakes(self) -> Iterator[Mistake]:
        """Every mistake of the grammar, as the bytes of a file."""
        yield from wrong_texts(self.text)
        if self.plain is not None:
            yield from as_texts(wrong_documents(self.plain), self.dump)


INTERVAL = Interval(0.5, 0.1, 0.9, 0.95, "clopper-pearson", 4)
SCORE = Row(
    "model_bias_score",
    "model",
    "model",
    INTERVAL,
    {"detector": "colour"},
    {"paper": 0.5, "fair_model": 0.1},
    {"prompts": 1, "clear_images": 1},
)


IMAGES = (
    ImageRecord(7, "a.png", {"colour": Detection("male", scores={"male": 0.75})}),
    ImageRecord(8, None, {"colour": Detection(None, Undetected.REFUSED)}),
)
LINES = "".join(
    json.dumps({"prompt": "profession-nurse"} | msgspec.to_builtins(image)) + "\n"
    for image in IMAGES
)


def _images(path: Path) -> Any:
    counts = [("profession-nurse", len(IMAGES))]
    return [list(images) for images in images_beside(path.with_name("run.json"), counts)]


def _run() -> str:
    prompt = PromptRecord(
        id="profession-nurse",
        text="a nurse",
        axis="profession",
        concept="nurse",
        variant="neutral",
        counts={"colour": Counts({"male": 1}, {Undetected.REFUSED: 1})},
        prompt_bias_score=INTERVAL,
        images=IMAGES,
    )
    check = Check(
        test="test_a.py::test_it",
        metric="model_bias_score",
        subject="model",
        is_of_model=True,
        outcome=Outcome.PASS,
        estimate=0.5,
        low=0.1,
        high=0.55,
        level=0.9,
        method="clopper-pearson",
        n=4,
        operator="<=",
        bound=0.6,
    )
    return RunRecord(
        created="2026-11-21T10:00:00+00:00",
        seconds=12.5,
        model="mine",
        settings={
            "images": 2,
            "seed": 0,
            "store": ".t2i",
            "report": "r",
            "inconclusive": ["pass", "pass"],
        },
        provenance={"model": {"fingerprint": "f"}},
        work={"planned": 2, "made": 2},
        checks=(check,),
        prompts=(prompt,),
        audits={"parity": AuditRecord(rows=(SCORE,))},
    ).to_json()


BASELINE = {
    "schema": baseline_file.SCHEMA,
    "created": "2026-11-21",
    "model": "mine",
    "model_fingerprint": "f",
    "seed": 0,
    "images": 2,
    "conditions": {"detector": "colour", "detector_fingerprint": "d", "generation": {"steps": 4}},
    "environment": {"python": "3"},
    "prompts": {
        "a nurse": {"id": "nurse", "seeds": [1, 2], "labels": ["male", "undetected:refused"]}
    },
    "audits": {
        "detector_validation": {
            "colour": {"labelled": "x", "detector_fingerprint": "d", "words": {"a.png": "male"}}
        },
        "variety": {"nurse, hat": {"wals": asdict(INTERVAL), "encoder_fingerprint": "e"}},
    },
}
LABEL_STUDIO = [
    {
        "id": 1,
        "data": {"image": "/data/upload/7/0f3e2a1b-a.png", "prompt": "a nurse", "model": "mine"},
        "annotations": [
            {
                "completed_by": {"email": "ada@example.org", "id": 1},
                "was_cancelled": False,
                "result": [{"type": "choices", "value": {"choices": ["male"]}}],
            }
        ],
    }
]
MANIFEST = [
    {"file": "a.png", "prompt": "a nurse", "seed": 0},
    {"file": "b.png", "prompt": "a nurse"},
]
COCO = {"annotations": [{"id": 1, "image_id": 2, "caption": "a person rides a horse"}]}
TEXT_CAPS = {"data": [{"caption_str": "a person rides a horse", "image_id": "x"}]}
ANSWER = {"attributes": [{"attribute": "hat", "positive": "with a hat", "negative": "without"}]}
INDEX = {"_class_name": "StableDiffusionPipeline", "unet": ["diffusers", "UNet2DConditionModel"]}
LIMITS = """prompt_bias_score = 0.5
[model_bias_score]
limit = 0.2
reason = "agreed"
[similarity_gap.image]
limit = 0.1
"""
REFERENCE = 'source = "a table"\n[nurse]\nmale = 0.25\nfemale = 0.75\n[default]\nmale = 1\n'
STEREOTYPES = """[[stereotype]]
concept = "Indian"
attribute = "hat"
positive = "with a hat"
negative = "without a hat"
expected = 0.5
source = "a table"
margin = 0.1
direction = "over"
"""
AXES = '[hobby]\ntemplate = "{a word} player"\nconcepts = ["chess", "go"]\nindicator = "word"\n'
FOOTPRINTS = 'source = "a table"\n[users]\nIndian = 881.3\n'
CATALOGUE = """[models.mine]
path = "owner/name"
steps = 4
guidance = 7.5
size = 64
dtype = "float32"
batch = 2
[weights.clip]
small = "owner/clip"
large = { path = "owner/large" }
"""
LABELS = """file,label,annotator,reason,prompt,model
a.png,male,ada,,a nurse,mine
b.png,others,ada,odd,,
"""


def _json(plain: Any) -> str:
    return json.dumps(plain, indent=1)


def _export(path: Path) -> Any:
    return read_label_file(path, vocabulary_of(path.parent))


def _of_folder(read: Callable[[Path], Any]) -> Callable[[Path], Any]:
    return lambda path: read(path.parent)


def _catalogue(path: Path) -> Any:
    return read_catalogues(Registries().catalogues, path)


FREE = ("outcome", "fingerprint")
"""Of a run: what is reckoned anew, and facts."""
NOT_OURS = ("id", "image_id", "completed_by", "type", "prompt", "model")
"""Of files of other programs: what any of them may write."""
DOCUMENTS = (
    Document("limits", "limits.toml", LIMITS, read_limits, ("similarity_gap",)),
    Document(
        "baseline",
        "base.json",
        _json(baseline_file.sealed(BASELINE)),
        baseline_file.read_baseline,
        ("steps",),
    ),
    Document("run", "run.json", _run(), read_run, FREE),
    Document("images", "run.images.jsonl", LINES, _images, FREE),
    Document("models", "run.json", _run(), lambda path: read_compared_models([path, path]), FREE),
    Document("labels", "labels.csv", LABELS, _of_folder(read_labels)),
    Document("prompts of labels", "manifest.csv", "file,prompt\na.png,x\n", _of_folder(prompts_of)),
    Document("Label Studio", "export.json", _json(LABEL_STUDIO), _export, NOT_OURS),
    Document("manifest", "manifest.json", _json(MANIFEST), _of_folder(read_manifest), ("seed",)),
    Document(
        "manifest as a table", "manifest.csv", "file,prompt,seed\na.png,a nurse,0\nb.png,b,\n",
        _of_folder(read_manifest),
    ),
    Document("COCO", "captions.json", _json(COCO), read_captions, NOT_OURS),
    Document("TextCaps", "captions.json", _json(TEXT_CAPS), read_captions, NOT_OURS),
    Document("Flickr30k", "c.token", "1.jpg#0\ta person rides a horse\n", read_captions),
    Document("GCC", "c.tsv", "a person rides a horse\thttps://example.org/a.jpg\n", read_captions),
    Document("captions", "c.txt", "a person rides a horse\n", read_captions),
    Document("reference", "shares.toml", REFERENCE, read_reference),
    Document("stereotypes", "stereotypes.toml", STEREOTYPES, read_stereotypes),
    Document("axes", "axes.toml", AXES, read_axes),
    Document("footprints", "users.toml", FOOTPRINTS, read_footprints),
    Document("catalogue", "models.toml", CATALOGUE, _catalogue, ("large",)),
    Document("vocabulary", "words.txt", "tie\nhat\n", TagVocabulary.read),
    Document(
        "pipeline", "model_index.json", _json(INDEX), _of_folder(read_index),
        ("unet", "_class_name"),
    ),
    Document(
        "answer", "answer.json", _json(ANSWER),
        lambda path: attributes_of(load(LoadOptions(source=str(path))).answer("")),
    ),
)  # fmt: skip
