"""The whole way with pipelines of the true classes: tiny random weights, loaded as SDXL is."""

from __future__ import annotations

import huggingface_hub
import pytest
import tiny
import torch

pytestmark = pytest.mark.slow
USAGE = pytest.ExitCode.USAGE_ERROR
SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"), images=2)
@pytest.mark.parametrize("space", ["prompt", "denoising", "image", "ssim"])
def test_gap(triplets, space):
    assert abs(triplets.similarity_gap(space)) <= limit("similarity_gap", 2)

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"))
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score.own", 1)
"""


WRITERS = {
    "stable-diffusion": tiny.write_stable_diffusion,
    "stable-diffusion-xl": tiny.write_stable_diffusion_xl,
    "stable-diffusion-3": tiny.write_stable_diffusion_3,
    "flux": tiny.write_flux,
}


@pytest.mark.parametrize("family", WRITERS)
def test_every_family_goes_the_whole_way(project, family):
    pipeline, clip = tiny.written(WRITERS[family]), tiny.written(tiny.write_clip)
    (project.path / "conftest.py").unlink()
    project.write({"test_suite.py": SUITE})
    arguments = ("--t2i-model", str(pipeline), "--t2i-steps", "2", "--t2i-size", "32",
                 "--t2i-images", "3", "--t2i-detector", f"clip:{clip}")  # fmt: skip
    result = project.run(*arguments)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["images: 14 made*"])
    again = project.run(*arguments)
    again.stdout.fnmatch_lines(["images: 0 made, 14 from the store"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--t2i-model", "owner/name"), "HF_HUB_OFFLINE"),
        (("--t2i-model", "fair", "--t2i-detector", "clip:owner/name"), "HF_HUB_OFFLINE"),
        (("--t2i-model", "{pipeline}", "--t2i-device", "cuda"), "cuda"),
        (("--t2i-model", "{pipeline}", "--t2i-device", "gpu"), "gpu"),
        (("--t2i-model", "{empty}"), "model_index.json"),
    ],
)
def test_weights_and_devices_that_are_not_there(project, monkeypatch, arguments, expected):
    if "cuda" in arguments and torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    (project.path / "empty").mkdir()
    places = {
        "pipeline": tiny.written(tiny.write_stable_diffusion), "empty": project.path / "empty",
    }  # fmt: skip
    result = project.run(*(part.format(**places) for part in arguments), "-k", "nurse")
    told = " ".join((result.stderr.str() + result.stdout.str()).split())
    assert result.ret == USAGE, told
    assert expected in told
    assert "Traceback" not in told
    assert project.made() == []
