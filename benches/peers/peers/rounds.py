"""The rounds: in each, everyone works once on the same graph, one after the other."""

from __future__ import annotations

import os
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from . import graphs, ours
from .contenders import Contender
from .ours import Ours
from .process import Process, Stopped
from .quality import Judge
from .works import LARGE, Work

if TYPE_CHECKING:
    from .record import Record

# Threads of a library may spin for a moment after their work.
PAUSE = 0.3


@dataclass(frozen=True)
class Field:
    """Who takes part, and how."""

    program: Path
    ours: list[Ours]
    peers: list[Contender]
    data: Path
    scratch: Path
    repetitions: int
    timeout: float


def hold(field: Field, work: Work, record: Record, folder: Path) -> list[dict]:
    """All repetitions of one work; every entry is recorded as it comes."""
    graph = graphs.load(work, field.data)
    judge = Judge(graph, work)
    is_large = graph.adjacency.nnz // 2 > LARGE
    cores = os.cpu_count() or 1
    rows: list[dict] = []
    running: dict[str, Process] = {}
    stopped: set[str] = set()

    def note(contender: str, entry: dict) -> None:
        row = {"kind": "repetition", "work": work.name, "contender": contender} | entry | {"load": os.getloadavg()[0]}
        rows.append(row)
        record.add(row)
        said = f"{entry['seconds']:.2f} s" if "seconds" in entry else entry["stopped"]
        print(f"{work.name}: {contender}: {said}", file=sys.stderr)

    def attempt(contender: str, repetition: int, threads: int, work_once) -> None:
        out = folder / f"{contender.replace(' ', '-')}-{threads}"
        shutil.rmtree(out, ignore_errors=True)
        entry = {"repetition": repetition, "seed": repetition, "threads": threads}
        time.sleep(PAUSE)
        try:
            entry |= work_once(out)
        except Stopped as reason:
            stopped.add(contender)
            return note(contender, entry | {"stopped": str(reason)})
        if not is_large or repetition == 1:
            entry |= judged(judge, out)
        note(contender, entry)

    def started(peer: Contender) -> Process:
        if peer.name not in running:
            log = folder / f"{peer.module}.log"
            running[peer.name] = Process(peer, work, field.data, field.timeout, log)
        return running[peer.name]

    folder.mkdir(parents=True, exist_ok=True)
    try:
        for repetition in range(1, field.repetitions + 1):
            for one in field.ours:
                if one.name not in stopped:
                    run = lambda out: ours.run(field.program, one, work, field.data, repetition, field.timeout, out)
                    attempt(one.name, repetition, cores, run)
            for peer in field.peers:
                for threads in (cores, 1) if peer.blas and cores > 1 else (cores,):
                    if peer.name not in stopped:
                        attempt(peer.name, repetition, threads, lambda out: started(peer).run(repetition, threads, out))
                if is_large and peer.name in running:
                    running.pop(peer.name).end()
    finally:
        for process in running.values():
            process.end()
    return rows


def judged(judge: Judge, out: Path) -> dict:
    """The residuals and the figure of what a contender wrote."""
    if (out / "vectors.npy").exists():
        return {"figure": judge.figure_of_vectors(np.load(out / "vectors.npy"))}
    left, values, right = (np.load(out / f"{name}.npy") for name in ("left", "singular_values", "right"))
    forth, back = judge.worst_residuals(left, values, right)
    some = {"singular_values": [float(values[0]), float(values[-1])]}
    return {"figure": judge.figure(left, right), "residual_mv": forth, "residual_mtu": back} | some
