"""Control of the process of a contender: it loads, and then works on command."""

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

from .contenders import Contender
from .works import Work


class Stopped(Exception):
    """The contender cannot do this work; the message has the reason."""


class Process:
    """A running contender. It is killed if a request takes longer than `timeout` seconds."""

    def __init__(self, command: list[str], order: dict, timeout: float, log: Path) -> None:
        self.timeout = timeout
        self.log = log
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONWARNINGS": "ignore"}
        with log.open("w") as stderr:
            self.child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=environment,
            )
        # Loading is not measured. It has a longer limit, because a compiler may have to run.
        answer = self._ask(order, timeout + 600)
        if "missing" in answer:
            self.end()
            raise Stopped(f"skipped: {answer['missing']}")

    @classmethod
    def of_peer(cls, peer: Contender, work: Work, data: Path, timeout: float, log: Path) -> "Process":
        edges = str(work.edges) if work.edges else None
        order = {"peer": peer.name, "work": work.name, "edges": edges, "data": str(data)}
        return cls([sys.executable, "-m", "peers.measure"], order, timeout, log)

    def run(self, seed: int, threads: int, out: Path) -> dict:
        """One repetition; the answer of measure.py."""
        answer = self._ask({"seed": seed, "threads": threads, "out": str(out)}, self.timeout)
        if "failed" in answer:
            self.end()
            raise Stopped(f"failed: {answer['failed']}")
        return answer

    def end(self) -> None:
        self.child.kill()
        self.child.wait()

    def _ask(self, order: dict, timeout: float) -> dict:
        try:
            self.child.stdin.write((json.dumps(order) + "\n").encode())
            self.child.stdin.flush()
        except BrokenPipeError:
            pass
        line = b""
        deadline = time.monotonic() + timeout
        while not line.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.child.stdout], [], [], left)[0]:
                self.end()
                raise Stopped(f"did not finish in {timeout:.0f} s")
            part = os.read(self.child.stdout.fileno(), 1 << 16)
            if not part:
                self.end()
                last = (self.log.read_text(errors="replace").strip().splitlines() or ["no message"])[-1]
                raise Stopped(f"ended with code {self.child.returncode}: {last[:200]}")
            line += part
        return json.loads(line)
