"""The record: what the server answers to some hundred requests over all of its APIs, byte for byte, so that a change of what
clients see is seen. `test_server_record.py --write` writes the answers anew: the difference in record/ is what to look at."""
import difflib
import re
import sys
import unittest

import support
from server_record import FOLDER, RecordFile, Servers
from wrong_values import WrongValues

SOURCES = support.SOURCE_DATA.parents[1] / "src"
ROUTES = SOURCES / "server" / "route_rows.cc"
APIS = SOURCES / "api" / "api.cc"


class Record(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.servers = cls.enterClassContext(Servers())

    def check(self, name):
        record = RecordFile(FOLDER / f"{name}.json")
        recorded, answers = record.recorded(), record.run(self.servers)
        self.assertEqual(sorted(recorded), sorted(answers), f"exchanges of {name}: write the record anew")
        for exchange in record.exchanges:
            with self.subTest(exchange["name"]):
                want, found = recorded[exchange["name"]], answers[exchange["name"]]
                difference = difflib.unified_diff(want.split("\n"), found.split("\n"), "recorded", "answered",
                                                  lineterm="", n=1)
                if want != found:
                    self.fail("\n".join([exchange["name"], *difference]))

    def test_every_route_is_asked(self):
        asked = {request_of(exchange) for name in names_of_files() for exchange in RecordFile(FOLDER / f"{name}.json").exchanges}
        for row in re.findall(r"\{(\.path = .*?)\}", ROUTES.read_text(encoding="utf-8").replace("{id}", "ID"), re.DOTALL):
            path = re.search(r'\.path = "([^"]*)"', row).group(1)
            method = re.search(r"\.method = verb::(\w+?)_?,", row)
            pattern = (method.group(1).upper() if method else "GET") + " " + re.escape(path).replace("ID", "[^/]+")
            self.assertTrue(any(re.fullmatch(pattern, request) for request in asked), pattern)
        for paths in re.findall(r"\.paths? = (.*)", APIS.read_text(encoding="utf-8")):
            for path in re.findall(r'"(/[^"]+)"', paths):
                self.assertIn(f"POST {path}", asked)

    def test_wrong_values_are_refused_in_the_recorded_words(self):
        for row, answer in WrongValues().answers(self.servers):
            with self.subTest(f"{row.api}: {row.path} = {row.value}"):
                self.assertEqual(row.recorded.split("\t"), answer.split("\t"), row)
                self.assertIn(answer.split("\t")[0], ("", "accepted"), row)  # what changes no answer may be of any form


def names_of_files():
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def request_of(exchange):
    return exchange["request"].split("?")[0]


def add_test(name):
    def test(self):
        self.check(name)
    setattr(Record, f"test_{name}_answers_as_recorded", test)


def write():
    with Servers() as asked:
        for name in names_of_files():
            record = RecordFile(FOLDER / f"{name}.json")
            record.write(record.run(asked))
        WrongValues.write(WrongValues().answers(asked))


for file_name in names_of_files():
    add_test(file_name)

if __name__ == "__main__":
    if "--write" in sys.argv:
        write()
    else:
        unittest.main()
