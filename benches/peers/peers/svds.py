"""SciPy's svds: PROPACK (Lanczos bidiagonalisation) and ARPACK (Lanczos on MᵀM), one column at a time."""

from functools import partial

from scipy.sparse.linalg import svds

from .found import Run, Triplets
from .graphs import Graph
from .matrix import Operator
from .works import Work


def prepare(graph: Graph, work: Work, solver: str, tolerance: float) -> Run:
    return partial(decompose, graph, work, solver, tolerance)


def decompose(graph: Graph, work: Work, solver: str, tolerance: float, seed: int) -> Triplets:
    operator = Operator(graph.adjacency, work.matrix)
    left, values, right = svds(operator.linear_operator(), k=work.rank, tol=tolerance, solver=solver, rng=seed)
    return Triplets(left, values, right.T, operator.columns)
