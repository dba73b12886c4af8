"""The result of a contender."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Triplets:
    """U, S and V, in any order, and how many columns were multiplied by the matrix or its transpose."""

    left: np.ndarray
    values: np.ndarray
    right: np.ndarray
    columns: int


@dataclass(frozen=True)
class Vectors:
    """One vector per node, by another method."""

    vectors: np.ndarray


# The timed function: from the loaded graph to the result, for a seed.
Run = Callable[[int], Triplets | Vectors]
