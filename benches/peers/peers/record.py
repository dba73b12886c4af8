"""The raw results: one line of JSON for the run, then one for every repetition."""

import json
import os
import platform
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from . import ours
from .rounds import Field

PACKAGES = ["numpy", "scipy", "scikit-learn", "tensorflow-cpu", "pycleora", "scikit-network", "pecanpy", "gensim", "numba"]


class Record:
    """A file that grows line by line, so that an interrupted run keeps its results."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("w")

    def __enter__(self) -> "Record":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def add(self, entry: dict) -> None:
        self.file.write(json.dumps(entry) + "\n")
        self.file.flush()


def about(field: Field) -> dict:
    """Date, machine and versions."""
    return {
        "kind": "run",
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": machine(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "program": ours.version(field.program),
        "versions": {package: version_of(package) for package in PACKAGES},
        "repetitions": field.repetitions,
        "timeout": field.timeout,
        "ours": {one.name: list(one.settings) for one in field.ours},
    }


def version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def machine() -> str:
    """The processor, its cores and the memory."""
    processor = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{processor}, {os.cpu_count()} cores, {memory:.0f} GB"
