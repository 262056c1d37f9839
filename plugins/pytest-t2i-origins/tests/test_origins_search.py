"""Origins: faces made level, clusters, prompts by beam search, the order of clusters."""

from __future__ import annotations

import fakes
import numpy as np
import pytest
from PIL import Image, ImageDraw
from pytest_t2i.data import Attribute, Box, NextToken, Prompt
from pytest_t2i.errors import T2IError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.store import Store
from pytest_t2i.library import workbench
from pytest_t2i.library.workbench import Workbench
from pytest_t2i.prompts import Stereotype
from pytest_t2i.settings import settings_of

from pytest_t2i_origins.origins.aligned import aligned, aligned_faces
from pytest_t2i_origins.origins.clustering import affinities, by_eigengap, spectral_clusters
from pytest_t2i_origins.origins.measure import clusters_of, nearness, presence_of, shown_attributes
from pytest_t2i_origins.origins.optimised_prompts import (
    Search,
    chosen_search,
    optimised_prompts,
    unit_rows,
)
from pytest_t2i_origins.origins.origins_of_images import OriginParts
from pytest_t2i_origins.origins.search import OriginsSearch

WORDS = ("hat", "beard", "cup", "nurse", "old", "park")


class Words:
    """A language model that offers every word; counts how often it is asked."""

    def __init__(self, words=WORDS):
        self.words, self.asked = words, 0

    def next_tokens(self, texts, count):
        self.asked += 1
        told = 1 / max(1, len(self.words))
        return [
            [NextToken(f"{text} {word}", told) for word in self.words[:count]] for text in texts
        ]


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
    for few, count in ((3, None), (5, 6), (5, 5)):
        with pytest.raises(T2IError, match=f"{few} images with a face: too few for"):
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
    with pytest.raises(T2IError, match="offers no readable token"):
        optimised_prompts(Words(()), BagOfWords(), features({"hat"}), Search())


FOLLOWING = {
    "of": [("a", 0.9), ("cup", 0.06), ("park", 0.04)],
    "a": [("nurse", 0.6), ("hat", 0.4)],
    "nurse": [("", 0.5), ("old", 0.5)],
    "hat": [("on", 0.97), ("", 0.03)],
    "on": [("beard.", 1.0)],
    "park": [("hat", 1.0)],
}
"""Word -> what may follow it, with its probability; "" ends the text."""


class Grammar:
    """A language model of few sentences; ends them by a token of its own or by a full stop."""

    def next_tokens(self, texts, count):
        return [
            [
                NextToken(f"{text} {word}" if word else text, told)
                for word, told in FOLLOWING.get(text.split()[-1], ())[:count]
            ]
            for text in texts
        ]


@pytest.mark.parametrize(
    ("tokens", "likely", "expected"),
    [
        (4, 0.05, {"a nurse", "a hat on beard."}),
        (4, 0.0, {"a nurse", "a hat", "a hat on beard.", "park hat", "park hat on beard."}),
        (2, 0.05, {"a nurse"}),
    ],
)
def test_sentences_end_where_the_language_model_may_end(tokens, likely, expected):
    search = chosen_search(sentences=True, tokens=tokens, likely=likely)
    found = optimised_prompts(Grammar(), BagOfWords(), features({"hat", "beard"}), search)
    assert {one.text.removeprefix("This is a photo of ") for one in found} == expected
    near = [one.similarity for one in found]
    assert near == sorted(near, reverse=True)


def test_without_sentences_an_end_is_no_token():
    found = optimised_prompts(Grammar(), BagOfWords(), features({"hat"}), Search(tokens=3))
    assert {one.text.removeprefix("This is a photo of ") for one in found} == {
        *("a nurse old", "a hat on", "park hat on")
    }


def test_unlikely_tokens_are_not_tried():
    search = Search(tokens=1, likely=0.05)
    found = optimised_prompts(Grammar(), BagOfWords(), features({"cup"}), search)
    assert {one.text.split()[-1] for one in found} == {"a", "cup"}


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (chosen_search(sentences=True, tokens=1), r"ends no sentence within 1 .*tokens"),
        (Search(likely=0.95), r"offers no \(at 0.95 or more\) likely readable token"),
    ],
    ids=["never ends", "too likely"],
)
def test_a_language_model_without_sentences(search, message):
    with pytest.raises(T2IError, match=message):
        optimised_prompts(Grammar(), BagOfWords(), features({"hat"}), search)


@pytest.mark.parametrize("name", ["tokens", "beam", "width", "top"])
@pytest.mark.parametrize("count", [0, -3, "two", 1.5])
def test_numbers_of_a_search(name, count):
    with pytest.raises(T2IError, match=f"{name} is a whole number from 1 on, got"):
        Search(**{name: count})


def test_no_mean_cosine_lies_beyond_1():
    of_two = nearness(features({"hat"}, {"cup"}), features({"hat"}, {"old"}), 0.95)
    assert -1.0 <= of_two.low <= of_two.estimate <= of_two.high <= 1.0
    assert of_two.high == 1.0


@pytest.mark.parametrize("likely", [-0.1, 1.0, float("nan")])
def test_a_likelihood_that_is_none(likely):
    with pytest.raises(T2IError, match="likely is a probability"):
        Search(likely=likely)


@pytest.mark.parametrize(
    ("expected", "direction", "beyond"),
    [(0.1, "over", True), (0.4, "over", False), (0.9, "under", True), (0.4, "under", False)],
)
def test_attributes_of_all_images_beside_the_real_world(expected, direction, beyond):
    rows = features(*[{"hat"}] * 6, *[{"cup"}] * 10)
    hat = Stereotype(
        Prompt("p", "nationality", "Martian"), Attribute("hat", "hat", "cup"), expected,
        direction=direction,
    )  # fmt: skip
    (known,) = shown_attributes(presence_of(rows, BagOfWords(), [hat]), [hat], 0.95)
    assert (known.name, known.expected, known.beyond) == ("hat", expected, beyond)
    assert known.share.estimate == pytest.approx(6 / 16)


def test_the_cluster_furthest_from_the_world_comes_first():
    rows = features(*[{"hat"}] * 6, *[{"cup"}] * 10)
    labels = np.repeat([0, 1], [6, 10])
    prompt = Prompt("p", "nationality", "Martian")
    hat = Stereotype(prompt, Attribute("hat", "hat", "cup"), 0.1)
    first, second = clusters_of(labels, presence_of(rows, BagOfWords(), [hat]), [hat], 0.95)
    assert (len(first.members), first.excess) == (6, pytest.approx(0.9))
    assert first.shares["hat"].estimate == 1.0
    assert (len(second.members), second.excess) == (10, 0.0)
    assert first.share.estimate == pytest.approx(6 / 16)
    largest, _ = clusters_of(labels, {}, [], 0.95)
    assert (len(largest.members), largest.excess) == (10, None)


def test_nearness():
    cluster = features({"hat"}, {"hat"})
    near, far = features({"hat"}, {"hat"}, {"hat", "old"}), features({"cup"}, {"park"}, {"cup"})
    of_near, of_far = (nearness(rows, cluster, 0.95) for rows in (near, far))
    assert of_near.estimate > of_far.high
    assert of_near.n == 3
    assert nearness(near[:1], cluster, 0.95) is None


def drawn(rng, count, *, first=0.5):
    """Unit rows of images of two kinds, the first with this share; and the kind of each."""
    kinds = (rng.random(count) >= first).astype(int)
    return unit_rows(np.eye(32)[kinds] + 0.3 * rng.normal(size=(count, 32))), kinds


def nearer(rng, *, alone=True, first=0.5):
    """How much nearer images come to a cluster than the plain prompt's, of which it is a part.

    The cluster: images of the first kind, a third of which have no face.
    """
    plain, kinds = drawn(rng, 40)
    own = [int(place) for place in np.flatnonzero(kinds == 0) if place % 3]
    of_plain = nearness(plain, plain[own], 0.95, own if alone else ())
    of_optimised = nearness(drawn(rng, 80, first=first)[0], plain[own], 0.95)
    return of_optimised.estimate - of_plain.estimate


def test_images_of_one_distribution_are_as_near():
    def z_of(**options):
        rng = np.random.default_rng(0)
        found = np.array([nearer(rng, **options) for _ in range(300)])
        return found.mean() / (found.std() / np.sqrt(len(found)))

    assert abs(z_of()) < 2
    # So many draws show the fault: the cluster's images held beside themselves, too.
    assert z_of(alone=False) < -5
    assert z_of(first=0.9) > 20


def test_an_image_of_the_cluster_is_held_beside_the_others():
    rows = groups((4, 3))
    own = [5, 1, 2]
    expected = rows @ rows[own].mean(axis=0)
    for place in own:
        others = [other for other in own if other != place]
        expected[place] = rows[place] @ rows[others].mean(axis=0)
    assert nearness(rows, rows[own], 0.95, own).estimate == pytest.approx(expected.mean())
    assert nearness(rows, rows[[2]], 0.95, [2]) is None


class SomeFaces:
    """All of a picture is a face, in two pictures of three."""

    fingerprint = "some"

    def faces(self, images):
        seeds = [image.getpixel((0, 0))[0] for image in images]
        whole = [[Box(0, 0, *image.size)] for image in images]
        return [found if seed % 3 else [] for found, seed in zip(whole, seeds, strict=True)]


class Colours(Words):
    """Two words, and a fingerprint."""

    fingerprint = "colours"

    def __init__(self):
        super().__init__(("blue", "red"))


@pytest.fixture
def looking(tmp_path, monkeypatch):
    """Looks for origins in one run over a store: the search and its language model."""
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "made.log"))

    def looking(language):
        store = Store(tmp_path / "store")
        settings = settings_of({"model": "fair", "detector": ("colour",), "store": store.folder})
        components = Components(settings, store)
        components.registries.models.update({"fair": fakes.fair})
        components.registries.encoders.update({"clip": fakes.text_encoder})
        components.registries.detectors.update({"colour": fakes.detector})
        monkeypatch.setattr(workbench, "Components", lambda settings, store: components)
        bench = Workbench(components.settings)
        search = Search(tokens=1, top=1)
        parts = OriginParts(fakes.FakeTextEncoder(), SomeFaces(), language, search, 2, 0, 0.95)
        return OriginsSearch(bench, parts)

    return looking


NURSE = Prompt("a photo of a nurse", "profession", "nurse")


def test_both_prompts_are_compared_by_all_their_images(looking):
    origins = looking(Colours())(NURSE, 30, [], 9)
    assert 0 < origins.faceless < 30
    assert len(origins.places) == 30 - origins.faceless
    for cluster in origins.clusters:
        assert (cluster.plain.n, cluster.optimised.n) == (30, 9)


def test_a_second_run_makes_nothing_and_asks_nothing(looking, tmp_path):
    language = Colours()
    first = looking(language)(NURSE, 30, [], 9)
    made = (tmp_path / "made.log").read_text()
    assert language.asked == 2
    assert looking(language)(NURSE, 30, [], 9).clusters == first.clusters
    assert language.asked == 2
    assert (tmp_path / "made.log").read_text() == made
    # Nothing tells a language model without name and fingerprint from another one.
    unknown = Words(("blue", "red"))
    for asked in (2, 4):
        looking(unknown)(NURSE, 30, [], 9)
        assert unknown.asked == asked


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
