"""The thesis' own evaluation: bias distances, their difference, and the distance of two sets."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from pytest_t2i import T2IError, Triplet, axes, metrics
from scipy import stats

from pytest_t2i_mitigation.mitigated import spaces
from pytest_t2i_mitigation.mitigated.features import unit
from pytest_t2i_mitigation.mitigated.measure import Mitigated
from pytest_t2i_mitigation.mitigated.spaces import Gaps

RNG = np.random.default_rng
SEEDS = (0, 1, 2, 3)
TRIPLETS: list[Triplet] = axes.profession.only("nurse", "pilot").triplets()


class Observations:
    """Arrays and pictures by prompt; ``shift`` stands for a mitigation of neutral prompts."""

    def __init__(self, shift, absent=()):
        self.shift, self.absent = shift, absent
        self.components = SimpleNamespace(
            encoder=lambda name: SimpleNamespace(fingerprint=f"features of {name}")
        )

    def _point(self, prompt, seed, size):
        triplet = next(three for three in TRIPLETS if prompt in three)
        lean = {triplet.neutral: 0.7 - self.shift, triplet.feminine: 0.0}.get(prompt, 1.0)
        noise = RNG([seed, len(triplet.id)]).normal(size=size)
        woman, man = RNG(1).normal(size=size), RNG(2).normal(size=size)
        return (1 - lean) * woman + lean * man + 0.3 * noise

    def arrays(self, prompt, seeds, name):
        return [
            None if (prompt.text, seed) in self.absent else self._point(prompt, seed, (2, 8))
            for seed in seeds
        ]

    def pictures(self, prompt, seeds):
        points = [self._point(prompt, seed, (16, 16, 3)) for seed in seeds]
        return [
            Image.fromarray((128 + 30 * point).clip(0, 255).astype(np.uint8)) for point in points
        ]


def member(triplet, shift, absent=()):
    plain, mitigated = Observations(0.0, absent), Observations(shift)
    context = SimpleNamespace(encoder="clip")
    whole = Observations(0.0)
    rows = [
        unit(np.array([np.ravel(one) for one in seen.arrays(prompt, SEEDS, "")]))
        for seen, prompt in (
            (whole, triplet.neutral),
            *((mitigated, prompt) for prompt in triplet),
        )
    ]
    return SimpleNamespace(
        triplet=triplet, seeds=SEEDS, context=context, plain=plain, mitigated=mitigated, rows=rows
    )


@pytest.mark.parametrize("space", spaces.SPACES)
def test_distance_and_score_are_those_of_the_metrics(space):
    members = [member(three, 0.2) for three in TRIPLETS]
    pairs = spaces.gaps(members, space)
    similar = {"plain": ([], []), "mitigated": ([], [])}
    for one in members:
        for name, seen in (("plain", one.plain), ("mitigated", one.mitigated)):
            for place, gendered in enumerate((one.triplet.feminine, one.triplet.masculine)):
                if space == "ssim":
                    ours = seen.pictures(one.triplet.neutral, SEEDS)
                    theirs = one.mitigated.pictures(gendered, SEEDS)
                    each = [
                        metrics.ssim(np.asarray(a), np.asarray(b))
                        for a, b in zip(ours, theirs, strict=True)
                    ]
                else:
                    ours = seen.arrays(one.triplet.neutral, SEEDS, space)
                    theirs = one.mitigated.arrays(gendered, SEEDS, space)
                    each = [
                        float(np.sum(a * b) / np.linalg.norm(a) / np.linalg.norm(b))
                        for a, b in zip(ours, theirs, strict=True)
                    ]
                similar[name][place].append(np.mean(each))
    plain, after = (metrics.bias_distance(*similar[name]) for name in ("plain", "mitigated"))
    assert spaces.distance(pairs.plain, 0.95).estimate == pytest.approx(plain)
    assert spaces.distance(pairs.mitigated, 0.95).estimate == pytest.approx(after)
    score = spaces.mitigation_score(pairs, 0.95)
    assert score.estimate == pytest.approx(metrics.bias_mitigation_score(plain, after))
    assert score.low < score.estimate < score.high
    assert after < plain


def test_a_seed_without_a_picture_leaves_all_four_and_a_prompt_needs_two():
    absent = [(TRIPLETS[0].neutral.text, seed) for seed in SEEDS[1:]]
    absent.append((TRIPLETS[1].neutral.text, 0))
    pairs = spaces.gaps([member(three, 0.2, absent) for three in TRIPLETS], "image")
    assert [len(side) for side in pairs.plain] == [len(side) for side in pairs.mitigated] == [3]
    nothing = [(three.neutral.text, seed) for three in TRIPLETS for seed in SEEDS]
    assert spaces.gaps([member(three, 0.2, nothing) for three in TRIPLETS], "image") is None


def test_the_distance_of_sets_is_that_of_the_metrics():
    members = [member(three, 0.2) for three in TRIPLETS]
    plain, after = (np.concatenate([one.rows[k] for one in members]) for k in (0, 1))
    assert spaces.frechet(members) == pytest.approx(metrics.frechet_distance(plain, after))
    same = [member(three, 0.0) for three in TRIPLETS]
    assert spaces.frechet(same) == pytest.approx(0.0, abs=1e-6)
    assert spaces.kernel(same, 0.95).estimate == 0.0
    interval = spaces.kernel(members, 0.95)
    assert interval.low < interval.estimate < interval.high


def test_a_space_that_the_test_does_not_name_says_where_to_name_it():
    mitigated = Mitigated((), (None, None), (), ("image",), None)
    with pytest.raises(T2IError, match=r"distances=\(\.\.\.\)"):
        mitigated.bias_mitigation_score("denoising")


WORLDS = {
    "nothing": (0.1, 0.1, 0.8, 12, 20),
    "fixed": (0.1, 0.0, 0.3, 12, 20),
    "reversed": (0.1, -0.05, 0.3, 12, 20),
    "fair": (0.0, 0.0, 0.5, 12, 20),
    "few": (0.05, 0.0, 0.5, 3, 4),
    "small": (0.02, 0.01, 0.5, 4, 5),
    "two seeds": (0.1, 0.0, 0.3, 12, 2),
    "long tails": (0.1, 0.02, 0.2, 6, 10),
}
"""World -> mean gap before and after, correlation of a pair, prompts, seeds."""
RUNS = 400


@pytest.mark.parametrize("world", WORLDS)
def test_intervals_cover_in_worlds_with_and_without_an_effect(world):
    before, after, together, prompts, seeds = WORLDS[world]
    rng = RNG(7)
    leans = rng.normal(0.0, 0.05, (2, prompts))
    leans += np.array([[before], [after]]) - leans.mean(axis=1, keepdims=True)
    covered = {"score": 0, "distance": 0}
    for _ in range(RUNS):
        shared = rng.standard_normal((prompts, seeds))
        own = rng.standard_normal((prompts, seeds))
        if world == "long tails":
            own = rng.standard_t(3, (prompts, seeds))
        plain = leans[0][:, None] + 0.1 * shared
        mixed = together * shared + np.sqrt(1 - together**2) * own
        pairs = Gaps(tuple(plain), tuple(leans[1][:, None] + 0.1 * mixed))
        score, distance = (
            spaces.mitigation_score(pairs, 0.95),
            spaces.distance(pairs.mitigated, 0.95),
        )
        covered["score"] += score.low <= abs(before) - abs(after) <= score.high
        covered["distance"] += distance.low <= abs(after) <= distance.high
    for name, count in covered.items():
        assert stats.binom.cdf(count, RUNS, 0.95) > 0.001, (name, count)


@pytest.mark.parametrize(("prompts", "images"), [(20, 4), (4, 30)])
def test_rare_pictures_turn_no_more_scores_than_stated(prompts, images):
    """One picture in ten is far: a limit at the truth passed in 10 % of runs of Student's."""
    rng, passed = RNG(7), 0
    for _ in range(200):
        plain = tuple(0.3 + rng.normal(0, 0.02, images) for _ in range(prompts))
        mitigated = tuple(
            np.where(rng.random(images) < 0.1, 1.0, 0.0) + rng.normal(0, 0.02, images)
            for _ in range(prompts)
        )
        passed += spaces.mitigation_score(Gaps(plain, mitigated), 0.9).low >= 0.2
    assert passed <= 12
