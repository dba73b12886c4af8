"""Graphs as SciPy matrices, read from the files as their sources publish them."""

import gzip
import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sparse

from .works import ROOT, Work

ASYMPROJ = {"ppi": "ppi", "facebook": "soc-facebook", "hepth": "ca-HepTh"}
RMAT_QUADRANTS = (0.57, 0.19, 0.19)
RMAT_EDGES_A_NODE = 32
# Drawn at a time, so that making a graph takes little more memory than the graph.
RMAT_CHUNK = 1 << 22


@dataclass(frozen=True)
class Graph:
    """An undirected graph, its held-out edges, and pairs that are not edges."""

    adjacency: sparse.csr_array
    edges: np.ndarray | None = None
    non_edges: np.ndarray | None = None

    @property
    def nodes(self) -> int:
        return self.adjacency.shape[0]


def load(work: Work, data: Path) -> Graph:
    """The graph of a work item."""
    if work.edges is not None:
        return Graph(adjacency(np.load(work.edges), once=True, loops=False))
    if work.name in ASYMPROJ:
        folder = data / "asymproj" / ASYMPROJ[work.name]
        train, test, non_edges = (np.load(folder / f"{name}.txt.npy") for name in ("train", "test", "test.neg"))
        return Graph(adjacency(train), test, non_edges)
    folder = data / "ogbl_ddi"
    with gzip.open(folder / "raw" / "edge.csv.gz") as file:
        train = np.loadtxt(file, delimiter=",", dtype=np.int64)
    nodes = int(gzip.open(folder / "raw" / "num-node-list.csv.gz").read())
    test = read_torch(folder / "split" / "target" / "test.pt")
    return Graph(adjacency(train, nodes, once=True), test["edge"], test["edge_neg"])


def adjacency(pairs: np.ndarray, nodes: int | None = None, once: bool = False, loops: bool = True) -> sparse.csr_array:
    """Every pair in both directions, in single precision; pairs listed twice add up or count once.

    An edge from a node to itself has one direction only: it counts once, as it does with us.
    """
    pairs = pairs if loops else pairs[pairs[:, 0] != pairs[:, 1]]
    nodes = nodes or int(pairs.max()) + 1
    ones = np.ones(len(pairs), np.float32)
    one_way = sparse.coo_array((ones, (pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.int32))), (nodes, nodes))
    one_way = one_way.tocsr()
    both_ways = (one_way + one_way.T - sparse.diags_array(one_way.diagonal())).tocsr()
    if once:
        both_ways.data[:] = 1
    both_ways.sort_indices()
    return both_ways


def tiny() -> Graph:
    """The graph for warming up."""
    return Graph(adjacency(np.random.default_rng(0).integers(0, 400, (4000, 2)), 400, once=True, loops=False))


def rmat(scale: int, folder: Path) -> Path:
    """The file of an R-MAT graph with 2^scale ids, permuted; generated if it is missing."""
    path = folder / f"rmat-{scale}.npy"
    if path.exists():
        return path
    draw = np.random.default_rng(scale)
    count = RMAT_EDGES_A_NODE << scale
    pairs = np.zeros((count, 2), np.uint32)
    bounds = np.cumsum(RMAT_QUADRANTS).astype(np.float32)
    for start in range(0, count, RMAT_CHUNK):
        part = pairs[start : start + RMAT_CHUNK]
        for _ in range(scale):
            quadrant = np.searchsorted(bounds, draw.random(len(part), np.float32), "right").astype(np.uint32)
            part[:, 0] = part[:, 0] << 1 | quadrant >> 1
            part[:, 1] = part[:, 1] << 1 | quadrant & 1
    order = draw.permutation(1 << scale).astype(np.uint32)
    partial = path.with_suffix(".partial.npy")
    np.save(partial, order[pairs])
    partial.rename(path)
    return path


class ArraysOnly(pickle.Unpickler):
    """Refuses everything but numpy's arrays."""

    ALLOWED = {
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
        ("numpy.core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("_codecs", "encode"),
    }

    def find_class(self, module: str, name: str) -> object:
        if (module, name) not in self.ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is no array")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def read_torch(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a dict in torch's older form: a magic number, a version, sizes, and then the dict."""
    with path.open("rb") as file:
        for _ in range(3):
            ArraysOnly(file).load()
        return ArraysOnly(file).load()


def data_folder(named: Path | None) -> Path:
    """The folder of datasets."""
    candidates = [named, ROOT / "data", ROOT.parent / "shared" / "data"]
    for folder in candidates:
        if folder is not None and folder.is_dir():
            return folder
    raise SystemExit("no folder of datasets: name it with --data or ISVD_DATA")
