"""A bar of how many requests have ended, by the package tqdm."""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Union

Progress = Union[bool, Callable[..., Any]]


def _nothing() -> None:
    pass


@contextlib.contextmanager
def progress_of(use_tqdm: Progress, total: int) -> Iterator[Callable[[], None]]:
    """A function that counts a request as ended. use_tqdm: True is tqdm's bar, a function makes one of its own, and
    False is none. Raises TypeError for others, and ImportError without tqdm."""
    if use_tqdm is False or use_tqdm is None:
        yield _nothing
        return
    make: Any = use_tqdm
    if use_tqdm is True:
        import tqdm.auto
        make = tqdm.auto.tqdm
    elif not callable(use_tqdm):
        raise TypeError(f"use_tqdm: found {use_tqdm!r:.60} ({type(use_tqdm).__name__}), expected True, False or what "
                        "makes a bar")
    with make(total=total, desc="Processed prompts") as bar:
        yield lambda: bar.update(1)
