#!/usr/bin/env python3
"""Runs a command and appends what it took to a table, for builds and tests alike (docs/building.md).

    python3 -I -S timed.py TABLE KIND NAME COMMAND...

A row of TABLE is KIND, NAME, the seconds of wall time, of user and of system time, and the exit code, between tabs. NAME
"-o" stands for the file that a compiler's -o names. A unit that ccache had already is of kind "cached". The command's
exit code, or the signal that ended it, becomes that of this program; it imports little, because it starts a thousand
times in a run.
"""
import os
import signal
import sys
import time


def append(table, kind, name, wall, user, system, code):
    """One write, so that programs may append at the same time."""
    row = f"{kind}\t{name}\t{wall:.3f}\t{user:.3f}\t{system:.3f}\t{code}\n"
    file = os.open(table, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(file, row.encode())
    finally:
        os.close(file)


def was_cached(log):
    """Whether ccache's log of one compilation tells of a hit; removes the log. Without ccache there is none."""
    try:
        with open(log, encoding="utf-8") as file:
            text = file.read()
        os.unlink(log)
    except FileNotFoundError:
        return False
    return "_cache_hit" in text


def run(command, environment):
    """(status as wait() has it, what the command used)."""
    child, early = None, []

    def forward(number, _=None):
        if child:
            os.kill(child, number)
        else:
            early.append(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, forward)
    # An interrupt comes to the whole group of processes: the command's own end is waited for.
    signal.signal(signal.SIGINT, lambda *_: None)
    try:
        child = os.posix_spawnp(command[0], command, environment)
    except OSError as error:
        sys.exit(f"timed.py: {command[0]}: {error.strerror}")
    for number in early:
        forward(number)
    _, status, used = os.wait4(child, 0)
    return status, used


def end_as(status):
    """Ends this program as the command ended."""
    if not os.WIFSIGNALED(status):
        sys.exit(os.waitstatus_to_exitcode(status))
    import resource  # pylint: disable=import-outside-toplevel
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
    os.kill(os.getpid(), os.WTERMSIG(status))


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    table, kind, name, *command = sys.argv[1:]
    if name == "-o":
        name = command[command.index("-o") + 1] if "-o" in command[:-1] else command[-1]
    environment = dict(os.environ)
    log = f"{table}.{os.getpid()}"
    if kind == "unit":
        environment["CCACHE_STATSLOG"] = log
    began = time.monotonic()
    status, used = run(command, environment)
    wall = time.monotonic() - began
    if kind == "unit" and was_cached(log):
        kind = "cached"
    append(table, kind, name, wall, used.ru_utime, used.ru_stime, os.waitstatus_to_exitcode(status))
    end_as(status)


if __name__ == "__main__":
    main()
