"""Models that tests make on first use and keep in a folder: each is made once, and those that nobody uses go."""
import contextlib
import fcntl
import os
import time

MOST_BYTES = 12 << 30
LEAST_AGE_S = 3600


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
