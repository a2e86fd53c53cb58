#!/usr/bin/env python3
"""Draws a command of `octavo` as it is answered in a terminal: the program is run in a pseudo-terminal, everything it
writes is recorded with its time, and the recording becomes an SVG that plays it at the speed at which it happened.

    tools/picture_terminal.py docs/pictures/terminal.svg build/release/octavo run "Why is the sky blue?" --seed 1

A viewer without animation shows the last screen.
"""
import argparse
import os
import pty
import select
import shlex
import struct
import sys
import termios
import time
from html import escape
from itertools import groupby

COLUMNS = 80
CELL_WIDTH, LINE_HEIGHT, FONT_SIZE, PADDING, TITLE_HEIGHT = 8.4, 20, 14, 16, 30
KEY_S = 0.035  # the command is typed at this pace: the one thing that is not recorded
HOLD_S = 8.0  # the last screen stays so long before the recording begins again
SEEN_S = 0.03  # what comes and goes faster is not drawn
BACKGROUND, BAR, TEXT, PROMPT, QUIET = "#11151c", "#1d232d", "#d6dde6", "#7fd1a8", "#8b97a5"


class Screen:
    """A terminal of fixed width that remembers when each character came and went. It knows what `octavo` sends: text,
    newline, carriage return, and the erasing of a line to its end."""

    def __init__(self, columns=COLUMNS):
        self.columns, self.row, self.column = columns, 0, 0
        self.cells = {}  # (row, column): (character, style, since)
        self.gone = {}  # (row, column): [(character, style, since, until), ...]

    def write(self, text, now, style=TEXT):
        while text:
            if text.startswith("\x1b[K"):
                self.erase(now)
                text = text[3:]
                continue
            character, text = text[0], text[1:]
            if character == "\n":
                self.row, self.column = self.row + 1, 0
            elif character == "\r":
                self.column = 0
            elif character >= " ":
                self.put(character, now, style)
            else:
                raise ValueError(f"found {character!r} in the output, expected text, newlines or an erased line")

    def put(self, character, now, style):
        if self.column == self.columns:
            self.row, self.column = self.row + 1, 0
        place = (self.row, self.column)
        self.forget(place, now)
        since = now
        # Text that is erased and written again at once, as in a progress bar, has not changed for an onlooker.
        if place in self.gone and self.gone[place][-1][:2] == (character, style) and self.gone[place][-1][3] == now:
            since = self.gone[place].pop()[2]
            if not self.gone[place]:
                del self.gone[place]
        self.cells[place] = (character, style, since)
        self.column += 1

    def erase(self, now):
        for column in range(self.column, self.columns):
            self.forget((self.row, column), now)

    def forget(self, place, now):
        if place in self.cells:
            self.gone.setdefault(place, []).append((*self.cells.pop(place), now))

    def runs(self):
        """(row, column, text, style, since, until) of neighbours that came and went together; until None: stayed."""
        cells = [(*place, *cell, None) for place, cell in self.cells.items()]
        cells += [(*place, *cell) for place, gone in self.gone.items() for cell in gone if cell[3] - cell[2] >= SEEN_S]
        cells.sort(key=lambda cell: (cell[0], cell[4], cell[5] or 0, cell[3], cell[1]))
        numbered = [(cell, cell[1] - i) for i, cell in enumerate(cells)]
        for _, group in groupby(numbered, lambda c: (c[0][0], c[0][3:], c[1])):
            group = [cell for cell, _ in group]
            text = "".join(cell[2] for cell in group)
            if text.strip():  # viewers differ in what they make of spaces at the ends
                indent = len(text) - len(text.lstrip())
                yield (group[0][0], group[0][1] + indent, text.strip(), *group[0][3:])


def record(command):
    """(seconds since the start, text) of each piece that the command wrote in a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(command[0], command)
    import fcntl
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    start, pieces, rest = time.monotonic(), [], b""
    while True:
        select.select([terminal], [], [])
        try:
            data = os.read(terminal, 1 << 16)
        except OSError:  # Linux reports the other side's end so
            data = b""
        if not data:
            break
        rest += data
        whole = rest.decode("utf-8", "ignore")  # the beginning of a character waits for its end
        rest = rest[len(whole.encode()):]
        pieces.append((time.monotonic() - start, whole))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != 0:
        sys.exit(f"{shlex.join(command)}: exit code {code}\n{''.join(text for _, text in pieces)}")
    return pieces


def play(shown, pieces):
    """The screen after the whole recording, and its length in seconds."""
    screen, now = Screen(), 0.0
    screen.write("$ ", now, PROMPT)
    for character in shown:
        now += KEY_S
        screen.write(character, now)
    screen.write("\n", now)
    begin = now + 0.2
    last = max((i for i, (_, text) in enumerate(pieces) if "tokens/s" in text), default=None)
    for i, (seconds, text) in enumerate(pieces):
        now = begin + seconds
        screen.write(text, now, QUIET if i == last else TEXT)
    screen.write("$ ", now, PROMPT)
    return screen, now + HOLD_S


def draw(screen, length, title):
    width = round(screen.columns * CELL_WIDTH + 2 * PADDING)
    height = TITLE_HEIGHT + (screen.row + 1) * LINE_HEIGHT + PADDING
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           f'role="img" aria-label="{escape(title)}">',
           f"<title>{escape(title)}</title>",
           f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}">'
           f'<animate id="play" attributeName="opacity" from="1" to="1" begin="0s;play.end" dur="{length:.2f}s"/></rect>',
           f'<path d="M0 {TITLE_HEIGHT - 4}V8a8 8 0 0 1 8-8H{width - 8}a8 8 0 0 1 8 8V{TITLE_HEIGHT - 4}z" fill="{BAR}"/>']
    for i, color in enumerate(("#e0695f", "#e0b35f", "#6fbf73")):
        out.append(f'<circle cx="{PADDING + 4 + 18 * i}" cy="13" r="5.5" fill="{color}"/>')
    out.append('<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" '
               f'font-size="{FONT_SIZE}">')
    for row, column, text, style, since, until in screen.runs():
        x, y = PADDING + column * CELL_WIDTH, TITLE_HEIGHT + row * LINE_HEIGHT + FONT_SIZE
        if until is None:
            hidden, change = "", f'<set attributeName="visibility" to="hidden" begin="play.begin" dur="{since:.3f}s"/>'
        else:
            hidden = ' visibility="hidden"'
            change = (f'<set attributeName="visibility" to="visible" begin="play.begin+{since:.3f}s" '
                      f'dur="{max(until - since, 0.001):.3f}s"/>')
        out.append(f'<text x="{x:.1f}" y="{y}" textLength="{len(text) * CELL_WIDTH:.1f}" fill="{style}"{hidden}>'
                   f'{escape(text)}{change if since > 0 else ""}</text>')
    return "\n".join([*out, "</g>", "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", help="the SVG to write")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the program and its arguments")
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("expected a command")
    words = ["octavo", *arguments.command[1:]]
    shown = " ".join(f'"{word}"' if " " in word else word for word in words)
    screen, length = play(shown, record(arguments.command))
    with open(arguments.out, "w", encoding="utf-8") as file:
        file.write(draw(screen, length, f"A terminal in which {shown} is answered"))


if __name__ == "__main__":
    main()
