"""Subspace iteration in NumPy and SciPy: the paper's Algorithm 1 in single precision, by Horner's rule."""

from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cholesky, qr, solve_triangular

from .found import Run, Triplets
from .graphs import Graph
from .matrix import Operator
from .works import Work


def prepare(graph: Graph, work: Work) -> Run:
    return partial(decompose, graph, work)


def decompose(graph: Graph, work: Work, seed: int) -> Triplets:
    operator = Operator(graph.adjacency, work.matrix)
    panel = np.random.default_rng(seed).standard_normal((graph.nodes, work.block), np.float32)
    for _ in range(work.iterations):
        panel = orthonormal(operator.multiply(panel))
        panel = orthonormal(operator.multiply_transposed(panel))
    panel = orthonormal(orthonormal(operator.multiply(panel)))
    right, values, small = np.linalg.svd(operator.multiply_transposed(panel), full_matrices=False)
    rank = work.rank
    return Triplets(panel @ small[:rank].T, values[:rank], right[:, :rank], operator.columns)


def orthonormal(panel: np.ndarray) -> np.ndarray:
    """By Cholesky: in single precision, in double if that fails, and by Householder's QR if that fails too."""
    panel /= np.linalg.norm(panel, axis=0)
    for dtype in (np.float32, np.float64):
        wide = panel.astype(dtype, copy=False)
        try:
            lower = cholesky(wide.T @ wide, lower=True, check_finite=False).astype(np.float32)
        except LinAlgError:
            continue
        return solve_triangular(lower, panel.T, lower=True, overwrite_b=True, check_finite=False).T
    return qr(panel, mode="economic", check_finite=False)[0]
