"""LPIPS as an encoder, held against its authors' library; AlexNet has random weights here."""

from __future__ import annotations

import sys

import numpy as np
import pytest

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch")
lpips = pytest.importorskip("lpips")
models = pytest.importorskip("torchvision").models

from PIL import Image
from pytest_t2i import Encoder, LoadOptions, T2IError, load_encoder

from pytest_t2i_mitigation import perceptual

WEIGHTS = models.AlexNet_Weights.DEFAULT.url.rpartition("/")[2]


@pytest.fixture
def trunk(tmp_path, monkeypatch):
    """AlexNet's weights where torchvision keeps them."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    torch.hub.set_dir(str(tmp_path / "hub"))
    torch.manual_seed(7)
    network = models.alexnet(weights=None)
    file = tmp_path / "hub" / "checkpoints" / WEIGHTS
    file.parent.mkdir(parents=True)
    torch.save(network.state_dict(), file)
    yield network.features
    torch.hub._hub_dir = None


def picture(seed: int, size: tuple[int, int] = (64, 80)) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 256, (*reversed(size), 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def theirs(trunk, first, second) -> float:
    """Of the library, whose layers are put there by hand."""
    network = lpips.LPIPS(net="alex", pnet_rand=True, verbose=False)
    for part in network.net.children():
        for name, layer in part.named_children():
            layer.load_state_dict(trunk[int(name)].state_dict())
    tensors = [
        torch.from_numpy(np.asarray(image, np.float32) / 127.5 - 1).permute(2, 0, 1)[None]
        for image in (first, second)
    ]
    with torch.inference_mode():
        return float(network(*tensors))


@pytest.mark.filterwarnings("ignore:.*deprecated since 0.13:UserWarning")
def test_the_square_of_the_distance_is_lpips(trunk):
    encoder = load_encoder("lpips", LoadOptions())
    assert isinstance(encoder, Encoder)
    assert encoder.squared
    first, second = picture(1), picture(2)
    a, b = encoder.encode([first, second])
    assert a.dtype == np.float32
    assert float(((a - b) ** 2).sum()) == pytest.approx(theirs(trunk, first, second), rel=1e-4)
    assert float(((a - b) ** 2).sum()) > 0.01


def test_large_pictures_are_reduced_first(trunk):
    encoder = perceptual.load(LoadOptions())
    large = encoder.encode([picture(1, (512, 600))])
    small = encoder.encode([picture(1, (256, 300))])
    assert large.shape == small.shape
    assert encoder.encode([]).shape == (0, 0)


def test_other_weights_are_another_fingerprint(trunk):
    before = perceptual.load(LoadOptions())
    assert perceptual.load(LoadOptions()).fingerprint == before.fingerprint
    assert before.fingerprint in before.provenance["weights"]
    file = torch.hub.get_dir() + "/checkpoints/" + WEIGHTS
    torch.save(models.alexnet(weights=None).state_dict(), file)
    assert perceptual.load(LoadOptions()).fingerprint != before.fingerprint


def test_absent_weights_are_one_line_and_nothing_is_fetched(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    monkeypatch.setattr(torch.hub, "load_state_dict_from_url", lambda *_, **__: 1 / 0)
    with pytest.raises(T2IError, match=r"needs the weights of AlexNet .* download them") as caught:
        perceptual.load(LoadOptions())
    assert "\n" not in str(caught.value)


def test_an_absent_library_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "lpips", None)
    with pytest.raises(T2IError, match=r'pip install "pytest-t2i-mitigation\[lpips\]"'):
        perceptual.load(LoadOptions())


def test_nothing_is_named_behind_it():
    with pytest.raises(T2IError, match="expected no name after lpips, got 'vgg'"):
        perceptual.load(LoadOptions(source="vgg"))
