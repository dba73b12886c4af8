"""One peer in a separate process: it loads, warms up, and then works on command.

Its answers are lines of JSON on what was its stdout; whatever libraries print goes to stderr. Counted is the time from the
loaded graph to the answer. Peak memory is that of the whole process, Python and libraries included.
"""

import dataclasses
import importlib
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import TextIO

import numpy as np
from threadpoolctl import threadpool_limits

from . import graphs, works
from .contenders import PEERS
from .found import Triplets, Vectors

WARM_UP_RANK = 8


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    order = json.loads(sys.stdin.readline())
    peer = next(peer for peer in PEERS if peer.name == order["peer"])
    work = works.find(order["work"], Path(order["edges"]) if order["edges"] else None)
    try:
        module = importlib.import_module(f".{peer.module}", __package__)
    except Exception as error:  # noqa: BLE001 a broken package may raise anything
        say(answers, {"missing": f"{type(error).__name__}: {error}"})
        return
    small = dataclasses.replace(work, rank=WARM_UP_RANK, oversample=WARM_UP_RANK)
    module.prepare(graphs.tiny(), small, *peer.arguments)(1)
    run = module.prepare(graphs.load(work, Path(order["data"])), work, *peer.arguments)
    say(answers, {"ready": True})
    for line in sys.stdin:
        order = json.loads(line)
        idle = forget_peak()
        with threadpool_limits(order["threads"]):
            started = time.perf_counter()
            try:
                found = run(order["seed"])
            except Exception as error:  # noqa: BLE001 any error is the result of this peer
                say(answers, {"failed": f"{type(error).__name__}: {str(error).splitlines()[0]}"})
                continue
            seconds = time.perf_counter() - started
        memory = {"peak_bytes": peak(), "idle_bytes": idle}
        columns = save(found, Path(order["out"]))
        del found
        say(answers, {"seconds": seconds, "columns": columns} | memory)


def say(answers: TextIO, answer: dict) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def save(found: Triplets | Vectors, folder: Path) -> int | None:
    """Writes U√S and V√S, the largest singular value first, or the vectors; the operator columns if there are any."""
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(found, Vectors):
        np.save(folder / "vectors.npy", found.vectors)
        return None
    order = np.argsort(-found.values)
    values = found.values[order]
    np.save(folder / "singular_values.npy", values)
    for name, vectors in (("left", found.left), ("right", found.right)):
        np.save(folder / f"{name}.npy", (vectors[:, order] * np.sqrt(values)).astype(np.float32))
    return found.columns


def forget_peak() -> int:
    """The memory of the process. Resets its peak, if the system supports it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass
    return status("VmRSS") or peak()


def peak() -> int:
    """The peak memory of the process, in bytes."""
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return status("VmHWM") or usage * (1 if sys.platform == "darwin" else 1024)


def status(field: str) -> int | None:
    """A figure of Linux's own account of the process, in bytes."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), None)


if __name__ == "__main__":
    main()
