"""The work items: a graph, the matrix over it and how far to decompose it. Settings are those of the shipped configs."""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CONFIGS = {"ddi": "ddi", "ppi": "ppi", "facebook": "facebook", "hepth": "hepth"}
# R-MAT graphs take the settings of this config.
RMAT_LIKE = "ppi"
# From this number of edges on, one contender at a time is in memory, and only the first repetition is evaluated.
LARGE = 2_000_000


# Iterations of the paper's method.
PAPER_ITERATIONS = {"ddi": 7}


@dataclass(frozen=True)
class Matrix:
    """What is decomposed: walks of up to `window` steps minus `negative` times the non-edges."""

    window: int
    negative: float
    symmetric: bool
    degree_weighted: bool


@dataclass(frozen=True)
class Work:
    """One item of work. `edges` is the file of a generated graph."""

    name: str
    matrix: Matrix
    rank: int
    oversample: int
    iterations: int
    metric: str | None
    config: dict
    edges: Path | None = None

    @property
    def block(self) -> int:
        """Columns that subspace iteration works on."""
        return self.rank + self.oversample


def find(name: str, edges: Path | None) -> Work:
    """The work item of a name; `edges` is the file of an R-MAT graph."""
    config = tomllib.loads((ROOT / "configs" / f"{CONFIGS.get(name, RMAT_LIKE)}.toml").read_text())
    config.pop("finetune", None)
    config.pop("update", None)
    metric = config["evaluate"]["metrics"][0]
    if edges is not None:
        del config["dataset"]
        config["data"] = {"path": str(edges), "ids": "rows", "duplicates": "once", "self_loops": "drop"}
        config["data"] |= {"valid": 0.0, "test": 0.0}
        metric = None
    embedding = config["embedding"]
    matrix = Matrix(
        window=embedding["window"],
        negative=embedding["negative"],
        symmetric=embedding["normalize"] == "symmetric",
        degree_weighted=embedding.get("degree_weighted", False),
    )
    rank = embedding["rank"]
    oversample = embedding.get("oversample", min(rank, 30))
    return Work(name, matrix, rank, oversample, PAPER_ITERATIONS.get(name, 10), metric, config, edges)


def toml(config: dict) -> str:
    """A config as TOML: entries first, then one table each."""
    entries = [f"{key} = {json.dumps(value)}" for key, value in config.items() if not isinstance(value, dict)]
    for name, table in config.items():
        if isinstance(table, dict):
            entries += [f"[{name}]"] + [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    return "\n".join(entries) + "\n"
