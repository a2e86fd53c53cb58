#!/usr/bin/env python3
"""Draws what bench_matmul printed: the operations a second of a product, and the weight bytes it reads, over its rows.

    bench_matmul --types Q4_1,Q8_0,Q4_K,Q6_K,Q1_0 > matmul.md
    plot_matmul.py matmul.md --out matmul.svg

Of several files the best figure of each case counts: a machine that is shared is never faster than it is.
"""
import argparse
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402 - the backend comes first

COLOURS = ("#0b6e99", "#d9730d", "#0f7b6c", "#ad1a72", "#6940a5", "#64473a", "#999999", "#333333")
LINE = re.compile(r"^\| (\w+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|")


def read_cases(paths):
    """{type: {rows: (GB/s, GOPS)}}, and the peaks of reading in GB/s and of byte products in GOPS."""
    cases, reads, peaks = {}, [], []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                if not (found := LINE.match(line)):
                    continue
                kind, rows = found[1], int(found[2])
                gb, of_read, gops, of_peak = (float(found[i]) for i in range(3, 7))
                if of_read > 0:
                    reads.append(gb / of_read)
                if of_peak > 0.1:  # fewer digits say little about the peak
                    peaks.append(gops / of_peak)
                own = cases.setdefault(kind, {})
                own[rows] = max(own.get(rows, (0, 0)), (gb, gops))
    return cases, sorted(reads)[len(reads) // 2], sorted(peaks)[len(peaks) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("markdown", nargs="+")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    cases, read, peak = read_cases(args.markdown)
    matplotlib.rcParams.update({"svg.hashsalt": "octavo",  # the same figures give the same file
                                "svg.fonttype": "none", "font.family": "sans-serif"})
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 4))
    panels = ((1, "int8 operations, GOPS", peak, "peak of byte products"),
              (0, "weights read, GB/s", read, "a plain read, median"))
    for axis, (value, title, limit, name) in zip(axes, panels):
        axis.axhline(limit, color="#999", linestyle=":", label=f"{name}: {limit:.0f}")
        for colour, (kind, by_rows) in zip(COLOURS, cases.items()):
            rows = sorted(by_rows)
            axis.plot(rows, [by_rows[r][value] for r in rows], color=colour, marker="o", markersize=3, label=kind)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log", base=2)
        axis.set_xticks(rows, [str(r) for r in rows], fontsize=7, rotation=60)
        axis.yaxis.set_major_formatter("{x:g}")
        axis.set_xlabel("rows")
        axis.set_title(title, fontsize=11)
        axis.grid(True, color="#ddd")
        axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(args.out, metadata={"Date": None})


if __name__ == "__main__":
    main()
