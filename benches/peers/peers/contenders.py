"""The contenders."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Contender:
    """A peer: its module, its arguments, and the packages whose versions identify it.

    Libraries that call a threaded BLAS are at times faster on one thread: with `blas` a peer runs on all cores and on one,
    and the table has the faster.
    """

    name: str
    module: str
    arguments: tuple = ()
    packages: tuple[str, ...] = ()
    blas: bool = False


PEERS = [
    Contender("scipy propack", "svds", ("propack", 0.0), ("scipy",), blas=True),
    Contender("scipy propack, tol 0.1", "svds", ("propack", 0.1), ("scipy",), blas=True),
    Contender("scipy arpack", "svds", ("arpack", 0.0), ("scipy",), blas=True),
    Contender("numpy subspace iteration", "subspace", (), ("numpy", "scipy"), blas=True),
    Contender("scikit-learn randomized_svd", "sklearn_svd", (), ("scikit-learn",), blas=True),
    Contender("tensorflow, cholesky", "tensorflow_svd", ("cholesky",), ("tensorflow-cpu",)),
    Contender("tensorflow, qr", "tensorflow_svd", ("qr",), ("tensorflow-cpu",)),
    Contender("cleora", "cleora", (), ("pycleora",), blas=True),
    Contender("scikit-network spectral", "network", (), ("scikit-network",), blas=True),
    Contender("pecanpy node2vec", "node2vec", (), ("pecanpy", "gensim", "numba")),
]


def named(text: str | None) -> list[Contender]:
    """The peers whose names contain one of the words of a comma-separated list; all if it is empty."""
    if text is None:
        return PEERS
    words = [word.strip() for word in text.split(",") if word.strip()]
    chosen = [peer for peer in PEERS if any(word in peer.name for word in words)]
    for word in words:
        if not any(word in peer.name for peer in PEERS):
            raise SystemExit(f"no peer is called {word}: there are {'; '.join(peer.name for peer in PEERS)}")
    return chosen
