"""Origins: faces made level, clusters, prompts by beam search, the order of clusters."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw

from pytest_t2i.adapters.finders.aligned import aligned, aligned_faces
from pytest_t2i.adapters.support.clustering import affinities, by_eigengap, spectral_clusters
from pytest_t2i.audits.origins import (
    Search,
    clusters_of,
    nearness,
    optimised_prompts,
    unit_rows,
)
from pytest_t2i.data import Attribute, Box, Prompt
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.prompts import Stereotype

WORDS = ("hat", "beard", "cup", "nurse", "old", "park")


class Words:
    """A language model that offers every word; counts how often it is asked."""

    def __init__(self, words=WORDS):
        self.words, self.asked = words, 0

    def next_tokens(self, texts, count):
        self.asked += 1
        return [[f"{text} {word}" for word in self.words[:count]] for text in texts]


class BagOfWords:
    """Features of texts: which words stand in them."""

    def __init__(self):
        self.calls = 0

    def encode_text(self, texts):
        self.calls += 1
        return np.array([[0.1 + (word in text.split()) for word in WORDS] for text in texts])


def features(*rows):
    return unit_rows(np.array([[0.1 + (word in row) for word in WORDS] for row in rows]))


def groups(counts, seed=0, d=6):
    """Unit rows around as many axes as there are counts."""
    rng = np.random.default_rng(seed)
    rows = [np.eye(d)[k] + 0.12 * rng.normal(size=(n, d)) for k, n in enumerate(counts)]
    return unit_rows(np.concatenate(rows))


@pytest.mark.parametrize("counts", [(12, 12), (10, 8, 12), (8, 8, 8, 8)])
def test_as_many_clusters_as_there_are_groups(counts):
    rows = groups(counts)
    assert by_eigengap(affinities(rows)) == len(counts)
    labels = spectral_clusters(rows, None, seed=0)
    found = [set(part.tolist()) for part in np.split(labels, np.cumsum(counts)[:-1])]
    assert all(len(part) == 1 for part in found)
    assert len(set.union(*found)) == len(counts)
    assert np.array_equal(labels, spectral_clusters(rows, None, seed=0))


def test_a_number_of_clusters_that_is_given():
    rows = groups((8, 8))
    assert set(spectral_clusters(rows, 3, seed=0).tolist()) == {0, 1, 2}
    assert set(spectral_clusters(rows, 1, seed=0).tolist()) == {0}
    for few, count in ((3, None), (5, 6)):
        with pytest.raises(ConfigurationError, match=f"{few} images with a face are too few"):
            spectral_clusters(rows[:few], count, seed=0)


def test_beam_search_finds_what_an_exhaustive_one_does():
    images = features({"hat", "old"}, {"hat", "old", "beard"}, {"hat", "old"})
    language, encoder = Words(), BagOfWords()
    found = optimised_prompts(language, encoder, images, Search(tokens=2, beam=6, top=4))
    assert set(found[0].text.split()[-2:]) == {"hat", "old"}
    every = [f"This is a photo of {a} {b}" for a in WORDS for b in WORDS]
    scores = unit_rows(BagOfWords().encode_text(every)) @ images.T
    assert found[0].similarity == pytest.approx(scores.mean(axis=1).max())
    assert [one.similarity for one in found] == sorted(
        (one.similarity for one in found), reverse=True
    )
    # All candidates of a token go through at once.
    assert (language.asked, encoder.calls) == (2, 2)


def test_a_language_model_without_readable_tokens():
    with pytest.raises(ConfigurationError, match="offers no readable token"):
        optimised_prompts(Words(()), BagOfWords(), features({"hat"}), Search())


def test_the_cluster_furthest_from_the_world_comes_first():
    rows = features(*[{"hat"}] * 6, *[{"cup"}] * 10)
    labels = np.repeat([0, 1], [6, 10])
    prompt = Prompt("p", "nationality", "Martian")
    hat = Stereotype(prompt, Attribute("hat", "hat", "cup"), 0.1)
    first, second = clusters_of(labels, rows, BagOfWords(), [hat], 0.95)
    assert (len(first.members), first.excess) == (6, pytest.approx(0.9))
    assert first.shares["hat"].estimate == 1.0
    assert (len(second.members), second.excess) == (10, 0.0)
    assert first.share.estimate == pytest.approx(6 / 16)
    largest, _ = clusters_of(labels, rows, BagOfWords(), [], 0.95)
    assert (len(largest.members), largest.excess) == (10, None)


def test_nearness():
    cluster = features({"hat"}, {"hat"})
    near, far = features({"hat"}, {"hat"}, {"hat", "old"}), features({"cup"}, {"park"}, {"cup"})
    of_near, of_far = (nearness(rows, cluster, 0.95, 0) for rows in (near, far))
    assert of_near.estimate > of_far.high
    assert of_near.n == 3
    assert nearness(near[:1], cluster, 0.95, 0) is None


class Eyes:
    """A finder that knows where the eyes are."""

    fingerprint = "eyes"

    def faces(self, images):
        points = ((60.0, 60.0), (40.0, 40.0))
        found = Box(30, 30, 70, 70, landmarks=points)
        return [[found] if image.getpixel((60, 60)) != (0, 0, 0) else [] for image in images]


def test_faces_are_turned_level():
    picture = Image.new("RGB", (100, 100))
    draw = ImageDraw.Draw(picture)
    for x, y in ((40, 40), (60, 60)):
        draw.ellipse((x - 4, y - 4, x + 4, y + 4), fill="white")
    face, none = aligned_faces(Eyes(), [picture, Image.new("RGB", (100, 100))])
    assert none is None
    rows, columns = np.nonzero(np.asarray(face.convert("L")) > 128)
    left = rows[columns < columns.mean()].mean()
    right = rows[columns > columns.mean()].mean()
    assert abs(left - right) < 2
    plain = aligned(picture, Box(30, 30, 70, 70))
    rows, columns = np.nonzero(np.asarray(plain.convert("L")) > 128)
    assert rows[columns > columns.mean()].mean() - rows[columns < columns.mean()].mean() > 20
