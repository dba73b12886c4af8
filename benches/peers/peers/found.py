"""What a contender hands back."""

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
    """One vector a node, by another method."""

    vectors: np.ndarray


# What is timed: from the loaded graph to the answer, with the random numbers of a seed.
Run = Callable[[int], Triplets | Vectors]
