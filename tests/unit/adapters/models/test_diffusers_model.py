"""The diffusers adapter on tiny pipelines of the true classes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tiny
import torch
from PIL import Image

from pytest_t2i.adapters.black_or_unreadable import is_black
from pytest_t2i.adapters.models import diffusers as adapter
from pytest_t2i.data import Generated, GenerationSettings, Request
from pytest_t2i.errors import ConfigurationError, GenerationError, OutOfDeviceMemoryError
from pytest_t2i.generation.batch_size import BatchSize
from pytest_t2i.generation.executors import InProcess
from pytest_t2i.protocols import LoadOptions, TextEmbedding, TextToImage

pytestmark = pytest.mark.slow

BOTH = frozenset({"final_latent", "text_embedding"})
FAMILIES = [pytest.param(family, id=family.name) for family in tiny.FAMILIES]


@cache
def model(write, **extra):
    return load(tiny.written(write), **extra)


def load(folder: Path, **options):
    return adapter.load(LoadOptions(source=str(folder), device="cpu", **options))


def settings(**given) -> GenerationSettings:
    return GenerationSettings(**{"steps": 2, "width": 32, "height": 32, **given})


def requests(n: int, given: GenerationSettings, observe=frozenset()) -> list[Request]:
    return [Request(f"a photo of a nurse {k % 3}", 100 + k, given, observe) for k in range(n)]


def pixels(generated: Generated) -> np.ndarray:
    return np.asarray(generated.image).astype(int)


def in_batches(tested, asked: Sequence[Request], size: int) -> list[Generated]:
    starts = range(0, len(asked), size)
    return [entry for start in starts for entry in tested.generate(asked[start : start + size])]


def guidance_of(family) -> float | None:
    return None if family.name == "flux" else 3.0


@pytest.mark.parametrize("family", FAMILIES)
def test_obeys_the_protocols(family):
    tested = model(family.write)
    assert isinstance(tested, TextToImage)
    assert isinstance(tested, TextEmbedding)


def is_strict() -> bool:
    """Whether MKL's products do not depend on the number of rows: on Intel's processors only."""
    has_avx512 = "AVX512" in torch.backends.cpu.get_cpu_capability()
    processor = Path("/proc/cpuinfo")
    is_intel = processor.exists() and "GenuineIntel" in processor.read_text(encoding="utf-8")
    return torch.backends.mkl.is_available() and has_avx512 and is_intel


@pytest.mark.parametrize("guided", [False, True], ids=["unguided", "guided"])
@pytest.mark.parametrize("family", FAMILIES)
def test_picture_does_not_depend_on_its_batch(family, guided):
    """Bit for bit where MKL can be strict with AVX-512; elsewhere 1 of 255 at most."""
    guidance = guidance_of(family) if guided else {"flux": None}.get(family.name, 1.0)
    asked = requests(16, settings(guidance=guidance))
    tested = model(family.write)
    alone = in_batches(tested, asked[:4], 1)
    threes, sixteen = in_batches(tested, asked[:4], 3), tested.generate(asked)
    largest = max(
        int(np.abs(pixels(a) - pixels(b)).max())
        for batched in (threes, sixteen)
        for a, b in zip(alone, batched, strict=False)
    )
    assert largest <= (0 if is_strict() else 1)
    assert np.ptp(pixels(alone[0])) > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_seed_and_prompt_change_the_picture_and_nothing_else_does(family):
    given = settings(guidance=guidance_of(family))
    a, b = Request("a nurse", 1, given), Request("a nurse", 2, given)
    c = Request("a pilot with a long red scarf", 1, given)
    first = model(family.write).generate([a, b, c])
    state = torch.random.get_rng_state()
    second = model(family.write).generate([c, a, b])
    assert torch.equal(state, torch.random.get_rng_state())
    assert [pixels(x).tolist() for x in first] == [pixels(second[k]).tolist() for k in (1, 2, 0)]
    observed = [Request(pair.prompt, pair.seed, given, BOTH) for pair in (a, b, c)]
    latents = [entry.trace.final_latent for entry in model(family.write).generate(observed)]
    assert not np.array_equal(latents[0], latents[1])
    assert not np.array_equal(latents[0], latents[2])


@pytest.mark.parametrize("family", FAMILIES)
def test_traces_have_the_declared_shapes(family):
    tested = model(family.write)
    observed, plain = tested.generate(
        [requests(1, settings(), BOTH)[0], requests(2, settings())[1]]
    )
    assert observed.trace.final_latent.shape == (family.latent_channels, 16, 16)
    assert observed.trace.final_latent.dtype == np.float32
    assert plain.trace.final_latent is None
    assert plain.trace.text_embedding is None
    (embedding,) = tested.embed_text([requests(1, settings())[0].prompt])
    assert embedding.dtype == np.float32
    np.testing.assert_array_equal(observed.trace.text_embedding, embedding)


def test_observing_does_not_change_the_picture():
    tested = model(tiny.write_flux)
    seen, unseen = (tested.generate(requests(2, settings(), o)) for o in (BOTH, frozenset()))
    assert [pixels(x).tolist() for x in seen] == [pixels(x).tolist() for x in unseen]


@pytest.mark.parametrize("write", [tiny.write_stable_diffusion, tiny.write_stable_diffusion_xl])
def test_embedding_has_one_row_per_token_without_padding(write):
    short, long = model(write).embed_text(["a nurse", "a nurse x"])
    assert len(short) == len("anurse") + 2  # tokens are characters; start and end tokens
    assert len(long) == len(short) + 1


def test_sd3_embedding_joins_both_encoders_and_leaves_an_absent_one_out():
    (with_t5,) = model(tiny.write_stable_diffusion_3).embed_text(["a nurse"])
    (without,) = load(tiny.written(tiny.write_stable_diffusion_3, t5=False)).embed_text(["a nurse"])
    assert len(without) == len("anurse") + 2
    assert len(with_t5) > len(without)


def test_final_latent_decodes_to_the_picture():
    tested = model(tiny.write_stable_diffusion)
    (made,) = tested.generate(requests(1, settings(guidance=3.0), BOTH))
    vae = tested.pipeline.vae
    with torch.no_grad():
        z0 = torch.from_numpy(made.trace.final_latent)[None] / vae.config.scaling_factor
        decoded = vae.decode(z0).sample
    again = tested.pipeline.image_processor.postprocess(decoded, output_type="pil")[0]
    assert np.abs(np.asarray(again).astype(int) - pixels(made)).max() <= 1


def test_each_text_is_encoded_once(monkeypatch):
    tested = load(tiny.written(tiny.write_stable_diffusion))
    encode = tested.pipeline.encode_prompt
    encoded: list[str] = []

    def counting(*args, **given):
        if given.get("prompt_embeds") is None:
            encoded.append(given["prompt"])
        return encode(*args, **given)

    monkeypatch.setattr(tested.pipeline, "encode_prompt", counting)
    in_batches(tested, requests(9, settings(guidance=3.0), BOTH), 4)
    assert sorted(encoded) == ["", *(f"a photo of a nurse {k}" for k in range(3))]


def test_settings_of_request_win_over_defaults_and_groups_keep_their_order():
    defaults = GenerationSettings(steps=2, width=32, height=32, guidance=3.0)
    tested = load(tiny.written(tiny.write_stable_diffusion), defaults=defaults)
    assert tested.resolve(GenerationSettings(steps=1)).steps == 1
    assert tested.resolve(GenerationSettings()).guidance == 3.0
    wide = GenerationSettings(width=48)
    mixed = [Request("x", k, wide if k % 2 else GenerationSettings()) for k in range(4)]
    assert [entry.image.size for entry in tested.generate(mixed)] == [(32, 32), (48, 32)] * 2
    whole = model(tiny.write_stable_diffusion).generate([Request("x", 0, defaults)])
    assert np.array_equal(pixels(tested.generate(mixed[:1])[0]), pixels(whole[0]))


def test_negative_prompt_changes_the_picture():
    tested = model(tiny.write_stable_diffusion)
    plain, negative = (
        tested.generate([Request("a nurse", 0, settings(guidance=7.0, steps=4, **given), BOTH)])[0]
        for given in ({}, {"negative_prompt": "blurry"})
    )
    assert not np.array_equal(plain.trace.final_latent, negative.trace.final_latent)


@pytest.mark.parametrize(
    ("write", "given", "said"),
    [
        (tiny.write_flux, {"negative_prompt": "ugly"}, "negative_prompt='ugly'"),
        (tiny.write_flux, {"guidance": 4.0}, "guidance=4.0 has no effect"),
        (tiny.write_stable_diffusion, {"width": 33}, "multiple of 2"),
        (tiny.write_stable_diffusion_3, {"height": 34}, "multiple of 4"),
        (tiny.write_stable_diffusion, {"steps": 0}, "steps=0"),
    ],
)
def test_what_a_pipeline_cannot_do_is_refused(write, given, said):
    with pytest.raises(ConfigurationError, match=said):
        model(write).generate(requests(1, settings(**given)))


def test_unknown_argument_is_refused():
    tested = load(tiny.written(tiny.write_stable_diffusion), extra={"call": {"no_such": 1}})
    with pytest.raises(ConfigurationError, match="has no argument no_such"):
        tested.generate(requests(1, settings()))


@pytest.mark.parametrize(
    "text", ["CUDA out of memory. Tried", "MPS backend out of memory", "can't allocate memory: x"]
)
def test_out_of_memory_has_its_own_error(monkeypatch, text):
    def fail(*_args, **_given):
        raise RuntimeError(text)

    tested = load(tiny.written(tiny.write_stable_diffusion))
    monkeypatch.setattr(tested.pipeline.unet, "forward", fail)
    with pytest.raises(OutOfDeviceMemoryError, match="making 2 pictures"):
        tested.generate(requests(2, settings()))


def test_other_failures_name_the_pipeline_and_the_prompt(monkeypatch):
    def fail(*_args, **_given):
        raise RuntimeError("broken")

    tested = load(tiny.written(tiny.write_stable_diffusion))
    monkeypatch.setattr(tested.pipeline.unet, "forward", fail)
    with pytest.raises(GenerationError, match=r"StableDiffusionPipeline .* 'a photo.*broken"):
        tested.generate(requests(1, settings()))


def test_blackened_picture_is_kept_with_its_refusal(monkeypatch):
    tested = load(tiny.written(tiny.write_stable_diffusion))
    black = SimpleNamespace(
        images=[Image.new("RGB", (8, 8)), Image.new("RGB", (8, 8), "red")],
        nsfw_content_detected=[True, False],
    )
    monkeypatch.setattr(tested, "_run", lambda *_: black)
    first, second = tested.generate(requests(2, settings()))
    assert "safety checker" in first.refusal
    assert is_black(first.image)
    assert second.refusal is None


def test_fingerprint_names_what_changes_pictures():
    folder = tiny.written(tiny.write_stable_diffusion)
    base = model(tiny.write_stable_diffusion)
    others = [
        load(tiny.written(tiny.write_stable_diffusion, 1)),
        load(folder, extra={"scheduler": "EulerDiscreteScheduler"}),
        load(folder, dtype="bfloat16"),
        load(folder, defaults=GenerationSettings(steps=3)),
        load(folder, extra={"call": {"clip_skip": 1}}),
    ]
    assert load(folder).fingerprint == base.fingerprint
    assert len({pair.fingerprint for pair in [base, *others]}) == len(others) + 1
    assert base.provenance["pipeline"] == "StableDiffusionPipeline"
    assert all(isinstance(value, str) for value in base.provenance.values())


def test_scheduler_override_is_used():
    folder = tiny.written(tiny.write_stable_diffusion)
    tested = load(folder, extra={"scheduler": "DPMSolverMultistepScheduler"})
    assert type(tested.pipeline.scheduler).__name__ == "DPMSolverMultistepScheduler"
    assert tested.generate(requests(1, settings(steps=3)))[0].image.size == (32, 32)


def test_pipeline_of_an_unknown_family_gets_prompts(monkeypatch):
    known = model(tiny.write_stable_diffusion)  # before: models are shared
    monkeypatch.setattr(adapter, "family_of", lambda _: None)
    tested = load(tiny.written(tiny.write_stable_diffusion))
    asked = requests(2, settings(guidance=3.0, negative_prompt="blurry"))
    for a, b in zip(tested.generate(asked), known.generate(asked), strict=True):
        assert np.abs(pixels(a) - pixels(b)).max() <= 1
    with pytest.raises(ConfigurationError, match="cannot be observed"):
        tested.embed_text(["x"])


@pytest.mark.parametrize("family", FAMILIES)
def test_pictures_of_lanes_are_those_of_one_thread(family):
    """Threads that share the weights, each with a scheduler of its own, mix nothing up."""
    tested = load(tiny.written(family.write))
    asked = requests(24, settings(guidance=guidance_of(family), steps=3), BOTH)
    expected = {r.seed: g for r, g in zip(asked, in_batches(tested, asked, 4), strict=True)}
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        running = InProcess("tiny", lambda: tested, BatchSize(12), print)
        made = {request.seed: generated for request, generated in running.run(iter(asked))}
        assert len(running._lanes[0].models) == 3
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert made.keys() == expected.keys()
    worst = max(np.abs(pixels(made[k]) - pixels(expected[k])).max() for k in made)
    assert worst == 0 if is_strict() and before == 1 else worst <= 1
    for seed, generated in made.items():
        latent = expected[seed].trace.final_latent
        # Sums of three steps may round otherwise; another request's latent is a whole scale away.
        rounding = 1e-3 * np.abs(latent).max()
        np.testing.assert_allclose(generated.trace.final_latent, latent, rtol=0, atol=rounding)


def test_a_lane_that_is_stopped_ends_after_its_step():
    tested = load(tiny.written(tiny.FAMILIES[0].write))
    steps = []

    def stop_at_second(module, arguments):
        steps.append(1)
        if len(steps) == 2:
            tested.stop()

    hook = tested.pipeline.unet.register_forward_pre_hook(stop_at_second)
    tested.generate(requests(2, settings(steps=20, guidance=1.0)))
    hook.remove()
    assert len(steps) == 2


def test_what_watches_the_network_is_made_alone():
    tested = model(tiny.FAMILIES[0].write)
    plain, *watched = (
        Request("a", 0, observe=frozenset(names))
        for names in (BOTH, {"attention"}, {"velocity"}, {"final_latent", "foreseen"})
    )
    assert not tested.needs_all(plain)
    assert all(map(tested.needs_all, watched))
