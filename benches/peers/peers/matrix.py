"""The network-embedding matrix as an operator: Σ c_q T^q − λ (J − A), never formed."""

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import LinearOperator

from .works import Matrix


def coefficients(window: int) -> list[float]:
    """The weights of walks of 1, 2, … steps."""
    return [(window - step) / (window * (window + 1) / 2) for step in range(window)]


class Operator:
    """Multiplies vectors and panels by the matrix or by its transpose, and counts their columns.

    By Horner's rule a product takes `window` sparse products with T and one with A. J is the sum of a column.
    """

    def __init__(self, adjacency: sparse.csr_array, matrix: Matrix, dtype: type = np.float32) -> None:
        self.adjacency = adjacency.astype(dtype, copy=False)
        self.matrix = matrix
        self.dtype = np.dtype(dtype)
        self.shape = adjacency.shape
        self.columns = 0
        degree = np.maximum(adjacency.sum(axis=1), 1).astype(dtype)
        if matrix.symmetric:
            self.walk = scaled(self.adjacency, 1 / np.sqrt(degree), 1 / np.sqrt(degree))
            self.walk_transposed = self.walk
            self.ends = np.sqrt(degree)
        else:
            self.walk = scaled(self.adjacency, 1 / degree, None)
            self.walk_transposed = scaled(self.adjacency, None, 1 / degree)
            self.ends = degree

    def multiply(self, given: np.ndarray) -> np.ndarray:
        """M · given"""
        start = self._weigh(given) if self.matrix.degree_weighted else given
        return self._subtract_non_edges(self._walks(self.walk, start), given)

    def multiply_transposed(self, given: np.ndarray) -> np.ndarray:
        """Mᵀ · given. The graph is undirected: A is its own transpose."""
        walks = self._walks(self.walk_transposed, given)
        return self._subtract_non_edges(self._weigh(walks) if self.matrix.degree_weighted else walks, given)

    def linear_operator(self) -> LinearOperator:
        """The operator for SciPy, which sometimes passes columns as n × 1. A flat vector is multiplied faster."""
        flat = lambda multiply: lambda given: multiply(given.reshape(-1).astype(self.dtype, copy=False))
        return LinearOperator(
            self.shape,
            matvec=flat(self.multiply),
            rmatvec=flat(self.multiply_transposed),
            matmat=self.multiply,
            rmatmat=self.multiply_transposed,
            dtype=self.dtype,
        )

    def _walks(self, walk: sparse.csr_array, given: np.ndarray) -> np.ndarray:
        self.columns += 1 if given.ndim == 1 else given.shape[1]
        *nearer, last = coefficients(self.matrix.window)
        given = np.ascontiguousarray(given)
        product = walk @ (given * self.dtype.type(last))
        for weight in reversed(nearer):
            product += given * self.dtype.type(weight)
            product = walk @ product
        return product

    def _subtract_non_edges(self, walks: np.ndarray, given: np.ndarray) -> np.ndarray:
        negative = self.dtype.type(self.matrix.negative)
        edges = self.adjacency @ given
        edges -= given.sum(axis=0)
        edges *= negative
        walks += edges
        return walks

    def _weigh(self, panel: np.ndarray) -> np.ndarray:
        return panel * (self.ends if panel.ndim == 1 else self.ends[:, None])


def scaled(adjacency: sparse.csr_array, rows: np.ndarray | None, columns: np.ndarray | None) -> sparse.csr_array:
    """A matrix with its rows and its columns scaled; it shares its pattern with the original."""
    data = adjacency.data.copy()
    if rows is not None:
        data *= np.repeat(rows, np.diff(adjacency.indptr))
    if columns is not None:
        data *= columns[adjacency.indices]
    return sparse.csr_array((data, adjacency.indices, adjacency.indptr), adjacency.shape)
