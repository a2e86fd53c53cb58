#!/usr/bin/env python3
"""Draws what bench_attention printed, time by bound from 4096 tokens up, and prints its table and how many cases hold.

    bench_attention > attention.md
    plot_attention.py attention.md --out attention.svg
"""
import argparse
import re
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402 - the backend comes first

CASE = re.compile(r"(\d+) · (\d+) · (\d+) · (\d+) · (\w+) · (in order|scattered)( · \d+ shared)?$")
COLUMNS = [(dim, group) for dim in (64, 128) for group in (1, 3, 4, 8)]
GOAL, FROM_DEPTH = 1.3, 4096


def read_cases(paths):
    """{type: {row name: ([GB/s of the plain loop], {(head_dim, group): time / bound})}}, and all peaks in G/s."""
    cases, peaks = {}, []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                fields = [field.strip() for field in line.split("|")]
                if len(fields) != 7 or not (found := CASE.match(fields[0])):
                    continue
                depth, batch, dim, group, kind, order, shared = found.groups()
                where = f"{shared.split()[1]} shared" if shared else order
                row = cases.setdefault(kind, {}).setdefault((int(depth), int(batch), where), ([], {}))
                row[0].append(float(fields[2]))
                row[1][int(dim), int(group)] = float(fields[6])
                peaks.append(float(fields[4].split(",")[1]))
    return cases, peaks


def rows_of(cases):
    """Depths in order, those that share a prefix last."""
    names = {name for by_row in cases.values() for name in by_row}
    return sorted(names, key=lambda name: ("shared" in name[2], *name))


def print_table(cases, peaks):
    print(f"peak of multiply-adds {min(peaks):.0f} to {max(peaks):.0f} G/s\n")
    print("| depth | batch | blocks | type | read GB/s | " + " | ".join(f"{d}/{g}" for d, g in COLUMNS) + " |")
    print("|---:|---:|---|---|---|" + "---:|" * len(COLUMNS))
    for name in rows_of(cases):
        for kind, by_row in cases.items():
            rates, ratios = by_row[name]
            figures = " | ".join(f"{ratios[c]:.2f}" if c in ratios else "" for c in COLUMNS)
            print(f"| {name[0]} | {name[1]} | {name[2]} | {kind} | {min(rates):.0f} to {max(rates):.0f} | {figures} |")
    print()
    for kind, by_row in cases.items():
        all_ratios = [r for name, (_, ratios) in by_row.items() if name[0] >= FROM_DEPTH for r in ratios.values()]
        print(f"{kind}: {sum(r <= GOAL for r in all_ratios)} of {len(all_ratios)} within {GOAL}, "
              f"{min(all_ratios):.2f} to {max(all_ratios):.2f}")


def draw(cases, out):
    names = [name for name in rows_of(cases) if name[0] >= FROM_DEPTH]
    figure, axes = plt.subplots(1, len(cases), figsize=(4.1 * len(cases) + 1.6, 0.42 * len(names) + 1.3), sharey=True)
    for axis, (kind, by_row) in zip(axes if len(cases) > 1 else [axes], cases.items()):
        grid = [[by_row[name][1].get(c, float("nan")) for c in COLUMNS] for name in names]
        axis.imshow(grid, cmap="RdYlGn_r", vmin=0.8, vmax=2 * GOAL - 0.8, aspect="auto")
        for y, row in enumerate(grid):
            for x, ratio in enumerate(row):
                axis.text(x, y, f"{ratio:.2f}", ha="center", va="center", fontsize=8,
                          fontweight="bold" if ratio > GOAL else "normal")
        axis.set_title(kind)
        axis.set_xticks(range(len(COLUMNS)), [f"{d}/{g}" for d, g in COLUMNS], fontsize=8)
        axis.set_xlabel("head_dim / query heads of a KV head", fontsize=8)
        axis.set_yticks(range(len(names)), [f"{d} x {b}, {where}" for d, b, where in names], fontsize=8)
    figure.suptitle(f"Time by bound: green is faster than {GOAL}, bold slower")
    figure.tight_layout()
    figure.savefig(out, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("markdown", nargs="+")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    matplotlib.rcParams.update({"svg.hashsalt": "octavo",  # the same figures give the same file
                                "svg.fonttype": "none", "font.family": "sans-serif"})
    cases, peaks = read_cases(args.markdown)
    if not cases:
        sys.exit("no case of bench_attention in " + ", ".join(args.markdown))
    print_table(cases, peaks)
    draw(cases, args.out)


if __name__ == "__main__":
    main()
