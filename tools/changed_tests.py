#!/usr/bin/env python3
"""Says which tests a change needs first, for scripts/test --changed, and which it leaves to the whole run.

    changed_tests.py --build BUILD [--out FOLDER] [ROOT]

Changed is what differs from where the branch left main (or origin/main), committed or not, and new files. By the layers'
table (check_layers.py) a changed layer has its own tests and those of the layers that depend on it; where these are more than
four, those that depend on it through no other. tests/e2e/scripts_of_layers.tsv names its end-to-end scripts. A changed
test runs itself. BUILD must be configured: its CTest entries say which programs they run.

FOLDER gets "targets" (what ninja builds), "tests" (a regular expression for ctest -R), "tidy" and "format" (files for
check_tidy.py and check_format.py), a line each.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

import check_layers

MANY_DEPENDENTS = 4
FEW_SCRIPTS = 3
ALWAYS = {"layers.EveryIncludePointsDown", "sizes.FilesAndFunctionsAreSmallAndClassesWhole"}
CXX = {".h", ".cc", ".inl"}
FORMATTED = ("src", "include", "tests", "fuzz", "bench", "examples")

Entry = collections.namedtuple("Entry", "name words")


class Selection:
    def __init__(self):
        self.layers = set()     # whose tests and scripts run
        self.above = set()      # whose tests alone run
        self.scripts = set()    # of tests/e2e, by name
        self.patterns = {re.escape(name) for name in ALWAYS}
        self.left_out = []


def git(root, *words):
    return subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=False)


def changed_files(root):
    """Paths from the root; a file that was removed is one of them."""
    for name in ("main", "origin/main"):
        base = git(root, "merge-base", "HEAD", name)
        if base.returncode == 0:
            break
    else:
        sys.exit("neither main nor origin/main is a branch here")
    differ = git(root, "diff", "--name-only", "--no-renames", base.stdout.strip()).stdout
    new = git(root, "ls-files", "--others", "--exclude-standard").stdout
    return sorted(set((differ + new).splitlines()))


def dependents(layer):
    """Layers that depend on it, directly or through others."""
    found, fresh = set(), {layer}
    while fresh:
        fresh = {above for above, below in check_layers.ALLOWED.items() if below & fresh} - found
        found |= fresh
    return found


def nearest(layers):
    """Those that depend on no other of them."""
    return {one for one in layers if not any(one in dependents(other) for other in layers)}


def layers_that_include(root, header):
    pattern = re.compile(rf'[<"]{re.escape(header)}[>"]')
    return {path.relative_to(root / "src").parts[0] for path in (root / "src").rglob("*")
            if path.suffix in CXX and pattern.search(path.read_text(encoding="utf-8"))}


def programs_of(root, layer):
    """Names of the test programs of tests/LAYER."""
    file = root / "tests" / layer / "CMakeLists.txt"
    return re.findall(r"octavo_test\((\w+)", file.read_text(encoding="utf-8")) if file.exists() else []


def scripts_of_layers(root):
    rows = (line.split("\t") for line in (root / "tests/e2e/scripts_of_layers.tsv").read_text(encoding="utf-8").splitlines())
    return {row[0]: row[1].split() if len(row) > 1 else [] for row in rows}


def scripts_that_import(root, module):
    pattern = re.compile(rf"^(?:import|from) {re.escape(module)}\b", re.MULTILINE)
    return {path.stem.removeprefix("test_") for path in (root / "tests/e2e").glob("test_*.py")
            if pattern.search(path.read_text(encoding="utf-8"))}


def select_script(root, path, chosen):
    """A Python file of tests/e2e or tools."""
    if path.stem.startswith("test_") and path.parts[:2] == ("tests", "e2e"):
        chosen.scripts.add(path.stem.removeprefix("test_"))
        return
    scripts = scripts_that_import(root, path.stem)
    if len(scripts) > FEW_SCRIPTS:
        chosen.left_out.append(f"{path}: {len(scripts)} scripts of end-to-end tests import it")
    else:
        chosen.scripts |= scripts
    if path.parts[0] == "tools":
        chosen.patterns.add(rf"tools\.({re.escape(path.stem)}|checks)")


def select_test(root, path, chosen):
    """A file of tests/."""
    folder = path.parts[1]
    if path.parts[1:3] == ("e2e", "record"):
        chosen.scripts.add("server_record")
    elif folder == "e2e" and path.suffix == ".py":
        select_script(root, path, chosen)
    elif folder == "tools" and path.stem.startswith("test_"):
        chosen.patterns.add(rf"tools\.{re.escape(path.stem.removeprefix('test_'))}")
    elif folder in check_layers.ALLOWED:
        chosen.above.add(folder)
    elif folder == "emulated_isa":
        chosen.above |= {"kernels", "cpu"}
    elif folder in ("bench", "examples", "fuzz", "python"):
        chosen.patterns.add(rf"{folder}\..*")
    else:
        chosen.left_out.append(f"{path}: all tests may depend on it")


def select_source(root, path, chosen):
    """A file of src/ or include/."""
    if path.parts[0] == "src" and len(path.parts) > 2:
        chosen.layers.add(path.parts[1])
        return
    layers = layers_that_include(root, str(path.relative_to("include"))) if path.parts[0] == "include" else set()
    near = layers if len(layers) <= MANY_DEPENDENTS else nearest(layers) | {path.stem} & layers
    chosen.layers |= {"public", path.stem} & (layers | {"public"})
    chosen.above |= near
    chosen.left_out += [f"{path}: tests of {layer}" for layer in sorted(layers - near)]


def select_file(root, path, chosen):
    top = path.parts[0]
    if top in ("src", "include"):
        select_source(root, path, chosen)
    elif top == "tests" and len(path.parts) > 2:
        select_test(root, path, chosen)
    elif top == "tools":
        select_script(root, path, chosen)
    elif path.suffix == ".md":
        chosen.patterns.add(r"tools\.documents")
    elif top in ("bench", "examples", "python"):
        chosen.patterns.add(rf"{top}\..*")
    elif top == "fuzz" and path.suffix == ".cc":
        chosen.patterns.add(rf"fuzz\.{re.escape(path.stem)}_on_random_inputs")
    elif top == "scripts":
        chosen.patterns.add(r"tools\.(scripts|reproduce)")
    else:
        chosen.left_out.append(f"{path}: all tests may depend on it")


def select(root, files):
    chosen = Selection()
    for file in files:
        select_file(root, pathlib.PurePosixPath(file), chosen)
    for layer in sorted(chosen.layers & set(check_layers.ALLOWED) - {"public"}):
        above = dependents(layer)
        near = above if len(above) <= MANY_DEPENDENTS else nearest(above)
        chosen.above |= near
        if above - near:
            chosen.left_out.append(f"{layer}: tests of {', '.join(sorted(above - near))}, which depend on it through others")
    scripts = scripts_of_layers(root)
    for layer in chosen.layers:
        chosen.scripts |= set(scripts.get(layer, ()))
    for layer in chosen.layers | chosen.above:
        for program in programs_of(root, layer):
            chosen.patterns.add(rf"{program}(\.\d+of\d+)?")
    for layer in chosen.layers:
        chosen.patterns.add(rf"{layer}\..*|fuzz\.fuzz_{layer}(_\w+)?_on_random_inputs")
    chosen.patterns |= {rf"e2e\.{script}" for script in chosen.scripts}
    return chosen


def read_entries(build):
    """CTest's entries with all the words of their commands and environments."""
    told = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True).stdout
    entries = []
    for test in json.loads(told)["tests"]:
        environment = next((p["value"] for p in test["properties"] if p["name"] == "ENVIRONMENT"), [])
        entries.append(Entry(test["name"], test.get("command", []) + [v.partition("=")[2] for v in environment]))
    return entries


def targets_of(build, entries, known):
    """Files of the build folder that entries name, as ninja knows them."""
    inside = re.compile(re.escape(str(build)) + r"/([^\s;:]+)")
    return sorted(known & {path for entry in entries for word in entry.words for path in inside.findall(word)})


def known_targets(build):
    told = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], check=True, capture_output=True, text=True).stdout
    return {line.partition(":")[0] for line in told.splitlines()}


def read_by_tidy(root, files):
    """The changed sources, and the source beside a changed header."""
    found = set()
    for file in map(pathlib.PurePosixPath, files):
        source = file.with_suffix(".cc")
        if file.parts[0] == "src" and file.suffix in CXX and (root / source).exists():
            found.add(str(source))
    return sorted(found)


def read_by_format(root, files):
    return [file for file in files if pathlib.PurePosixPath(file).parts[0] in FORMATTED
            and pathlib.PurePosixPath(file).suffix in CXX and (root / file).exists()]


def say(files, entries, all_entries, chosen, tidy):
    print(f"{len(files)} files differ from main: layers {', '.join(sorted(chosen.layers)) or 'none'}; "
          f"{len(entries)} of {len(all_entries)} CTest entries run:")
    for entry in entries:
        print(f"  {entry.name}")
    print(f"clang-tidy reads {', '.join(tidy) or 'nothing'}")
    print("left out, for the whole run:")
    scripts = [e.name for e in all_entries if e.name.startswith("e2e.") and e not in entries]
    for line in [*chosen.left_out, f"{len(scripts)} scripts of end-to-end tests", "linters of other files, and what includes a "
                 "changed header"]:
        print(f"  {line}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("root", type=pathlib.Path, nargs="?", default=pathlib.Path(__file__).resolve().parents[1])
    args = parser.parse_args()
    build, root = args.build.resolve(), args.root.resolve()
    files = changed_files(root)
    chosen = select(root, files)
    wanted = re.compile("|".join(f"(?:{pattern})" for pattern in sorted(chosen.patterns)))
    all_entries = read_entries(build)
    entries = [entry for entry in all_entries if wanted.fullmatch(entry.name)]
    tidy = read_by_tidy(root, files)
    say(files, entries, all_entries, chosen, tidy)
    if args.out:
        plan = {"targets": targets_of(build, entries, known_targets(build)), "tidy": tidy,
                "format": read_by_format(root, files),
                "tests": ["^(" + "|".join(entry.name.replace(".", "[.]") for entry in entries) + ")$"]}
        for name, lines in plan.items():
            (args.out / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
