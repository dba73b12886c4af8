"""scikit-network's spectral embedding: eigenvectors of the walk matrix. Default settings, but our dimension."""

from sknetwork.embedding import Spectral

import scipy.sparse as sparse

from .found import Run, Vectors
from .graphs import Graph
from .works import Work


def prepare(graph: Graph, work: Work) -> Run:
    matrix = sparse.csr_matrix(graph.adjacency)
    return lambda seed: Vectors(Spectral(n_components=work.rank).fit_transform(matrix))
