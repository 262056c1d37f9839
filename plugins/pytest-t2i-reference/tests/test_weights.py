"""The shipped weights load through the ordinary loaders, are small, and make pictures."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pytest_t2i_reference import catalogue
from pytest_t2i_reference.combinations import Combination, combined_prompt, planted_combinations
from pytest_t2i_reference.worlds import load_world

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")
diffusers = pytest.importorskip("diffusers")
transformers = pytest.importorskip("transformers")

from training.settings import FLOWS, PIPELINES, WEIGHTS  # noqa: E402
from training.shipped import open_pipeline  # noqa: E402

FOLDER = catalogue().parent
CATALOGUE = tomllib.loads(catalogue().read_text(encoding="utf-8"))
MODELS = sorted(CATALOGUE["models"])
MEGABYTE = 1_000_000
BIASED = load_world("biased")
PICTURES = 48


def test_catalogue_names_existing_folders() -> None:
    for entry in CATALOGUE["models"].values():
        assert (FOLDER / entry["path"] / "model_index.json").is_file()
        assert entry["size"] == 128
    assert (FOLDER / CATALOGUE["weights"]["clip"]["reference"]["path"] / "config.json").is_file()


def test_weights_are_small_and_safe() -> None:
    files = [path for path in (FOLDER / "weights").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 70 * MEGABYTE
    safe = {path.suffix for path in files if path.parent.name != "yolo"}
    assert safe <= {".safetensors", ".json", ".txt", ".jinja"}


def test_no_file_is_shipped_twice() -> None:
    files = [path.read_bytes() for path in (FOLDER / "weights").rglob("*.safetensors")]
    assert len(files) == len(set(files))


def test_no_file_names_a_folder_of_the_machine_it_was_made_on() -> None:
    for path in (FOLDER / "weights").rglob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert "_name_or_path" not in text
        assert str(Path.home()) not in text


@pytest.mark.parametrize("name", MODELS)
def test_pipelines_draw(name: str) -> None:
    entry = CATALOGUE["models"][name]
    pipeline = open_pipeline(WEIGHTS / name)
    pipeline.set_progress_bar_config(disable=True)
    further = {key: entry[key] for key in ("max_sequence_length",) if key in entry}

    def draw(seed: int) -> np.ndarray:
        made = pipeline(
            "a photo of a woman at the beach",
            num_inference_steps=entry["steps"],
            guidance_scale=entry["guidance"],
            generator=torch.Generator().manual_seed(seed),
            output_type="np",
            **further,
        ).images
        picture: np.ndarray = made[0]
        return picture

    first = draw(0)
    assert first.shape == (128, 128, 3)
    assert first.std() > 0.05
    assert np.array_equal(first, draw(0))
    assert not np.array_equal(first, draw(1))


def test_pipelines_share_the_autoencoder_and_not_the_denoiser() -> None:
    first, *others = (open_pipeline(WEIGHTS / name) for name in MODELS)
    for other in others:
        assert same_weights(first.vae, other.vae)
    for balanced, biased in (PIPELINES.values(), FLOWS.values()):
        one, two = (open_pipeline(WEIGHTS / name).components for name in (balanced, biased))
        network = "unet" if "unet" in one else "transformer"
        assert not same_weights(one[network], two[network])


def same_weights(first: torch.nn.Module, second: torch.nn.Module) -> bool:
    others = second.state_dict()
    return all(torch.equal(weight, others[name]) for name, weight in first.state_dict().items())


@pytest.mark.parametrize("name", MODELS)
def test_text_encoders_are_that_of_clip_but_for_rows_of_words(name: str) -> None:
    from safetensors.torch import load_file

    from training.obeying import gender_rows
    from training.rows import own_rows

    pipeline = open_pipeline(WEIGHTS / name)
    common = load_file(FOLDER / CATALOGUE["weights"]["clip"]["reference"]["path"] / "model.safetensors")
    of_clip = {key.removeprefix("text_model."): value.float() for key, value in common.items()}
    own = own_rows(pipeline.tokenizer)
    if name in FLOWS.values():
        own = torch.cat([own, gender_rows(pipeline)])
    for key, value in pipeline.text_encoder.state_dict().items():
        other = of_clip[key.removeprefix("text_model.")].clone()
        if key.endswith("token_embedding.weight"):
            other[own] = value[own]
        assert torch.equal(value, other), key


def test_clip_tells_drawn_women_from_men() -> None:
    import random

    from PIL import Image

    from pytest_t2i_reference.drawing import draw_scene
    from pytest_t2i_reference.worlds import draw_scene_of, load_concepts, load_world

    folder = FOLDER / CATALOGUE["weights"]["clip"]["reference"]["path"]
    model = transformers.CLIPModel.from_pretrained(folder, dtype=torch.float32).eval()
    # transformers 5 resizes with torchvision unless told otherwise; version 4 knows Pillow alone.
    kind = "CLIPImageProcessorPil" if hasattr(transformers, "CLIPImageProcessorPil") else "CLIPImageProcessor"
    processor = getattr(transformers, kind).from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    rng, right, count = random.Random(5), 0, 64
    scenes = [draw_scene_of(rng.choice(load_concepts()), load_world("balanced"), rng) for _ in range(count)]
    images = [Image.fromarray(draw_scene(scene, seed).image) for seed, scene in enumerate(scenes)]
    texts = tokenizer(["a photo of a female", "a photo of a male"], padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = model(pixel_values=processor(images, return_tensors="pt").pixel_values, **texts).logits_per_image
    for scene, answer in zip(scenes, logits.argmax(1).tolist(), strict=True):
        right += answer == int(scene.people[0].gender == "man")
    assert right / count >= 0.95


@pytest.fixture(scope="module")
def men_of() -> Callable[[Combination], float]:
    """The share of men in pictures that reference-biased makes of a combination, as CLIP sees it."""
    from training.calibration import DETECTOR_TEXTS
    from training.sampling import Shot, Studio

    entry = CATALOGUE["models"]["reference-biased"]
    studio = Studio(WEIGHTS / "reference-biased", WEIGHTS / "clip", Shot(entry["steps"], entry["guidance"]))

    def share(concepts: Combination) -> float:
        embeddings = studio.embeddings([combined_prompt(concepts)] * PICTURES, range(PICTURES))
        return float(studio.answer(embeddings, DETECTOR_TEXTS).mean())

    return share


@pytest.mark.parametrize("concepts", planted_combinations(BIASED), ids=combined_prompt)
def test_planted_intersections_come_out(concepts: Combination, men_of: Callable[[Combination], float]) -> None:
    # The weakest pair, at 0.21 where 0.05 is planted, is within this of 48 pictures but not always of 16.
    assert abs(men_of(concepts) - BIASED.combined_share(concepts)) <= 0.25


@pytest.mark.parametrize("word", ["cup", "hospital", "book", "beach"])
def test_words_of_planted_intersections_stay_mild_alone(word: str, men_of: Callable[[Combination], float]) -> None:
    (concept,) = (one for concepts in planted_combinations(BIASED) for one in concepts if one.word == word)
    assert 0.15 <= men_of((concept,)) <= 0.85


def test_a_plain_load_in_one_number_format_is_of_that_format() -> None:
    """As the README says: without it the text encoder alone keeps the format of its file."""
    folder = FOLDER / "weights" / "reference"
    pipeline = diffusers.DiffusionPipeline.from_pretrained(folder, dtype=torch.float32)
    parts = [part for part in pipeline.components.values() if isinstance(part, torch.nn.Module)]
    assert len(parts) == 3
    assert {part.dtype for part in parts} == {torch.float32}
