#!/usr/bin/env python3
"""Draws what `bench_simulate --format csv` printed: two panels over the rate of arrivals, a curve for each policy.

    bench_simulate --format csv > simulation.csv
    plot_simulation.py simulation.csv --out simulation.svg
"""
import argparse
import csv

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402 - the backend comes first

COLOURS = {"PrefillFirst": "#d9730d", "Interleaved": "#0b6e99", "DecodePriority": "#0f7b6c"}
PANELS = (("first", "time to the first token"), ("gap", "time between tokens"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    with open(args.csv, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["requests"] == "all"]
    matplotlib.rcParams.update({"svg.hashsalt": "octavo",  # the same figures give the same file
                                "svg.fonttype": "none", "font.family": "sans-serif"})
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
    for axis, (column, title) in zip(axes, PANELS):
        for policy, colour in COLOURS.items():
            own = [row for row in rows if row["policy"] == policy]
            rates = [float(row["rate"]) for row in own]
            for share, style in (("p50", ":"), ("p99", "-")):
                axis.plot(rates, [float(row[f"{column}_{share}_ms"]) for row in own], style, color=colour, marker="o",
                          markersize=3, label=f"{policy}, {share}")
        axis.set_yscale("log")
        axis.set_xlabel("requests/s")
        axis.set_ylabel("ms")
        axis.set_title(title, fontsize=11)
        axis.grid(True, color="#ddd")
    axes[1].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(args.out, metadata={"Date": None})


if __name__ == "__main__":
    main()
