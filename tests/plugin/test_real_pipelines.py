"""The whole way with pipelines of the true classes: tiny random weights, loaded as SDXL is."""

from __future__ import annotations

import pytest
import tiny

SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"), images=2)
@pytest.mark.parametrize("space", ["prompt", "denoising", "image", "ssim"])
def test_gap(triplets, space):
    assert abs(triplets.similarity_gap(space)) <= limit("similarity_gap", 2)

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"))
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score", 1)
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
    (project.path / "test_suite.py").write_text(SUITE)
    arguments = ("--t2i-model", str(pipeline), "--t2i-steps", "2", "--t2i-size", "32",
                 "--t2i-images", "3")  # fmt: skip
    result = project.pytester.runpytest_subprocess(*arguments, "--t2i-detector", f"clip:{clip}")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["images: 14 made*"])
    again = project.pytester.runpytest_subprocess(*arguments, "--t2i-detector", f"clip:{clip}")
    again.stdout.fnmatch_lines(["images: 0 made, 14 from the store"])
