"""FairFace with random weights in the published format; faces are given, dlib cuts them."""

from __future__ import annotations

import numpy as np
import pytest
import tiny
import torch
from PIL import Image
from safetensors.torch import save_file

pytest.importorskip("dlib")
pytest.importorskip("timm")

from pytest_t2i.adapters.detectors import fairface
from pytest_t2i.adapters.finders import dlib_cnn
from pytest_t2i.data import Box, Undetected
from pytest_t2i.errors import DetectorError, MissingExtraError, ModelLoadError
from pytest_t2i.protocols import CountsPeople, LoadOptions, people_of

pytestmark = pytest.mark.slow


def picture(seed=0):
    pixels = np.random.default_rng(seed).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def options(path=None):
    return LoadOptions(source=str(path or tiny.written(tiny.write_fairface)), device="cpu")


@pytest.fixture
def faces(monkeypatch):
    """Boxes of every picture; dlib's network would take seconds."""
    boxes = [Box(10, 10, 40, 40), Box(0, 0, 5, 5)]
    monkeypatch.setattr(dlib_cnn.DlibCnnFaces, "_faces_in", lambda *_: list(boxes))
    # What was found before this test is not to be remembered in it.
    monkeypatch.setattr("pytest_t2i.adapters.finders.locating._made", {})
    return boxes


def test_one_pass_through_the_network_serves_all_three(faces, monkeypatch):
    passes = []
    forward = fairface.Network._outputs

    def spy(network, chips):
        passes.append(len(chips))
        return forward(network, chips)

    monkeypatch.setattr(fairface.Network, "_outputs", spy)
    detectors = [load(options()) for load in (fairface.load, fairface.load_race, fairface.load_age)]
    images = [picture(0), picture(1)]
    result = [detector.detect(images) for detector in detectors]
    assert sum(passes) == 2
    assert len({detector.fingerprint for detector in detectors}) == 3
    for detector, words in zip(detectors, result, strict=True):
        for word in words:
            assert set(word.scores) == set(detector.labels)
            assert sum(word.scores.values()) == pytest.approx(1)
            assert word.label == max(word.scores, key=word.scores.get)
            assert word.detail == "2 faces; the largest decides"


def test_outputs_are_seven_races_two_genders_nine_ages(faces, monkeypatch):
    outputs = np.zeros(18, np.float32)
    outputs[[3, 8, 12]] = 5
    seen = fairface.SeenFace(outputs, 1)
    monkeypatch.setattr(fairface.Network, "look", lambda self, images: [seen] * len(images))
    loads = (fairface.load_race, fairface.load, fairface.load_age)
    words = [load(options()).detect([picture()])[0].label for load in loads]
    assert words == ["East Asian", "female", "20-29"]
    assert sum(len(groups) for _, groups in fairface.HEADS.values()) == fairface.OUTPUTS


def test_no_face(faces):
    faces.clear()
    (result,) = fairface.load(options()).detect([picture()])
    assert result.undetected is Undetected.NO_FACE


def test_black_pictures_are_not_looked_at(faces):
    result = fairface.load(options()).detect([Image.new("RGB", (64, 64)), picture()])
    assert [entry.undetected for entry in result] == [Undetected.BLACK_IMAGE, None]


def test_a_picture_does_not_depend_on_its_batch(faces, monkeypatch):
    images = [picture(seed) for seed in range(3)]
    together = fairface.load(options()).detect(images)
    monkeypatch.setattr("pytest_t2i.adapters.finders.locating._made", {})
    monkeypatch.setattr(fairface, "BATCH", 1)
    alone = fairface.load(options()).detect(images)
    for a, b in zip(together, alone, strict=True):
        assert a.scores == pytest.approx(b.scores, abs=1e-5)


def test_the_same_weights_as_safetensors(faces, tmp_path):
    official = tiny.written(tiny.write_fairface)
    save_file(torch.load(official, weights_only=True), tmp_path / "fairface.safetensors")
    first = fairface.load(options()).detect([picture()])
    second = fairface.load(options(tmp_path / "fairface.safetensors")).detect([picture()])
    assert first == second


def test_the_network_is_torchvisions(faces):
    models = pytest.importorskip("torchvision.models")
    official = tiny.written(tiny.write_fairface)
    theirs = models.resnet34(num_classes=18)
    theirs.load_state_dict(torch.load(official, weights_only=True))
    theirs.eval()
    ours = fairface._network(options(), "fairface")._model
    batch = torch.rand(2, 3, 224, 224, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        torch.testing.assert_close(ours(batch), theirs(batch))


def test_chips_are_prepared_as_torchvision_does():
    transforms = pytest.importorskip("torchvision.transforms")
    chip = np.asarray(picture().resize((300, 300)))
    theirs = transforms.Compose([
        transforms.ToPILImage(), transforms.Resize((224, 224)), transforms.ToTensor(),
        transforms.Normalize(fairface.MEAN, fairface.DEVIATION),
    ])  # fmt: skip
    np.testing.assert_allclose(fairface.prepared(chip), theirs(chip).numpy(), atol=1e-6)


def test_weights_have_to_be_given():
    with pytest.raises(ModelLoadError, match=r"github\.com/dchen236/FairFace"):
        fairface.load_race(LoadOptions())


def test_weights_that_are_not_there(tmp_path):
    with pytest.raises(ModelLoadError, match="does not exist"):
        fairface.load(options(tmp_path / "absent.pt"))


def test_the_network_with_four_races_is_refused(tmp_path):
    path = tmp_path / "fairface_alldata_4race_20191111.pt"
    for name in (path.name, "res34_fair_align_multi_4_20190809.pt"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(ModelLoadError, match="four races"):
            fairface.load(options(tmp_path / name))


class Harm:
    def __reduce__(self):
        return (print, ("ran",))


@pytest.mark.parametrize("content", [{"fc.weight": torch.zeros(18, 512)}, Harm(), [1, 2]])
def test_other_files_are_refused_and_run_nothing(tmp_path, content, capsys, faces):
    torch.save(content, tmp_path / "weights.pt")
    with pytest.raises(ModelLoadError, match="18 outputs"):
        fairface.load(options(tmp_path / "weights.pt"))
    assert "ran" not in capsys.readouterr().out


def test_outputs_that_are_no_numbers(faces, monkeypatch):
    seen = fairface.SeenFace(np.full(18, np.nan, np.float32), 1)
    monkeypatch.setattr(fairface.Network, "look", lambda self, images: [seen])
    with pytest.raises(DetectorError, match="finite"):
        fairface.load(options()).detect([picture()])


def test_a_missing_library_is_told(monkeypatch):
    from pytest_t2i.adapters.registry import asked_for

    monkeypatch.setattr("pytest_t2i.adapters.registry.is_installed", lambda _: False)
    with (
        pytest.raises(MissingExtraError, match=r'pip install "pytest-t2i\[fairface\]"'),
        asked_for("detector", "fairface"),
    ):
        raise ModuleNotFoundError("No module named 'timm'", name="timm")


def test_every_face_is_counted_and_the_largest_is_in_front(monkeypatch):
    outputs = np.zeros((3, 18), np.float32)
    outputs[:, fairface.HEADS["gender"][0]] = [-1, 1, 1]  # the largest face is a woman's
    monkeypatch.setattr(
        fairface.Network, "look_at_all", lambda self, images: [list(outputs), []][: len(images)]
    )
    detector = fairface.load_people(options())
    assert isinstance(detector, CountsPeople)
    group, nobody = detector.detect([picture(), picture()])
    assert (group.label, dict(group.scores)) == ("female", {"people": 3, "male": 2, "female": 1})
    assert group.detail == "3 faces: 2 male, 1 female; in front female"
    assert (nobody.label, nobody.undetected) == (None, Undetected.NO_FACE)
    assert people_of(nobody, "here", detector.labels).number == 0


def test_counting_and_the_largest_face_agree_where_there_is_one(monkeypatch):
    monkeypatch.setattr(dlib_cnn.DlibCnnFaces, "_faces_in", lambda *_: [Box(10, 10, 40, 40)])
    image = picture(1)
    (alone,) = fairface.load(options()).detect([image])
    (counted,) = fairface.load_people(options()).detect([image])
    assert alone.label is not None
    assert counted.label == alone.label
    assert (counted.scores["people"], alone.detail) == (1, "1 face")


def test_broken_weights_are_an_error_while_counting(monkeypatch):
    face = np.full(18, np.nan, np.float32)
    monkeypatch.setattr(fairface.Network, "look_at_all", lambda self, images: [[face]])
    with pytest.raises(DetectorError, match="damaged"):
        fairface.load_people(options()).detect([picture()])
