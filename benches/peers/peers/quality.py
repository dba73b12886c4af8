"""The quality of a result, computed for all contenders by the same functions in double precision."""

import numpy as np

from .graphs import Graph
from .matrix import Operator
from .works import Work

# Columns multiplied at a time when residuals are measured: double precision is twice the memory.
CHUNK = 16
# Pairs scored at a time.
PAIRS = 1 << 16


class Judge:
    """Measures the residuals of triplets and how well scores separate edges from other pairs."""

    def __init__(self, graph: Graph, work: Work) -> None:
        self.graph = graph
        self.work = work
        self.operator = Operator(graph.adjacency, work.matrix, np.float64)

    def worst_residuals(self, left: np.ndarray, values: np.ndarray, right: np.ndarray) -> tuple[float, float]:
        """The largest ‖Mv − σu‖/σ and the largest ‖Mᵀu − σv‖/σ, of vectors that are given as U√S and V√S.

        An algorithm that ends with a product by one side has no residual there, however wrong its vectors are: Lanczos
        bidiagonalisation on the first, subspace iteration on the second. The larger of both is what says something.
        """
        forth, back = [], []
        for start in range(0, len(values), CHUNK):
            part = slice(start, start + CHUNK)
            sigma = values[part].astype(np.float64)
            u, v = (side[:, part].astype(np.float64) / np.sqrt(sigma) for side in (left, right))
            forth.append(np.linalg.norm(self.operator.multiply(v) - u * sigma, axis=0) / sigma)
            back.append(np.linalg.norm(self.operator.multiply_transposed(u) - v * sigma, axis=0) / sigma)
        return float(np.concatenate(forth).max()), float(np.concatenate(back).max())

    def figure(self, left: np.ndarray, right: np.ndarray) -> float | None:
        """The metric of the work: AUC or Hits@K over the held-out pairs."""
        if self.work.metric is None or self.graph.edges is None:
            return None
        edges, non_edges = (scores(left, right, pairs) for pairs in (self.graph.edges, self.graph.non_edges))
        if self.work.metric == "auc":
            return auc(edges, non_edges)
        return hits(edges, non_edges, int(self.work.metric.removeprefix("hits@")))

    def figure_of_vectors(self, vectors: np.ndarray) -> float | None:
        """The metric for one vector a node, by cosines, the similarity that such programs document."""
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit = vectors / np.where(lengths == 0, 1, lengths)
        return self.figure(unit, unit)


def scores(left: np.ndarray, right: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """½ (L_i·R_j + L_j·R_i) of every pair."""
    found = np.empty(len(pairs))
    for start in range(0, len(pairs), PAIRS):
        i, j = pairs[start : start + PAIRS].T
        forth = np.einsum("ij,ij->i", left[i], right[j], dtype=np.float64)
        back = np.einsum("ij,ij->i", left[j], right[i], dtype=np.float64)
        found[start : start + PAIRS] = (forth + back) / 2
    return found


def auc(edges: np.ndarray, non_edges: np.ndarray) -> float:
    """The fraction of (edge, non-edge) pairs that are ordered correctly; ties count half."""
    ordered = np.sort(non_edges)
    below = np.searchsorted(ordered, edges, "left") + np.searchsorted(ordered, edges, "right")
    return float(below.sum() / 2 / len(edges) / len(ordered))


def hits(edges: np.ndarray, non_edges: np.ndarray, count: int) -> float:
    """The fraction of edges that score above the count-th best of the other pairs, as OGB defines it."""
    return float((edges > np.sort(non_edges)[-count]).mean())
