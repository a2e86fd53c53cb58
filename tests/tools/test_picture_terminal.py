"""The recording of a terminal: what stays, what was erased, and when."""
import unittest
import xml.etree.ElementTree

import picture_terminal
from picture_terminal import Screen, draw, play


def drawn(screen):
    """(row, column, text, since, until) of everything, in the order of rows and columns."""
    return sorted((row, column, text, since, until) for row, column, text, _, since, until in screen.runs())


class Recording(unittest.TestCase):
    def test_text_stays_from_the_moment_it_is_written(self):
        screen = Screen()
        screen.write("Hel", 1.0)
        screen.write("lo\r\nyou", 2.0)
        self.assertEqual(drawn(screen), [(0, 0, "Hel", 1.0, None), (0, 3, "lo", 2.0, None), (1, 0, "you", 2.0, None)])

    def test_a_line_is_broken_where_the_terminal_breaks_it(self):
        screen = Screen(columns=4)
        screen.write("abcdef", 0.5)
        self.assertEqual(drawn(screen), [(0, 0, "abcd", 0.5, None), (1, 0, "ef", 0.5, None)])

    def test_a_progress_bar_is_drawn_once_and_goes(self):
        screen = Screen()
        for percent, now in ((10, 1.0), (20, 2.0)):
            screen.write(f"\r\x1b[Kloading {percent} %", now)
        screen.write("\r\x1b[Kanswer", 3.0)
        self.assertEqual(drawn(screen), [(0, 0, "answer", 3.0, None), (0, 0, "loading", 1.0, 3.0),
                                         (0, 8, "1", 1.0, 2.0), (0, 8, "2", 2.0, 3.0), (0, 9, "0 %", 1.0, 3.0)])

    def test_other_control_characters_are_refused(self):
        with self.assertRaisesRegex(ValueError, "found '.x1b' in the output"):
            Screen().write("\x1b[31mred", 0)

    def test_the_drawing_is_an_svg_that_shows_the_last_screen_without_animation(self):
        screen, length = play('octavo run "a < b & c"', [(0.5, "x\r\n"), (0.9, "3 tokens, 2 tokens/s\r\n")])
        self.assertGreater(length, picture_terminal.HOLD_S)
        root = xml.etree.ElementTree.fromstring(draw(screen, length, "A < title"))
        texts = [text for text in root.iter("{http://www.w3.org/2000/svg}text") if text.get("visibility") is None]
        self.assertEqual("".join(text.text for text in texts).replace(" ", ""),
                         '$octavorun"a<b&c"x3tokens,2tokens/s$')


if __name__ == "__main__":
    unittest.main()
