"""isvd-dist: a process that has loaded the graph and embeds repeatedly, as the peers do, or a fresh process each time.

The clock of either starts when the graph is loaded.
"""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .process import Process, Stopped
from .works import Work, toml


@dataclass(frozen=True)
class Ours:
    """isvd-dist with settings that override the config, such as `embedding.tolerance=0.02`."""

    name: str
    settings: tuple[str, ...] = ()
    is_fresh: bool = False


def parse(text: str) -> Ours:
    """`NAME:KEY=VALUE;KEY=VALUE`, where `fresh` in place of a setting requests a fresh process each time."""
    name, _, settings = text.partition(":")
    parts = [part.strip() for part in settings.split(";") if part.strip()]
    return Ours(name.strip(), tuple(part for part in parts if part != "fresh"), "fresh" in parts)


def start(again: Path, ours: Ours, work: Work, data: Path, timeout: float, folder: Path) -> Process:
    """A process that has loaded the graph."""
    command = [str(again), str(configured(work, folder)), str(data), *ours.settings]
    return Process(command, {}, timeout, folder / f"{ours.name}.log")


def configured(work: Work, folder: Path) -> Path:
    config = folder / f"{work.name}.toml"
    config.write_text(toml(work.config))
    return config


def run(program: Path, ours: Ours, work: Work, data: Path, seed: int, timeout: float, out: Path) -> dict:
    """One repetition in a fresh process, in the format of measure.py."""
    out.mkdir(parents=True, exist_ok=True)
    command = [str(program), "--config", str(configured(work, out)), "--data", str(data), "--seed", str(seed), "--quiet"]
    command += ["--out", str(out), "--workers", str(os.cpu_count() or 1)]
    for setting in ours.settings:
        command += ["--set", setting]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Stopped(f"did not finish in {timeout:.0f} s") from None
    if done.returncode != 0:
        raise Stopped(f"failed: {(done.stderr.strip().splitlines() or ['no message'])[0][:200]}")
    metrics = json.loads((out / "metrics.json").read_text())
    stage = metrics["stages"][0]
    return {
        "seconds": stage["seconds"],
        "columns": stage.get("operator_columns"),
        "peak_bytes": metrics["peak_memory_bytes"],
        "certificate": stage.get("max_relative_residual"),
        "own_figures": stage.get("test"),
    }


def version(program: Path) -> str:
    return subprocess.run([str(program), "--version"], capture_output=True, text=True, check=True).stdout.strip()
