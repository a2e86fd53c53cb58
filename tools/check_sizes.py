#!/usr/bin/env python3
"""Checks that files and functions of the sources stay small, a class in one file, and that indexes are cast in one way.

    check_sizes.py ROOT         reads ROOT/src and ROOT/include; prints each problem, exit code 1 where there is one

A file has at most 600 lines, a header and its source together 700, a function 60 from its first line to its closing
brace. The member functions of a class that are not in a header are defined in one .cc; a nested type is a class of its
own. An index becomes std::size_t by to_size() of base/to_size.h.

EXCEPTIONS has what is longer, up to a limit of its own, each with its reason.
"""
import collections
import pathlib
import re
import sys

MAX_FILE_LINES = 600
MAX_UNIT_LINES = 700
MAX_FUNCTION_LINES = 60
SUFFIXES = {".h", ".cc", ".inl"}

Longer = collections.namedtuple("Longer", "limit reason")
# Name of a file, unit, function or class -> how long it may be or how many files it may have, and why.
EXCEPTIONS = {}

# Kernels and public headers are plain: they cannot include base/to_size.h, which needs the cast itself.
CAST = "static_cast<std::size_t>("
FREE_TO_CAST = ("src/kernels/", "include/", "src/base/to_size.h")
# Casts of other values -> the reason why they are no index.
OTHER_CASTS = {
    "multiply_adds * kBytesPerMultiplyAdd": "a double: the time of products in bytes",
    "std::min((max - logit) * kBucketsPerNat": "a float: the bucket of a logit",
}

UNNAMED = "(unnamed)"  # a namespace whose types no other file can see
TOKENS = re.compile(r"""
    //[^\n]*                                                  # comments
  | /\*.*?\*/
  | R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"                # texts
  | "(?:\\.|[^"\\\n])*"
  | (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'                       # a character, not a separator of digits
  | ^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*                            # directives
""", re.VERBOSE | re.DOTALL | re.MULTILINE)
NAMESPACE = re.compile(r'^(?:inline\s+)?namespace\b\s*(?P<name>[\w:]*)|^extern\s*$')
TYPE = re.compile(r"^(?:typedef\s+)?(?:class|struct|union)\b(?:\s+(?:alignas\([^)]*\)|\[\[[^\]]*\]\]))*"
                  r"\s*(?P<name>[\w:]*)")
ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)\)?")
AFTER_PARAMETERS = re.compile(r"\)\s*(?:const\s*|noexcept(?:\([^()]*\))?\s*)*:(?!:)")
# The name of a member function with its class in front; types begin with a capital letter, namespaces do not.
MEMBER_FUNCTION = re.compile(r"(?P<owner>(?:\w+::)*[A-Z]\w*)::(?:operator\b.*|~?\w+)\s*$", re.DOTALL)


def without_texts(source):
    """The source with blanks in place of comments, texts and directives, line by line as it was."""
    return TOKENS.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), source)


def without_template_arguments(text):
    while (shorter := re.sub(r"(?<=\w)\s*<[^<>;{}]*>", "", text)) != text:
        text = shorter
    return text


def owner_of(plain_head):
    """The class that a definition outside of its class names, as `octavo::Pool<T>::take()` does; "" in other heads."""
    name = without_template_arguments(ATTRIBUTE.sub("", plain_head)).replace("decltype(auto)", "auto").partition("(")[0]
    match = MEMBER_FUNCTION.search(name)
    return match.group("owner") if match else ""


Scope = collections.namedtuple("Scope", "kind name")


class Reader:
    """Walks the braces of a source and notes its functions."""

    def __init__(self, source):
        self.text = without_texts(source)
        self.partner = self.match_braces()
        self.functions = []  # (name, line, length)
        self.owners = {}  # name of a class with its namespaces -> line of its first member function outside of it
        self.read(0, len(self.text), Scope("namespace", ""))

    def match_braces(self):
        partner, stack = {}, []
        for match in re.finditer(r"[{}]", self.text):
            if match.group() == "{":
                stack.append(match.start())
            elif stack:
                partner[stack.pop()] = match.start()
        if stack:
            raise ValueError(f"line {self.line_of(stack[-1])}: a brace that nothing closes")
        return partner

    def line_of(self, position):
        return self.text.count("\n", 0, position) + 1

    def read(self, begin, end, scope):
        """Reads the declarations between two positions of one scope."""
        head_begin, head = begin, ""
        position = begin
        while position < end:
            c = self.text[position]
            if c == ";":
                head, head_begin, position = "", position + 1, position + 1
            elif c == "{":
                close = self.partner[position]
                if self.opens_value(head, close):
                    position = close + 1
                    continue
                self.read_block(head.strip(), head_begin, position, close, scope)
                is_type = TYPE.match(self.plain_head(head)) is not None
                position = close + 1
                if is_type:  # may go on with the names of variables
                    head = "x " if self.text[position:end].lstrip()[:1] != ";" else ""
                else:
                    head = ""
                head_begin = position
            else:
                if c == ":" and re.search(r"\b(?:public|private|protected)$", head.rstrip()):
                    head, head_begin = "", position + 1
                else:
                    head += c
                position += 1

    @staticmethod
    def plain_head(head):
        """The head of a declaration without template parameters and attributes."""
        head = head.strip()
        while head.startswith(("template", "requires")):
            depth = 0
            for i, c in enumerate(head):
                if c in "<(":
                    depth += 1
                elif c in ">)":
                    depth -= 1
                    if depth == 0:
                        head = head[i + 1:].strip()
                        break
            else:
                return head
        return head

    def opens_value(self, head, close):
        """Whether the brace behind `head` begins a value and no body."""
        plain = self.plain_head(head)
        if NAMESPACE.match(plain) or TYPE.match(plain) or re.match(r"(?:typedef\s+)?enum\b", plain):
            return False
        if re.search(r"(?<![=!<>])=\s*[\w:<>, ]*$", head) and not re.search(r"operator\s*[=!<>]=?\s*$", head):
            return True
        if "(" not in plain:
            return True
        if AFTER_PARAMETERS.search(plain):  # of a constructor: members' values, then its body
            return self.text[close + 1:].lstrip()[:1] in (",", "{")
        return False

    def read_block(self, head, head_begin, position, close, scope):
        plain = self.plain_head(head)
        begin = head_begin + len(self.text[head_begin:position]) - len(self.text[head_begin:position].lstrip())
        line = self.line_of(begin)
        type_match, namespace = TYPE.match(plain), NAMESPACE.match(plain)
        if namespace:
            name = namespace.group("name")
            if name is not None:  # no block of a language
                name = f"{scope.name}{name or UNNAMED}::"
            self.read(position + 1, close, Scope("namespace", name or scope.name))
        elif type_match:
            self.read(position + 1, close, Scope("type", type_match.group("name")))
        elif not re.match(r"(?:typedef\s+)?enum\b", plain):
            name = re.search(r"(operator[^\w\s]+|[~\w:]+)\s*\(", ATTRIBUTE.sub("", plain))
            self.functions.append((name.group(1) if name else "?", line, self.line_of(close) - line + 1))
            owner = owner_of(plain) if scope.kind == "namespace" and UNNAMED not in scope.name else ""
            if owner:
                self.owners.setdefault(scope.name + owner, line)


def check_file(where, text, reader):
    """(name, length, message) of everything that is too long in one file, and its casts."""
    found = []
    num_lines = len(text.splitlines())
    if num_lines > MAX_FILE_LINES:
        found.append((where, num_lines, f"{where}: {num_lines} lines, expected at most {MAX_FILE_LINES}"))
    for name, line, length in reader.functions:
        if length > MAX_FUNCTION_LINES:
            found.append((f"{where}: {name}()", length,
                          f"{where}:{line}: {name}() has {length} lines, expected at most {MAX_FUNCTION_LINES}"))
    if not where.startswith(FREE_TO_CAST):
        for number, code in enumerate(text.splitlines(), 1):
            if CAST in code and not any(CAST + value in code for value in OTHER_CASTS):
                found.append((f"{where}: cast", 1,
                              f"{where}:{number}: {CAST}...), expected to_size() of base/to_size.h"))
    return found


def check_units(files):
    """Headers and sources that are too long together."""
    units = collections.Counter()
    for where, text in files.items():
        units[str(pathlib.PurePosixPath(where).with_suffix(""))] += len(text.splitlines())
    return [(unit, lines, f"{unit}: header and source have {lines} lines together, expected at most {MAX_UNIT_LINES}")
            for unit, lines in sorted(units.items()) if lines > MAX_UNIT_LINES]


def check_classes(readers):
    """Classes whose member functions are defined in more than one .cc."""
    places = collections.defaultdict(list)
    for where, reader in readers.items():
        if where.endswith(".cc"):
            for owner, line in reader.owners.items():
                places[owner].append(f"{where}:{line}")
    return [(owner, len(found), f"{owner} has member functions in {' and '.join(found)}, expected one .cc for a class")
            for owner, found in sorted(places.items()) if len(found) > 1]


def check_tree(root, exceptions=None):
    """Messages about everything under `root` that is too long or in the wrong place."""
    exceptions = EXCEPTIONS if exceptions is None else exceptions
    root = pathlib.Path(root)
    paths = sorted(p for top in ("src", "include") for p in (root / top).rglob("*") if p.suffix in SUFFIXES)
    if not paths:
        return [f"{root}: no sources under src/ or include/"]
    files = {p.relative_to(root).as_posix(): p.read_text(encoding="utf-8") for p in paths}
    readers = {where: Reader(text) for where, text in files.items()}
    found = [problem for where, text in files.items() for problem in check_file(where, text, readers[where])]
    found += check_units(files) + check_classes(readers)
    problems = [message for name, length, message in found
                if name not in exceptions or length > exceptions[name].limit]
    return problems + [f"EXCEPTIONS: {name} needs none"
                       for name in sorted(exceptions.keys() - {name for name, _, _ in found})]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    problems = check_tree(sys.argv[1])
    print("\n".join(problems or ["files and functions are small, each class is in one file, indexes are cast by "
                                 "to_size()"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
