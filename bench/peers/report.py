"""The figures as a table for people, as a section of bench/results/peers.md, and as a drawing."""
import statistics
from typing import NamedTuple

OF_THE_LIMIT = 0.85  # of what this machine can do: nobody is asked for more


class Figures(NamedTuple):
    """One row of the table; rates in tokens/s, medians over rounds."""

    file: str
    row: str
    octavo: float
    llama_cpp: float
    ratio: float  # the median of the rounds' ratios
    low: float  # the least and the greatest of them
    high: float
    limit: float
    bound: str
    goal: float | None
    rounds: int

    @property
    def wanted(self):
        """The goal as tokens/s: the ratio's, or 85 % of the limit where that is less."""
        return None if self.goal is None else min(self.goal * self.llama_cpp, OF_THE_LIMIT * self.limit)

    @property
    def met(self):
        return None if self.goal is None else self.ratio >= self.wanted / self.llama_cpp


def figures(file, row, rounds, avx2):
    ratios = [r["octavo"] / r["llama_cpp"] for r in rounds]
    median = {key: statistics.median(r[key] for r in rounds) for key in ("octavo", "llama_cpp", "limit")}
    return Figures(file.title, row.name, median["octavo"], median["llama_cpp"], statistics.median(ratios), min(ratios),
                   max(ratios), median["limit"], rounds[-1]["bound"], row.avx2_goal if avx2 else row.goal, len(rounds))


def verdict(f):
    if f.goal is None:
        return "-", "-"
    by_limit = f.wanted < f.goal * f.llama_cpp
    goal = f"{f.goal:g} ×" + (f", or 85 % of the limit: {f.wanted:.0f}" if by_limit else "")
    return goal, "met" if f.met else f"missed: {100 * f.octavo / f.wanted:.0f} %"


def table(all_figures):
    lines = ["| file | row | Octavo | llama.cpp | ratio (least to greatest) | limit of this machine | of the limit "
             "| goal | met? |", "|---|---|--:|--:|--:|--:|--:|---|---|"]
    for f in all_figures:
        goal, met = verdict(f)
        lines.append(f"| {f.file} | {f.row} | {f.octavo:.1f} | {f.llama_cpp:.1f} "
                     f"| **{f.ratio:.2f}** ({f.low:.2f} to {f.high:.2f}) | {f.limit:.0f} ({f.bound}) "
                     f"| {100 * f.octavo / f.limit:.0f} % | {goal} | {met} |")
    return lines


def machine_lines(rounds):
    """What the machine was in these rounds: its rates drift, so the least and the greatest are told."""
    machines = [r["machine"] for r in rounds]
    first = machines[0]

    def span(key):
        values = sorted(m[key] for m in machines)
        return f"{values[len(values) // 2]:.0f} ({values[0]:.0f} to {values[-1]:.0f})"

    return [f"{first['cpu']}, {first['threads']} threads, Octavo with `--isa {first['isa']}`. Measured by each of the "
            f"{len(machines)} runs of `octavo bench`, median and span: reads {span('read_gb_per_s')} GB/s, "
            f"{span('int8_gops')} int8 GOPS, {span('float_gflops')} float GFLOPS."]


def load_table(rounds_by_file):
    """How long Octavo takes from opening a file to a model that is ready; the file may be in the page cache."""
    lines = ["| file | weights, MB | ready in, s |", "|---|--:|--:|"]
    for title, rounds in rounds_by_file.items():
        seconds = statistics.median(r["load_s"] for r in rounds)
        lines.append(f"| {title} | {rounds[0]['weight_bytes'] / 1e6:.0f} | {seconds:.2f} |")
    return lines


def replace_section(path, name, lines):
    """Puts lines between the marks of a section of a Markdown file."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    text = path.read_text(encoding="utf-8")
    if text.count(begin) != 1 or text.count(end) != 1:
        raise SystemExit(f"{path}: expected the marks {begin} and {end}, each once")
    head, rest = text.split(begin)
    tail = rest.split(end)[1]
    path.write_text("\n".join([head + begin, "", *lines, "", end + tail]), encoding="utf-8")


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def drawing(all_figures, title):
    """SVG: a bar for each ratio, a mark at its goal, a line at 1."""
    left, width, bar, top = 530, 460, 20, 60
    height = top + bar * len(all_figures) + 30
    most = max(max(f.ratio, (f.wanted or 0) / f.llama_cpp) for f in all_figures) * 1.12
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 20}" height="{height}" '
           f'viewBox="0 0 {left + width + 20} {height}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="10" y="22" font-size="15">{escaped(title)}</text>',
           '<text x="10" y="42" fill="#555">times llama.cpp on the same machine in the same run; '
           'the mark is the goal (a ratio, or 85 % of the machine\'s limit)</text>']
    for i, f in enumerate(all_figures):
        y = top + bar * i
        colour = "#999" if f.met is None else "#0f7b6c" if f.met else "#d9730d"
        length = width * f.ratio / most
        out.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{escaped(f.file)} · {f.row}</text>')
        out.append(f'<rect x="{left}" y="{y + 3}" width="{length:.1f}" height="{bar - 6}" fill="{colour}"/>')
        out.append(f'<text x="{left + length + 5:.1f}" y="{y + 14}">{f.ratio:.2f}</text>')
        if f.wanted is not None:
            x = left + width * f.wanted / f.llama_cpp / most
            out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + bar}" stroke="black" stroke-width="2"/>')
    x = left + width / most
    out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{height - 26}" stroke="#555" stroke-dasharray="3"/>')
    out.append("</svg>")
    return "\n".join(out) + "\n"
