"""What the Protocols ask for: pictures by request alone, a label or a reason."""

import pytest
from PIL import Image
from t2i_painted import catalogue, detector, model

from pytest_t2i import Detector, LoadOptions, Request, T2IError, TextToImage, Undetected


def load(kind):
    return model.load(LoadOptions(source=kind))


def test_both_obey_their_protocols():
    assert isinstance(load("balanced"), TextToImage)
    assert isinstance(detector.load(LoadOptions()), Detector)
    assert catalogue().is_file()


def test_a_picture_depends_on_its_request_alone():
    requests = [Request("a photo of a nurse", seed) for seed in range(8)]
    together = [made.image.tobytes() for made in load("balanced").generate(requests)]
    alone = [
        load("balanced").generate([request])[0].image.tobytes() for request in reversed(requests)
    ]
    assert together == alone[::-1]


@pytest.mark.parametrize(("kind", "least", "most"), [("balanced", 0.4, 0.6), ("biased", 0.8, 1.0)])
def test_the_detector_sees_the_planted_share(kind, least, most):
    requests = [Request("a photo of a nurse", seed) for seed in range(400)]
    said = detector.Figures().detect([made.image for made in load(kind).generate(requests)])
    assert least < sum(entry.label == "male" for entry in said) / len(said) < most


def test_an_empty_wall_is_nobody():
    (said,) = detector.Figures().detect([Image.new("RGB", (64, 64), "grey")])
    assert said.undetected is Undetected.NO_PERSON


def test_an_unknown_kind_is_told():
    with pytest.raises(T2IError, match="balanced or biased"):
        load("other")
