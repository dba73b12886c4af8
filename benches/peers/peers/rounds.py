"""Rounds: in each, every contender works once on the same graph, one after the other."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
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
# A number of threads that is slower than another by this factor is not measured again.
HOPELESS = 3


@dataclass(frozen=True)
class Field:
    """The contenders and their settings."""

    program: Path
    again: Path
    ours: list[Ours]
    peers: list[Contender]
    data: Path
    scratch: Path
    repetitions: int
    timeout: float


def hold(field: Field, work: Work, record: Record, folder: Path) -> list[dict]:
    """All repetitions of one work; every entry is recorded as it comes."""
    rounds = Rounds(field, work, record, folder)
    try:
        for repetition in range(1, field.repetitions + 1):
            rounds.one(repetition)
    finally:
        rounds.end()
    return rounds.rows


class Rounds:
    """The rounds of one work."""

    def __init__(self, field: Field, work: Work, record: Record, folder: Path) -> None:
        self.field, self.work, self.record, self.folder = field, work, record, folder
        folder.mkdir(parents=True, exist_ok=True)
        graph = graphs.load(work, field.data)
        self.judge = Judge(graph, work)
        self.is_large = graph.adjacency.nnz // 2 > LARGE
        self.rows: list[dict] = []
        self.running: dict[str, Process] = {}
        # Of a contender on a number of threads: the last time, infinite if it was stopped.
        self.seconds: dict[tuple[str, int], float] = {}

    def one(self, repetition: int) -> None:
        """Runs every contender once, isvd-dist first."""
        field, cores = self.field, os.cpu_count() or 1
        for one in field.ours:
            # The program renumbers a large graph first. The time of starting it is negligible then.
            is_fresh = one.is_fresh or self.is_large
            run = partial(self._run_fresh if is_fresh else self._run_ours, one, repetition)
            self._attempt(one.name, repetition, cores, run)
        for peer in field.peers:
            for threads in sorted({1, cores}) if peer.blas else [cores]:
                run = partial(self._run_peer, peer, repetition, threads)
                self._attempt(peer.name, repetition, threads, run)
            if self.is_large and peer.name in self.running:
                self.running.pop(peer.name).end()

    def end(self) -> None:
        for process in self.running.values():
            process.end()

    def _attempt(self, contender: str, repetition: int, threads: int, run: Callable[[Path], dict]) -> None:
        if self._is_hopeless(contender, threads):
            return
        entry = {"kind": "repetition", "work": self.work.name, "contender": contender}
        entry |= {"repetition": repetition, "seed": repetition, "threads": threads}
        out = self.folder / f"{contender}-{threads}"
        shutil.rmtree(out, ignore_errors=True)
        time.sleep(PAUSE)
        try:
            entry |= run(out)
            said = f"{entry['seconds']:.2f} s"
            if not self.is_large or repetition == 1:
                entry |= judged(self.judge, out)
        except Stopped as reason:
            self.running.pop(contender, None)
            said = entry["stopped"] = str(reason)
        self.seconds[contender, threads] = entry.get("seconds", inf)
        entry["load"] = os.getloadavg()[0]
        self.rows.append(entry)
        self.record.add(entry)
        print(f"{self.work.name}: {contender}, {threads} threads: {said}", file=sys.stderr)

    def _run_fresh(self, one: Ours, repetition: int, out: Path) -> dict:
        field = self.field
        return ours.run(field.program, one, self.work, field.data, repetition, field.timeout, out)

    def _run_ours(self, one: Ours, repetition: int, out: Path) -> dict:
        field = self.field
        if one.name not in self.running:
            self.running[one.name] = ours.start(field.again, one, self.work, field.data, field.timeout, self.folder)
        return self.running[one.name].run(repetition, os.cpu_count() or 1, out)

    def _run_peer(self, peer: Contender, repetition: int, threads: int, out: Path) -> dict:
        if peer.name not in self.running:
            log = self.folder / f"{peer.name}.log"
            self.running[peer.name] = Process.of_peer(peer, self.work, self.field.data, self.field.timeout, log)
        return self.running[peer.name].run(repetition, threads, out)

    def _is_hopeless(self, contender: str, threads: int) -> bool:
        """Whether it was stopped before, or was much faster on another number of threads."""
        last = self.seconds.get((contender, threads), 0)
        fastest = min((seconds for (name, _), seconds in self.seconds.items() if name == contender), default=0)
        return last == inf or last > HOPELESS * fastest


def judged(judge: Judge, out: Path) -> dict:
    """The residuals and the figure of the files of a contender."""
    if (out / "vectors.npy").exists():
        return {"figure": judge.figure_of_vectors(np.load(out / "vectors.npy"))}
    left, values, right = (np.load(out / f"{name}.npy") for name in ("left", "singular_values", "right"))
    forth, back = judge.worst_residuals(left, values, right)
    some = {"singular_values": [float(values[0]), float(values[-1])]}
    return {"figure": judge.figure(left, right), "residual_mv": forth, "residual_mtu": back} | some
