"""Cleora: random vectors, repeatedly averaged over neighbours. Default settings, but our dimension."""

import numpy as np
import pycleora
import scipy.sparse as sparse

from .found import Run, Vectors
from .graphs import Graph
from .works import Work


def prepare(graph: Graph, work: Work) -> Run:
    upper = sparse.triu(graph.adjacency).tocoo()
    lines = (f"{i} {j}" for i, j in zip(*upper.coords))
    matrix = pycleora.SparseMatrix.from_iterator(lines, "complex::reflexive::node")
    rows = np.array([int(name) for name in matrix.entity_ids])

    def run(seed: int) -> Vectors:
        vectors = np.zeros((graph.nodes, work.rank), np.float32)
        vectors[rows] = pycleora.embed(matrix, feature_dim=work.rank, seed=seed)
        return Vectors(vectors)

    return run
