#!/usr/bin/env python3
"""What the last run of scripts/test took, the dearest first, with what the same took before.

    test_times.py BUILD                       the fifty dearest of each kind, and totals
    test_times.py --short BUILD               the ten dearest of all, what became dearer, and totals
    test_times.py --begin BUILD               begins a run: what is known so far becomes what was before
    test_times.py --write-costs FILE BUILD    writes the wall time of the tests that take long, for CTest's order

Times are seconds. BUILD/times.tsv has the rows of tools/timed.py: units, links, test programs, scripts of end-to-end tests,
other tests, clang-tidy's units. What was before is in the cache folder ($XDG_CACHE_HOME or ~/.cache, then
octavo/times/NAME.tsv for a build folder NAME): of everything the last time that it went well, so that a unit from
ccache still has its figures. Processor time is user and system time together.
"""
import argparse
import collections
import os
import pathlib
import sys

KINDS = {"unit": "units", "cached": "units from ccache", "link": "links", "program": "test programs",
         "script": "end-to-end scripts", "test": "other tests", "tidy": "units of clang-tidy"}
TESTS = ("program", "script", "test")
MANY, FEW = 50, 10
# What is less dearer than both is noise.
DEARER_S, DEARER_SHARE = 1.0, 0.1
LEAST_COST_S = 5.0

Row = collections.namedtuple("Row", "kind name wall cpu code")


def read(path):
    """(kind, name) -> the last row of it."""
    if not path.exists():
        return {}
    rows = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        kind, name, wall, user, system, code = line.split("\t")
        rows[kind, name] = Row(kind, name, float(wall), float(user) + float(system), int(code))
    return rows


def write(path, rows):
    """Whole or not at all: two runs may end at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.write_text("".join(f"{r.kind}\t{r.name}\t{r.wall:.3f}\t{r.cpu:.3f}\t0\t{r.code}\n" for r in rows.values()),
                       encoding="utf-8")
    partial.replace(path)


def begin(table, before):
    """What failed says nothing about what it takes."""
    write(before, read(before) | {key: row for key, row in read(table).items() if row.code == 0})
    table.unlink(missing_ok=True)


def difference(row, before):
    """Processor seconds more than before; none where one of both is not known."""
    last = before.get((row.kind, row.name))
    return row.cpu - last.cpu if last and row.code == 0 else None


def line_of(row, before):
    last, more = before.get((row.kind, row.name)), difference(row, before)
    known = f"{last.cpu:9.1f}" if last else " " * 8 + "-"
    return (f"{row.cpu:9.1f}{row.wall:9.1f}{known}" + (f"{more:+9.1f}" if more is not None else " " * 9)
            + f"  {row.name}" + (" (failed)" if row.code else ""))


HEADING = f"{'processor':>9}{'wall':>9}{'before':>9}{'more':>9}"


def dearest(rows, count):
    return sorted(rows, key=lambda row: (-row.cpu, row.name))[:count]


def dearer(now, before):
    """What takes more than before by more than noise, the most so first."""
    found = []
    for row in now.values():
        more = difference(row, before)
        if more is not None and more > DEARER_S and more > DEARER_SHARE * before[row.kind, row.name].cpu:
            found.append((more, row))
    return [row for _, row in sorted(found, key=lambda pair: (-pair[0], pair[1].name))]


def totals(now):
    """A line a kind: its processor time, its wall time (of all together, as if one came after the other), how many."""
    lines = []
    for kind, words in KINDS.items():
        rows = [row for row in now.values() if row.kind == kind]
        if rows:
            lines.append(f"{sum(r.cpu for r in rows):9.1f}{sum(r.wall for r in rows):9.1f}  {len(rows)} {words}")
    return lines


def report(now, before):
    lines = []
    for kind, words in KINDS.items():
        rows = [row for row in now.values() if row.kind == kind]
        if rows and kind != "cached":
            lines += [f"{words}:", HEADING, *(line_of(row, before) for row in dearest(rows, MANY)), ""]
    return [*lines, "in all:", *totals(now)]


def short_report(now, before):
    more = dearer(now, before)
    lines = ["the dearest:", HEADING, *(line_of(row, before) for row in dearest(now.values(), FEW))]
    if more:
        lines += ["dearer than before:", HEADING, *(line_of(row, before) for row in more[:MANY])]
    return [*lines, "in all:", *totals(now)]


def write_costs(path, rows):
    """Tests with their wall time in whole seconds, by name; what is quick has no line."""
    tests = [row for row in rows.values() if row.kind in TESTS and row.code == 0 and row.wall >= LEAST_COST_S]
    path.write_text("".join(f"{row.name}\t{row.wall:.0f}\n" for row in sorted(tests, key=lambda row: row.name)),
                    encoding="utf-8")


def table_before(build):
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base, "octavo", "times", f"{build.resolve().name}.tsv")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--begin", action="store_true")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--write-costs", type=pathlib.Path, metavar="FILE")
    parser.add_argument("build", type=pathlib.Path)
    args = parser.parse_args()
    table, before = args.build / "times.tsv", table_before(args.build)
    if args.begin:
        begin(table, before)
        return
    now, last = read(table), read(before)
    if not now:
        sys.exit(f"{table} has no row: build with -DOCTAVO_TIMES=ON, or run ctest")
    if args.write_costs:
        write_costs(args.write_costs, last | now)
    else:
        print("\n".join((short_report if args.short else report)(now, last)))


if __name__ == "__main__":
    main()
