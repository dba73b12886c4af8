"""scikit-learn's randomized_svd, with default settings but our block and number of iterations.

The public function takes arrays and sparse matrices only; the one that it calls after its checks needs no more than `@`,
`.T`, `.shape` and `.dtype`, which SciPy's LinearOperator has. That one is called here.
"""

from functools import partial

from sklearn.utils.extmath import _randomized_svd

from .found import Run, Triplets
from .graphs import Graph
from .matrix import Operator
from .works import Work


def prepare(graph: Graph, work: Work) -> Run:
    return partial(decompose, graph, work)


def decompose(graph: Graph, work: Work, seed: int) -> Triplets:
    operator = Operator(graph.adjacency, work.matrix)
    left, values, right = _randomized_svd(
        operator.linear_operator(),
        work.rank,
        n_oversamples=work.oversample,
        n_iter=work.iterations,
        random_state=seed,
    )
    return Triplets(left, values, right.T, operator.columns)
