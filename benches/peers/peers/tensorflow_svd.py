"""The paper's method in TensorFlow, implemented from its text: Algorithm 1, eager, in single precision.

Products are cached as the paper's are: T^q·G comes from T^(q−1)·G, so that each power takes one sparse product. Bases are
made orthonormal by Cholesky, which is the paper's way, or by QR, which is what it compares with.
"""

from functools import partial

import numpy as np
import tensorflow as tf

from .found import Run, Triplets
from .graphs import Graph
from .matrix import coefficients, scaled
from .works import Work


def prepare(graph: Graph, work: Work, orthonormalize: str) -> Run:
    return partial(decompose, graph, work, {"cholesky": by_cholesky, "qr": by_qr}[orthonormalize])


class Symbolic:
    """The network-embedding matrix over TensorFlow's sparse tensors."""

    def __init__(self, graph: Graph, work: Work) -> None:
        matrix, adjacency = work.matrix, graph.adjacency
        degree = np.maximum(adjacency.sum(axis=1), 1).astype(np.float32)
        root = np.sqrt(degree)
        self.matrix, self.columns = matrix, 0
        self.edges = tensor(adjacency)
        if matrix.symmetric:
            self.walk = self.walk_transposed = tensor(scaled(adjacency, 1 / root, 1 / root))
        else:
            self.walk = tensor(scaled(adjacency, 1 / degree, None))
            self.walk_transposed = tensor(scaled(adjacency, None, 1 / degree))
        self.ends = tf.constant((root if matrix.symmetric else degree)[:, None])

    def multiply(self, panel: tf.Tensor) -> tf.Tensor:
        start = panel * self.ends if self.matrix.degree_weighted else panel
        return self._walks(self.walk, start) - self._non_edges(panel)

    def multiply_transposed(self, panel: tf.Tensor) -> tf.Tensor:
        walks = self._walks(self.walk_transposed, panel)
        return (walks * self.ends if self.matrix.degree_weighted else walks) - self._non_edges(panel)

    def _walks(self, walk: tf.SparseTensor, panel: tf.Tensor) -> tf.Tensor:
        self.columns += panel.shape[1]
        power, total = panel, tf.zeros_like(panel)
        for weight in coefficients(self.matrix.window):
            power = tf.sparse.sparse_dense_matmul(walk, power)
            total += weight * power
        return total

    def _non_edges(self, panel: tf.Tensor) -> tf.Tensor:
        ones = tf.reduce_sum(panel, axis=0, keepdims=True)
        return self.matrix.negative * (ones - tf.sparse.sparse_dense_matmul(self.edges, panel))


def tensor(adjacency) -> tf.SparseTensor:
    entries = adjacency.tocoo()
    places = np.stack(entries.coords, axis=1).astype(np.int64)
    return tf.SparseTensor(places, entries.data, adjacency.shape)


def by_cholesky(panel: tf.Tensor) -> tf.Tensor:
    panel = panel / tf.norm(panel, axis=0)
    lower = tf.linalg.cholesky(tf.matmul(panel, panel, transpose_a=True))
    return tf.transpose(tf.linalg.triangular_solve(lower, tf.transpose(panel)))


def by_qr(panel: tf.Tensor) -> tf.Tensor:
    return tf.linalg.qr(panel).q


def decompose(graph: Graph, work: Work, orthonormal, seed: int) -> Triplets:
    matrix = Symbolic(graph, work)
    panel = tf.random.stateless_normal((graph.nodes, work.block), seed=(seed, 0))
    for _ in range(work.iterations):
        panel = orthonormal(matrix.multiply(panel))
        panel = orthonormal(matrix.multiply_transposed(panel))
    panel = orthonormal(matrix.multiply(panel))
    values, small, right = tf.linalg.svd(tf.transpose(matrix.multiply_transposed(panel)))
    left, rank = tf.matmul(panel, small), work.rank
    return Triplets(left[:, :rank].numpy(), values[:rank].numpy(), right[:, :rank].numpy(), matrix.columns)
