"""Spectral clustering of features through scikit-learn (von Luxburg 2007)."""

from __future__ import annotations

import numpy as np
from pytest_t2i import T2IError

try:
    from sklearn.cluster import SpectralClustering
except ModuleNotFoundError as error:
    raise T2IError(
        f"spectral clustering needs the package {error.name!r}, which is not installed. "
        "Run: pip install pytest-t2i-origins"
    ) from None

MOST = 8
"""Largest number of clusters that the eigengap is searched for."""
FLOOR = 1e-3
"""Least similarity, which keeps the graph connected: the eigenvectors of separate pieces are
arbitrary."""
FEWEST = 4
"""Smallest number of images that can be clustered."""


def spectral_clusters(features: np.ndarray, count: int | None, seed: int) -> np.ndarray:
    """Cluster the rows and return each row's cluster, numbered from 0."""
    n = len(features)
    if n < FEWEST or n <= (count or 0):
        raise T2IError(
            f"{n} image{'s' * (n != 1)} with a face: too few for {count or 'several'} "
            f"cluster{'s' * (count != 1)}. Take more images, or fewer clusters"
        )
    affinity = affinities(features)
    if count is None:
        count = by_eigengap(affinity)
    if count == 1:
        return np.zeros(n, dtype=np.int64)
    clustering = SpectralClustering(count, affinity="precomputed", random_state=seed)
    labels: np.ndarray = clustering.fit_predict(affinity)
    return labels


def affinities(features: np.ndarray) -> np.ndarray:
    """Similarity of each two rows: their squared distance relative to the median, exponentiated."""
    squares = np.maximum(2.0 - 2.0 * features @ features.T, 0.0)
    typical = float(np.median(squares[~np.eye(len(features), dtype=bool)])) or 1.0
    return np.asarray(FLOOR + (1.0 - FLOOR) * np.exp(-squares / typical))


def by_eigengap(affinity: np.ndarray) -> int:
    """Number of clusters, 2 to 8, by the largest gap between the Laplacian's eigenvalues."""
    degrees = affinity.sum(axis=1)
    laplacian = np.eye(len(affinity)) - affinity / np.sqrt(np.outer(degrees, degrees))
    values = np.linalg.eigvalsh(laplacian)[: min(MOST, len(affinity) - 1) + 1]
    # The first gap only shows that the graph is connected, which FLOOR ensures.
    return int(np.argmax(np.diff(values[1:]))) + 2
