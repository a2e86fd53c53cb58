#!/usr/bin/env python3
"""Models that tests make on first use and keep in a folder: each is made once, and those that nobody uses go.

    made_models.py --begin-run TEST_DATA      removes what the last whole run of the tests did not use

scripts/test says so before it runs all tests. A name has the hash of all that makes the file, so every change of a
tool leaves the old files to nobody. Not touched is what was used within the last hour: another run may be reading it.
"""
import argparse
import contextlib
import fcntl
import os
import pathlib
import time

MOST_BYTES = 12 << 30
LEAST_AGE_S = 3600
# What tests make, in the folder of their models; the time of change of each file is when it was last used.
MADE = ("synthetic/*.gguf", "float/*.gguf", "oracle/*.npy")
LAST_RUN = "last_run"  # an empty file there, as old as the beginning of the last whole run


def forget_unused(folder, most_bytes=MOST_BYTES):
    """Removes the longest unused models of a folder until it holds at most `most_bytes`: a change of what makes them
    leaves the old ones to nobody. Those used within the last hour stay, for somebody may be reading them."""
    known = {}
    for path in folder.glob("*.gguf"):
        with contextlib.suppress(FileNotFoundError):  # another script removed it
            known[path] = path.stat()
    excess = sum(stat.st_size for stat in known.values()) - most_bytes
    for path, stat in sorted(known.items(), key=lambda item: item[1].st_mtime):
        if excess <= 0 or stat.st_mtime > time.time() - LEAST_AGE_S:
            return
        path.unlink(missing_ok=True)
        excess -= stat.st_size


def begin_run(test_data, now=None):
    """Removes what was not used since the last run began, and notes that another one begins. Returns the bytes that are
    free again."""
    now, note, freed = now or time.time(), test_data / LAST_RUN, 0
    before = min(note.stat().st_mtime, now - LEAST_AGE_S) if note.exists() else 0
    for path in (path for pattern in MADE for path in test_data.glob(pattern)):
        with contextlib.suppress(FileNotFoundError):  # another run removed it
            stat = path.stat()
            if stat.st_mtime < before:
                path.unlink()
                freed += stat.st_size
    test_data.mkdir(parents=True, exist_ok=True)
    note.touch()
    os.utime(note, (now, now))
    return freed


def make_once(path, write):
    """Has write(path) make a model where it is not there yet; of two scripts at the same time, one waits for the other.
    Its time of change says when it was last used. Returns the path."""
    with contextlib.suppress(FileNotFoundError):
        os.utime(path)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    forget_unused(path.parent)
    lock, partial = path.with_suffix(".lock"), path.with_suffix(f".{os.getpid()}.partial")
    with open(lock, "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not path.exists():
            write(partial)
            partial.rename(path)  # a run that is cut short leaves no half-written file under the final name
        lock.unlink(missing_ok=True)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--begin-run", type=pathlib.Path, required=True, metavar="TEST_DATA")
    freed = begin_run(parser.parse_args().begin_run)
    if freed:
        print(f"removed {freed / (1 << 20):.0f} MiB of models that the last run did not use")


if __name__ == "__main__":
    main()
