"""Tables of results."""

from statistics import median

from .works import Work

MB = 1e6


def heading(about: dict) -> str:
    """Date, machine and versions."""
    versions = [f"{name} {number or '(not installed)'}" for name, number in about["versions"].items()]
    lines = [
        f"date: {about['date']}",
        f"machine: {about['machine']}; load before the run {about['load']:.1f}",
        f"versions: {about['program']}; python {about['python']}, {', '.join(versions)}",
        f"repetitions: {about['repetitions']}; at most {about['timeout']:.0f} s each",
    ]
    lines += [f"{name}: {'; '.join(settings)}" for name, settings in about["ours"].items() if settings]
    return "\n".join(lines)


def of(work: Work, rows: list[dict], ours: list[str]) -> str:
    """The table of one work. Ratios are to the first variant of isvd-dist."""
    figure = work.metric or "figure"
    loads = [row["load"] for row in rows]
    title = f"{work.name}: rank {work.rank}, window {work.matrix.window}, λ {work.matrix.negative}"
    lines = ["", f"{title}; load {min(loads):.1f} to {max(loads):.1f}"]
    lines.append(
        f"{'':32}{figure:>8}{'residual':>10}{'columns':>9}{'best s':>9}{'median s':>10}{'ratio':>8}{'MB':>8}{'ratio':>7}"
        f"{'threads':>9}"
    )
    base = None
    for name in dict.fromkeys(row["contender"] for row in rows):
        best = fastest([row for row in rows if row["contender"] == name])
        if isinstance(best, str):
            lines.append(f"{name:<32}{best}")
            continue
        seconds = median(row["seconds"] for row in best)
        memory = max(row["peak_bytes"] for row in best) / MB
        if base is None and name in ours:
            base = seconds, memory
        lines.append(
            f"{name:<32}"
            f"{shown([row.get('figure') for row in best], '{:.4f}'):>8}"
            f"{shown([worst(row) for row in best], '{:.0e}'):>10}"
            f"{shown([row.get('columns') for row in best], '{:.0f}'):>9}"
            f"{min(row['seconds'] for row in best):>9.3f}{seconds:>10.3f}{ratio(seconds, base, 0):>8}"
            f"{memory:>8.0f}{ratio(memory, base, 1):>7}"
            f"{best[0]['threads']:>9}"
        )
    return "\n".join(lines)


def fastest(rows: list[dict]) -> list[dict] | str:
    """The repetitions with the fastest number of threads, or the reason why there are none."""
    stopped = [row["stopped"] for row in rows if "stopped" in row]
    groups: dict[int, list[dict]] = {}
    for row in rows:
        if "seconds" in row:
            groups.setdefault(row["threads"], []).append(row)
    if not groups:
        return stopped[0]
    return min(groups.values(), key=lambda group: median(row["seconds"] for row in group))


def worst(row: dict) -> float | None:
    """The larger residual of the two sides."""
    return max(row["residual_mv"], row["residual_mtu"]) if "residual_mv" in row else None


def shown(values: list[float | None], form: str) -> str:
    """The median of the available values."""
    known = [value for value in values if value is not None]
    return form.format(median(known)) if known else "–"


def ratio(value: float, base: tuple[float, float] | None, which: int) -> str:
    return f"{value / base[which]:.2f}" if base else "–"
