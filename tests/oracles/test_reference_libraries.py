"""Our numbers against scipy, scikit-learn and scikit-image."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pytest_t2i import metrics, statistics
from pytest_t2i.statistics import prompt_bias_p_value
from pytest_t2i.statistics.change import paired_prompt_p_value
from pytest_t2i.statistics.gaps import excess_p_value

RNG = np.random.default_rng(7)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 20), (20, 20), (7, 20), (99, 100)])
def test_share_intervals(level: float, k: int, n: int) -> None:
    ours = statistics.share_interval(k, n, level)
    theirs = stats.binomtest(k, n).proportion_ci(level, method="exact")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@pytest.mark.parametrize(("k", "n"), [(0, 5), (5, 5), (3, 8), (4, 8), (13, 20), (60, 100)])
def test_bias_p_value_without_margin(k: int, n: int) -> None:
    assert prompt_bias_p_value(k, n - k, 0.0) == pytest.approx(stats.binomtest(k, n).pvalue)


def test_benjamini_hochberg() -> None:
    for size in (1, 2, 50):
        p = RNG.uniform(size=size) ** 2
        theirs = stats.false_discovery_control(p)
        np.testing.assert_allclose(statistics.benjamini_hochberg(p), theirs)


def test_mcnemar_is_a_binomial_test() -> None:
    before, after = np.array([-1] * 8 + [1] * 12), np.array([1] * 20)
    theirs = 2 * stats.binomtest(8, 8, 0.5, alternative="greater").pvalue
    ours = paired_prompt_p_value(before, after, shared_seeds=True)
    assert ours == pytest.approx(theirs)


@pytest.mark.parametrize(("a", "b"), [(15, 10), (20, 12), (11, 9)])
def test_unconditional_test_is_no_weaker_than_fisher(a: int, b: int) -> None:
    fisher = stats.fisher_exact([[a, 20 - a], [b, 20 - b]], alternative="greater").pvalue
    assert excess_p_value(a, 20, b, 20, 0.0) <= fisher + 1e-9


@pytest.mark.parametrize("labels", [2, 3, 7])
def test_total_variation_distance(labels: int) -> None:
    distance = pytest.importorskip("scipy.spatial.distance")
    counts, reference = RNG.integers(0, 30, labels), RNG.dirichlet(np.ones(labels))
    shares = counts / counts.sum()
    names = [f"label {k}" for k in range(labels)]
    ours = metrics.total_variation_distance(
        dict(zip(names, counts.tolist(), strict=True)),
        dict(zip(names, reference.tolist(), strict=True)),
    )
    assert ours == pytest.approx(distance.cityblock(shares, reference) / 2)
    assert ours == pytest.approx(distance.minkowski(shares, reference, p=1) / 2)


def test_filter_scores() -> None:
    sk = pytest.importorskip("sklearn.metrics")
    kept, clear = RNG.random(200) < 0.7, RNG.random(200) < 0.8
    ours = metrics.filter_scores(kept, clear)
    assert ours.precision == pytest.approx(sk.precision_score(clear, kept))
    assert ours.recall == pytest.approx(sk.recall_score(clear, kept))
    assert ours.f1 == pytest.approx(sk.f1_score(clear, kept))
    assert ours.filter_rate == pytest.approx(sk.recall_score(~clear, ~kept))


def test_classification_scores() -> None:
    sk = pytest.importorskip("sklearn.metrics")
    said, truth = (RNG.choice(["male", "female"], 200) for _ in range(2))
    ours = metrics.classification_scores(said, truth)
    assert ours.overall == pytest.approx(sk.accuracy_score(truth, said))
    recalls = sk.recall_score(truth, said, average=None, labels=["female", "male"])
    assert list(ours.by_label.values()) == pytest.approx(list(recalls))


def test_cohen_kappa() -> None:
    sk = pytest.importorskip("sklearn.metrics")
    a, b = (RNG.choice(["male", "female", "low"], 100) for _ in range(2))
    assert metrics.cohen_kappa(a, b) == pytest.approx(sk.cohen_kappa_score(a, b))


def test_similarity() -> None:
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    a, b = RNG.normal(size=(2, 6, 16))
    theirs = np.diagonal(pairwise.cosine_similarity(a, b))
    np.testing.assert_allclose(metrics.similarities(a, b), theirs, atol=1e-9)


def test_ssim() -> None:
    skimage = pytest.importorskip("skimage.metrics")
    a, b = RNG.integers(0, 256, size=(2, 24, 20, 3), dtype=np.uint8)
    grey = [skimage.structural_similarity(a[..., i], b[..., i], data_range=255) for i in range(3)]
    assert metrics.ssim(a, b) == pytest.approx(np.mean(grey))
    assert metrics.ssim(a, a) == 1.0


@pytest.mark.parametrize("shape", [(2, 2), (2, 7), (3, 4)])
def test_object_independence(shape: tuple[int, int]) -> None:
    table = RNG.integers(1, 40, shape)
    theirs = stats.chi2_contingency(table, correction=False)
    assert metrics.object_independence(table) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_independence_by_permutation() -> None:
    """Of two variants and seven triplets all swaps can be listed."""
    table = RNG.poisson(1.5, (7, 2, 3))
    swaps = (np.array([(number >> k) & 1 for k in range(7)]) for number in range(2**7))
    listed = [np.where(swap[:, None, None], table[:, ::-1], table).sum(axis=0) for swap in swaps]
    chi = [stats.chi2_contingency(one, correction=False).statistic for one in listed]
    exact = float(np.mean(np.array(chi) >= chi[0] - 1e-9))
    ours = statistics.independence_p_value(table, level=0.999, seed=0)
    assert ours.low <= exact <= ours.high


def test_cooccurrence_similarity() -> None:
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    a, b = RNG.integers(1, 5, (2, 8, 6))
    theirs = np.diag(pairwise.cosine_similarity(a, b)).mean()
    assert metrics.cooccurrence_similarity(a, b) == pytest.approx(theirs)


def test_coverage_is_recall() -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    region, mask = RNG.random((2, 12, 12)) > 0.6
    theirs = sklearn.recall_score(region.ravel(), mask.ravel())
    assert metrics.coverage(region, mask) == pytest.approx(theirs)
