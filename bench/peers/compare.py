#!/usr/bin/env python3
"""Times Octavo and llama.cpp in turn, on the same files in one run, and says where Octavo stands against its goals.

    compare.py --llama-cpp FOLDER [--octavo build/release/octavo] [--models FOLDER] [--rounds 3] [--quick]
               [--files KEY,... | --four] [--rows TEXT,...] [--isa avx2] [--write] [--again] [--list]

FOLDER is what tools/build_llama_cpp.sh built into; it is built first where it is not there. One round of a row is one
run of llama.cpp and one of Octavo, one after the other, so that a machine that slows down slows both. Octavo's run
measures first what the machine can do. Medians over the rounds are shown; large files get one round. --quick: one round
of everything, without the 8B files. Synthetic files and copies are made in --models once (15 GB with the 8B ones).
Files of over 10 GB are measured only where --files names them.

Rounds that are done are kept in MODELS/results-ISA.json and not repeated: a run that was cut short goes on. They are
thrown away when the octavo program has changed, and for the files named with --again.

--isa avx2 compares `octavo --isa avx2` with a llama.cpp built without AVX-512 and VNNI, and has goals of its own.
--four compares the four files of the picture in docs/benchmarks.md; with --write their table and picture are written.
--write puts the table into bench/results/peers.md and the drawing into docs/pictures/.
Needs: numpy, gguf (for the synthetic files); cmake, ninja, g++ (for llama.cpp).
"""
import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import programs
import report
from files import FILES, FOUR, ROOT, Models

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "octavo"


class Results:
    """Rounds that are done, on disk after each: {file: {row: [round, ...]}}."""

    def __init__(self, path, program, again):
        self.path = path
        self.fingerprint = hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()
        self.files = {}
        if path.exists():
            saved = json.loads(path.read_text(encoding="utf-8"))
            if saved["program"] == self.fingerprint:
                self.files = {key: rows for key, rows in saved["files"].items() if key not in again}

    def rounds(self, file, row):
        return self.files.setdefault(file.key, {}).setdefault(row.name, [])

    def save(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps({"program": self.fingerprint, "files": self.files}), encoding="utf-8")


def build_llama_cpp(folder, isa):
    binaries = folder / "avx2/bin" if isa == "avx2" else folder / "bin"
    if not (binaries / "llama-quantize").exists():
        print(f"building llama.cpp in {folder}", file=sys.stderr)
        subprocess.run([ROOT / "tools/build_llama_cpp.sh", "--isa", "avx2" if isa == "avx2" else "native", folder],
                       check=True, stdout=sys.stderr)
    return binaries


def built_by(binaries):
    """The line about the compiler that tools/build_llama_cpp.sh left beside the programs."""
    path = binaries / "built_by"
    return [path.read_text(encoding="utf-8").strip()] if path.exists() else []


def selected(args):
    """Pairs (file, its rows)."""
    keys = args.files.split(",") if args.files else [f.key for f in FILES]
    for key in keys:
        if key not in {f.key for f in FILES}:
            raise SystemExit(f"--files: found {key}, expected some of {', '.join(f.key for f in FILES)}")
    for file in FILES:
        if file.key not in keys or (args.quick and file.large) or (file.huge and not args.files):
            continue
        rows = [r for r in file.rows if not args.rows or any(text in r.name for text in args.rows.split(","))]
        if args.isa == "avx2" and not args.files:
            rows = [r for r in rows if r.avx2_goal]
        if rows:
            yield file, rows


def measure_round(args, binaries, models, file, row):
    theirs = programs.llama_cpp(binaries, models.path(file), row, args.threads)
    ours = programs.octavo(args.octavo, models.octavo_path(file), row, args.threads, args.isa)
    return {"llama_cpp": theirs, **ours}


def measure(args, binaries, models, results):
    """Round by round through a file's rows, so that all rows of a file see the same spells of the machine."""
    for file, rows in selected(args):
        wanted = 1 if args.quick or file.large else args.rounds
        for number in range(wanted):
            for row in rows:
                rounds = results.rounds(file, row)
                if len(rounds) > number:
                    continue
                rounds.append(measure_round(args, binaries, models, file, row))
                results.save()
                last = rounds[-1]
                print(f"{file.title}, {row.name}: octavo {last['octavo']:.1f}, llama.cpp {last['llama_cpp']:.1f}, "
                      f"ratio {last['octavo'] / last['llama_cpp']:.2f}", file=sys.stderr, flush=True)


def write(name, all_figures, lines, title):
    report.replace_section(ROOT / "bench/results/peers.md", name, lines)
    picture = ROOT / f"docs/pictures/{name}.svg"
    picture.write_text(report.drawing(all_figures, title), encoding="utf-8")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llama-cpp", type=pathlib.Path, required=True, metavar="FOLDER")
    parser.add_argument("--octavo", type=pathlib.Path, default=ROOT / "build/release/octavo")
    parser.add_argument("--models", type=pathlib.Path, default=CACHE / "peers")
    parser.add_argument("--default-model", type=pathlib.Path,
                        default=CACHE / "models/SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--gemma", type=pathlib.Path, default=CACHE / "test-data/gemma-3-270m-q4_k_m.gguf")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--isa", default="auto", choices=("auto", "avx2"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--files", metavar="KEY,...")
    parser.add_argument("--four", action="store_true", help="the files of the picture in docs/benchmarks.md")
    parser.add_argument("--rows", metavar="TEXT,...", help="only rows whose name contains one of these")
    parser.add_argument("--again", default="", metavar="KEY,...", help="throw these files' rounds away first")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--list", action="store_true", help="print the files' keys and rows")
    args = parser.parse_args()
    if args.four:
        if args.files or args.quick:
            parser.error("--four: found --files or --quick beside it, which name other files")
        args.files = ",".join(FOUR)
    return args


def main():
    args = parse_arguments()
    if args.list:
        for file, rows in selected(args):
            print(f"{file.key}: {', '.join(r.name for r in rows)}")
        return
    binaries = build_llama_cpp(args.llama_cpp, args.isa)
    models = Models(args.models, args.llama_cpp, args.default_model, args.gemma)
    results = Results(args.models / f"results-{args.isa}.json", args.octavo, args.again.split(","))
    measure(args, binaries, models, results)
    done = [(file, row, results.rounds(file, row)) for file, rows in selected(args) for row in rows]
    done = [d for d in done if d[2]]
    all_figures = [report.figures(*d, avx2=args.isa == "avx2") for d in done]
    if not all_figures:
        raise SystemExit("nothing was measured: --files and --rows leave no row")
    by_file = {}
    for file, _, rounds in done:
        if not file.octavo_reads:
            by_file.setdefault(file.title, []).extend(rounds)
    lines = [*report.machine_lines([r for d in done for r in d[2]]), *built_by(binaries), "", *report.table(all_figures), "",
             "Loading, medians:", "", *report.load_table(by_file)]
    print(*lines, sep="\n")
    if args.write:
        name = "peers_avx2" if args.isa == "avx2" else "four_files" if args.four else "peers"
        title = "Octavo and llama.cpp" + (", both with AVX2 only" if args.isa == "avx2" else "")
        write(name, all_figures, lines, title)


if __name__ == "__main__":
    main()
