"""Runs isvd-dist and its peers in turn on the same files; prints and saves the results."""

import argparse
import os
import shutil
import sys
from datetime import date
from pathlib import Path

from . import contenders, graphs, ours, table, works
from .record import Record, about
from .rounds import Field, hold

HERE = Path(__file__).resolve().parents[1]
DEFAULT_WORKS = "ddi,ppi,facebook,hepth"
DEFAULT_OURS = [
    "ours",
    "ours, fresh process:fresh",
    "ours, to 0.02:embedding.tolerance=0.02;embedding.iterations=50",
]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run", description=__doc__)
    parser.add_argument("--program", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--again", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument(
        "--works", default=DEFAULT_WORKS, help="ddi, ppi, facebook, hepth and rmat-16 to rmat-20 [default: %(default)s]"
    )
    parser.add_argument("--peers", help="only those whose name contains one of these words [default: all]")
    parser.add_argument("--repetitions", type=int, default=3, help="of everyone [default: %(default)s]")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for a repetition [default: %(default)s]")
    parser.add_argument("--data", type=Path, default=os.environ.get("ISVD_DATA"), help="the folder of datasets")
    parser.add_argument("--rmat", type=Path, help="pairs of ids, .npy, in place of the generated ones of an rmat work")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="where to keep the output")
    parser.add_argument(
        "--ours",
        action="append",
        metavar="NAME[:KEY=VALUE;…]",
        help="ours with settings over the config's, and `fresh` for a process each time; the first is what ratios are to",
    )
    return parser.parse_args()


def work_of(name: str, given: argparse.Namespace) -> works.Work:
    if name in works.CONFIGS:
        return works.find(name, None)
    kind, _, scale = name.partition("-")
    if kind != "rmat" or not scale.isdigit():
        raise SystemExit(f"no work is called {name}: there are {', '.join(works.CONFIGS)} and rmat-N")
    edges = given.rmat.resolve() if given.rmat else graphs.rmat(int(scale), given.scratch)
    return works.find(name, edges)


def main() -> None:
    given = arguments()
    given.scratch.mkdir(parents=True, exist_ok=True)
    data = graphs.data_folder(Path(given.data) if given.data else None).resolve()
    field = Field(
        program=given.program.resolve(),
        again=given.again.resolve(),
        ours=[ours.parse(text) for text in given.ours or DEFAULT_OURS],
        peers=contenders.named(given.peers),
        data=data,
        scratch=given.scratch,
        repetitions=given.repetitions,
        timeout=given.timeout,
    )
    names = [name.strip() for name in given.works.split(",") if name.strip()]
    items = [work_of(name, given) for name in names]
    given.results.mkdir(parents=True, exist_ok=True)
    stem = given.results / f"{date.today()}-{'-'.join(names)}"
    with Record(stem.with_suffix(".jsonl")) as record, stem.with_suffix(".txt").open("w") as text:
        heading = about(field)
        record.add(heading)
        show(table.heading(heading), text)
        for work in items:
            folder = given.scratch / work.name
            rows = hold(field, work, record, folder)
            show(table.of(work, rows, [one.name for one in field.ours]), text)
            shutil.rmtree(folder, ignore_errors=True)
    print(f"kept in {stem}.jsonl and .txt", file=sys.stderr)


def show(lines: str, text) -> None:
    print(lines, flush=True)
    text.write(lines + "\n")
    text.flush()


main()
