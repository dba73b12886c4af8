"""PecanPy: node2vec's walks (SparseOTF) and gensim's skip-gram. Default settings, but our dimension and all cores.

A package that it imports asks numpy for names that numpy 2 no longer has: they are put back before.
"""

import os
from functools import partial

import numpy as np

from .found import Run, Vectors
from .graphs import Graph
from .works import Work

FORMER_NAMES = {
    "bool8": np.bool_,
    "bytes0": np.bytes_,
    "cfloat": np.complex128,
    "clongfloat": np.clongdouble,
    "complex_": np.complex128,
    "float_": np.float64,
    "int0": np.intp,
    "longcomplex": np.clongdouble,
    "longfloat": np.longdouble,
    "object0": np.object_,
    "singlecomplex": np.complex64,
    "str0": np.str_,
    "string_": np.bytes_,
    "uint0": np.uintp,
    "unicode_": np.str_,
    "void0": np.void,
}
for name, kind in FORMER_NAMES.items():
    setattr(np, name, kind)

from pecanpy.pecanpy import SparseOTF  # noqa: E402


def prepare(graph: Graph, work: Work) -> Run:
    return partial(embed, graph, work)


def embed(graph: Graph, work: Work, seed: int) -> Vectors:
    walks = SparseOTF(workers=os.cpu_count() or 1, random_state=seed)
    walks.set_node_ids([str(node) for node in range(graph.nodes)])
    adjacency = graph.adjacency
    walks.indptr, walks.indices = adjacency.indptr.astype(np.uint32), adjacency.indices.astype(np.uint32)
    walks.data = adjacency.data
    return Vectors(walks.embed(dim=work.rank))
