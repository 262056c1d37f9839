"""Every text-to-image class of diffusers: what it makes of a request, or why it makes nothing."""

import csv
import inspect
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import tiny_pipelines
from installed import needs

from pytest_t2i.data import FINAL_LATENT, Request
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.model_probe import probed
from pytest_t2i.protocols import LoadOptions

pytestmark = pytest.mark.slow

NAMES = sorted(tiny_pipelines.PIPELINES)
REWRITING = ("ErnieImagePipeline", "LongCatImagePipeline")
LONGER = "a photo of an old pilot"
"""A prompt that a batch pads another one to."""


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    needs("torch")
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def load(name: str, *, write: Any = None, **extra: Any) -> Any:
    needs("diffusers")
    from pytest_t2i.adapters.models import diffusers

    pipeline = tiny_pipelines.PIPELINES[name]
    extra = {"call": dict(pipeline.call), **extra}
    folder = tiny.written(write or pipeline.write)
    model = diffusers.load(LoadOptions(source=str(folder), device="cpu", extra=extra))
    for attribute, value in pipeline.attributes.items():
        setattr(model.pipeline, attribute, value)
    return model


loaded = cache(load)
"""The same model for all tests that do not change it."""


def settings_of(name: str, **choices: Any) -> Any:
    return replace(tiny_pipelines.PIPELINES[name].settings, **choices)


def made(model: Any, *requests: Request) -> list[Any]:
    return list(model.generate(requests))


def pixels(picture: Any) -> Any:
    return np.asarray(picture.image).astype(int)


def difference(one: Any, other: Any) -> int:
    return int(np.abs(pixels(one) - pixels(other)).max())


@pytest.mark.parametrize("name", NAMES)
def test_pipeline_makes_the_pictures_of_its_requests(name):
    model, settings = loaded(name), settings_of(name)
    short, long = Request("a nurse", 1, settings), Request(LONGER, 2, settings)
    together = made(model, short, long)
    (alone,) = made(model, short)
    assert difference(together[0], alone) <= 1
    assert difference(*together) > 1
    assert together[0].image.mode == "RGB"
    size = together[0].image.size
    assert size == (settings.width or size[0], settings.height or size[1])


@pytest.mark.parametrize("name", NAMES)
def test_guidance_changes_pixels_or_is_refused(name):
    model = loaded(name)
    if model.other_guidance(settings_of(name)) is None:
        with pytest.raises(ConfigurationError, match="guidance"):
            made(model, Request("a nurse", 1, settings_of(name, guidance=4.0)))
        return
    requests = [Request("a nurse", 1, settings_of(name, guidance=scale)) for scale in (1.5, 12.0)]
    assert difference(*made(model, *requests)) > 0


@pytest.mark.parametrize("name", NAMES)
def test_negative_prompt_changes_pixels_or_is_refused(name):
    model = loaded(name)
    plain = Request("a nurse", 1, settings_of(name))
    changed = Request("a nurse", 1, settings_of(name, negative_prompt="ugly and old"))
    try:
        (picture,) = made(model, changed)
    except ConfigurationError as error:
        assert "negative_prompt" in str(error)  # noqa: PT017 - either will do
        return
    assert difference(picture, *made(model, plain)) > 0


@pytest.mark.parametrize("name", NAMES)
def test_final_latent_is_observed_or_refused(name):
    model = loaded(name)
    request = Request("a nurse", 1, settings_of(name), observe=frozenset({FINAL_LATENT}))
    if "callback_on_step_end" not in model._calls.accepted:
        with pytest.raises(ConfigurationError, match="the final latent cannot be observed"):
            made(model, request)
        return
    (picture,) = made(model, request)
    assert picture.trace.final_latent.size > 1
    assert np.isfinite(picture.trace.final_latent).all()


@pytest.mark.parametrize("name", NAMES)
def test_probe_finds_no_fault(name):
    probe = probed(loaded(name), settings_of(name))
    assert probe.faults == ()


def test_a_modular_pipeline_in_memory_is_measured():
    """It ended in an AttributeError."""
    import diffusers

    from pytest_t2i.library.in_memory import factory_of

    folder = str(tiny.written(tiny_pipelines.PIPELINES["ZImageModularPipeline"].write))
    pipeline = diffusers.ModularPipeline.from_pretrained(folder)
    pipeline.load_components()
    guider = pipeline.guider
    model = factory_of(pipeline, None)(LoadOptions())
    settings = settings_of("ZImageModularPipeline", guidance=4.0)
    (picture,) = made(model, Request("a nurse", 1, settings))
    assert (
        difference(picture, *made(loaded("ZImageModularPipeline"), Request("a nurse", 1, settings)))
        <= 1
    )
    assert pipeline.guider is guider
    again = factory_of(pipeline, None)(LoadOptions())
    assert again.fingerprint == model.fingerprint
    pipeline.guider = guider.new(guidance_scale=2.0)
    assert factory_of(pipeline, None)(LoadOptions()).fingerprint != model.fingerprint


def test_further_arguments_are_of_the_fingerprint_and_refused_where_unknown():
    request = Request("a nurse", 1, settings_of("ZImageModularPipeline"))
    model = load("ZImageModularPipeline", call={"max_sequence_length": 64})
    assert model.fingerprint != loaded("ZImageModularPipeline").fingerprint
    assert "max_sequence_length" in model.provenance["extra"]
    assert made(model, request)
    with pytest.raises(ConfigurationError, match="has no argument quality"):
        made(load("ZImageModularPipeline", call={"quality": "high"}), request)


def test_a_modular_folder_may_be_moved_and_its_parts_checked(tmp_path):
    import shutil

    from pytest_t2i.adapters.models import diffusers as adapter
    from pytest_t2i.errors import ModelLoadError

    folder = tiny.written(tiny_pipelines.PIPELINES["ZImageModularPipeline"].write)
    moved = Path(shutil.copytree(folder, tmp_path / "moved"))
    index = moved / "modular_model_index.json"
    index.write_text(index.read_text().replace(str(folder), "/written/elsewhere"))
    model = adapter.load(LoadOptions(source=str(moved), device="cpu"))
    assert made(model, Request("a nurse", 1, settings_of("ZImageModularPipeline")))
    (moved / "vae/diffusion_pytorch_model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(ModelLoadError, match="is damaged"):
        adapter.load(LoadOptions(source=str(moved), device="cpu"))


def classes_of_diffusers() -> list[str]:
    """Names of the classes that take a prompt and need nothing else."""
    needs("diffusers")
    import diffusers
    from diffusers.pipelines.auto_pipeline import AUTO_TEXT2IMAGE_PIPELINES_MAPPING

    names = {kind.__name__ for kind in AUTO_TEXT2IMAGE_PIPELINES_MAPPING.values()}
    for name in dir(diffusers):
        if name.endswith("Pipeline") and not hasattr(getattr(diffusers, name), "_backends"):
            kind = getattr(diffusers, name)
            if issubclass(kind, diffusers.ModularPipeline):
                blocks = getattr(diffusers, kind.default_blocks_name or "", lambda: None)()
                if blocks is not None and "prompt" in blocks.input_names:
                    names.add(name)
                continue
            parameters = inspect.signature(kind.__call__).parameters
            needed = {
                each.name
                for each in parameters.values()
                if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD
            }
            if "prompt" in parameters and needed <= {"self", "prompt"}:
                names.add(name)
    return sorted(names)


def rows_of_classes():
    """The rows of docs/classes.csv by class."""
    with (Path(__file__).parents[2] / "docs/classes.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        return {row["class"]: row for row in csv.DictReader(file)}


def test_every_class_of_diffusers_has_a_row():
    without = [name for name in classes_of_diffusers() if name not in rows_of_classes()]
    assert without == [], "run python docs/tools/write.py"


def test_most_classes_make_pictures():
    tested = {name for name, row in rows_of_classes().items() if row["tested"]}
    assert len(NAMES) >= 45
    assert set(NAMES) <= tested


def test_a_probe_names_a_guidance_without_effect():
    model = load("QwenImagePipeline")
    model._calls.pipeline.transformer.forward = lambda **kwargs: (kwargs["hidden_states"],)
    probe = probed(model, settings_of("QwenImagePipeline"))
    assert probe.guidance == 0
    assert probe.faults == ("guidance has no effect: pictures with another guidance are equal",)


@pytest.mark.parametrize("name", REWRITING)
def test_rewriting_keeps_the_revised_prompt_and_repeats(name):
    model, settings = loaded(name), settings_of(name)
    short, long = Request("a nurse", 1, settings), Request(LONGER, 2, settings)
    first, second = made(model, short, long)
    (again,) = made(model, short)
    assert first.revised_prompt not in {None, "a nurse"}
    assert first.revised_prompt == again.revised_prompt
    assert first.revised_prompt != second.revised_prompt
    assert difference(first, again) <= 1


@pytest.mark.parametrize("name", REWRITING)
def test_rewriting_is_switched_off(name):
    model, settings = load(name, rewrites=False), settings_of(name)
    (plain,) = made(model, Request("a nurse", 1, settings))
    assert plain.revised_prompt is None
    assert difference(plain, *made(loaded(name), Request("a nurse", 1, settings))) > 0
    assert model.fingerprint != loaded(name).fingerprint


def test_sana_instruction_is_switched_off():
    model, settings = load("SanaPipeline", rewrites=False), settings_of("SanaPipeline")
    request = Request("a nurse", 1, settings)
    assert difference(*made(model, request), *made(loaded("SanaPipeline"), request)) > 0


def test_parts_that_the_folder_lacks_are_given(tmp_path):
    from tiny_pipelines.flows import write_hidream, write_hidream_without_llama

    whole = tiny.written(write_hidream)
    parts = {name: str(whole / name) for name in ("text_encoder_4", "tokenizer_4")}
    name = "HiDreamImagePipeline"
    model = load(name, write=write_hidream_without_llama, parts=parts)
    request = Request("a nurse", 1, settings_of(name))
    assert difference(*made(model, request), *made(loaded(name), request)) <= 1


@pytest.mark.parametrize(
    ("name", "choices", "words"),
    [
        ("Kandinsky5T2IPipeline", {"width": 64}, "makes 32 x 32 pixels in place of 64 x 32"),
        ("HiDreamImagePipeline", {"width": 64, "height": 64}, "in place of 64 x 64"),
        ("Kandinsky3Pipeline", {"width": 32}, "makes 64 x 64 pixels in place of 32 x 64"),
        ("Ideogram4Pipeline", {"guidance": None}, "has guidance scales for 48 steps, got steps=2"),
        ("QwenImage21Pipeline", {"negative_prompt": "ugly"}, "ignores a negative prompt"),
        ("Flux2KleinKVPipeline", {"guidance": 2.0}, "has no argument guidance_scale"),
        ("UnCLIPPipeline", {"steps": 3}, "has no argument num_inference_steps"),
    ],
)
def test_a_setting_without_effect_is_refused(name, choices, words):
    with pytest.raises(ConfigurationError, match=words):
        made(loaded(name), Request("a nurse", 1, settings_of(name, **choices)))


def test_the_distilled_hunyuan_image_takes_guidance_as_an_input():
    from tiny_pipelines.diffusions import write_hunyuan_image_distilled

    name = "HunyuanImagePipeline"
    model = load(name, write=write_hunyuan_image_distilled)
    requests = [Request("a nurse", 1, settings_of(name, guidance=scale)) for scale in (1.5, 12.0)]
    assert difference(*made(model, *requests)) > 0


def test_guidance_reaches_the_guider_of_quoted_texts():
    name = "HunyuanImagePipeline"
    requests = [
        Request('a shop "Nurse"', 1, settings_of(name, guidance=scale)) for scale in (1.5, 12.0)
    ]
    assert difference(*made(loaded(name), *requests)) > 0
