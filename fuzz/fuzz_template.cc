// Any bytes as a template, and templates made of them by a grammar of Jinja: each is refused in words or renders, in
// bounded time and memory; texts come out in spans of their own origin, and are the same a second time.
#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_bytes.h"
#include "template/template.h"

namespace {

using octavo::Bytes;
using octavo::Result;
using octavo::jinja::Origin;
using octavo::jinja::RenderedSpan;
using octavo::jinja::Template;
using octavo::jinja::TemplateInput;
using octavo::jinja::Value;

// A character for each origin that no template writes: no grammar below has them, and no filter makes them.
constexpr std::array<std::string_view, 5> kMarks = {"", "\u2460", "\u2461", "\u2462", "\u2463"};

/// Writes a template: each choice is a byte of the input, and the end of the input ends everything soon.
class Grammar {
 public:
  explicit Grammar(Bytes& bytes) : bytes_(bytes) {}

  std::string write() {
    put("{% set ns = namespace(a=1) %}");
    for (int i = 0; i < 40 && !bytes_.empty(); ++i) statement(0);
    return std::move(out_);
  }

 private:
  template <std::size_t kSize>
  std::string_view any(const std::array<std::string_view, kSize>& choices) {
    return choices[static_cast<std::size_t>(bytes_.below(static_cast<int>(kSize)))];
  }

  void put(std::string_view text) { out_ += text; }

  void name() {
    static constexpr std::array<std::string_view, 16> kNames = {
        "messages", "m", "s", "u", "t", "x", "y", "ns", "loop", "nope", "range", "dict", "f", "n", "caller", "a"};
    put(any(kNames));
  }

  void text() {
    static constexpr std::array<std::string_view, 12> kTexts = {
        "'a'", "'b c'", "\"\\n\"", "'%s'", "'{}'", "''", "'role'", "'\u00DF'", "'<'", "'{:>9}'", "','", "'%5d'"};
    put(any(kTexts));
  }

  void arguments(int depth) {
    put("(");
    for (int i = bytes_.below(4); i > 0; --i) {
      if (bytes_.below(8) == 0) put("x=");
      expression(depth + 1);
      if (i > 1) put(", ");
    }
    put(")");
  }

  void filter(int depth) {
    static constexpr std::array<std::string_view, 44> kFilters = {
        "upper",  "lower",   "title",   "capitalize", "trim",   "replace",    "join",       "length",    "first",
        "last",   "list",    "map",     "select",     "reject", "selectattr", "rejectattr", "tojson",    "default",
        "string", "int",     "float",   "round",      "abs",    "min",        "max",        "sum",       "sort",
        "unique", "reverse", "items",   "dictsort",   "batch",  "slice",      "indent",     "wordcount", "escape",
        "safe",   "format",  "groupby", "truncate",   "center", "attr",       "d",          "count"};
    put("|");
    put(any(kFilters));
    if (bytes_.below(2) == 0) arguments(depth);
  }

  void test(int depth) {
    static constexpr std::array<std::string_view, 20> kTests = {
        "defined",    "undefined", "none",     "string", "mapping",       "sequence",   "iterable",
        "number",     "integer",   "boolean",  "true",   "false",         "odd",        "even",
        "equalto(1)", "in [1]",    "callable", "float",  "divisibleby 2", "sameas none"};
    static_cast<void>(depth);
    put(bytes_.below(3) == 0 ? " is not " : " is ");
    put(any(kTests));
  }

  void method(int depth) {
    static constexpr std::array<std::string_view, 28> kMethods = {
        "strip", "lstrip",  "rstrip", "split",     "rsplit", "splitlines", "startswith", "endswith", "upper", "lower",
        "title", "replace", "find",   "rfind",     "count",  "join",       "format",     "isdigit",  "items", "get",
        "keys",  "values",  "index",  "partition", "append", "center",     "expandtabs", "zfill"};
    put(".");
    put(any(kMethods));
    arguments(depth);
  }

  void primary(int depth) {
    switch (bytes_.below(depth > 5 ? 4 : 9)) {
      case 0: return name();
      case 1: return text();
      case 2: return put(std::to_string(bytes_.number() % 1000));
      case 3: return put(bytes_.below(2) == 0 ? "1.5" : "none");
      case 4:
        put("[");
        expression(depth + 1);
        put(", ");
        expression(depth + 1);
        return put("]");
      case 5:
        put("{'k': ");
        expression(depth + 1);
        put(", ");
        text();
        put(": ");
        expression(depth + 1);
        return put("}");
      case 6:
        put("(");
        expression(depth + 1);
        return put(bytes_.below(3) == 0 ? ",)" : ")");
      case 7: name(); return arguments(depth);
      default: put(bytes_.below(2) == 0 ? "not " : "-"); return primary(depth + 1);
    }
  }

  void postfix(int depth) {
    switch (bytes_.below(8)) {
      case 0: return filter(depth);
      case 1: return test(depth);
      case 2: return method(depth);
      case 3: return put(".content");
      case 4:
        put("[");
        expression(depth + 1);
        return put("]");
      case 5:
        put("[");
        put(std::to_string(bytes_.below(5) - 2));
        put(bytes_.below(2) == 0 ? ":" : "::");
        put(bytes_.below(2) == 0 ? "" : "-1");
        return put("]");
      default: return;
    }
  }

  void expression(int depth) {
    static constexpr std::array<std::string_view, 20> kOperators = {
        " + ", " - ",  " * ",  " / ",      " // ",  " % ",  " ** ", " ~ ", " == ", " != ",
        " < ", " >= ", " in ", " not in ", " and ", " or ", " if ", " ~ ", " ~ ",  " + "};
    primary(depth);
    for (int i = bytes_.below(3); i > 0; --i) postfix(depth);
    if (depth > 6 || bytes_.below(2) == 0) return;
    const std::string_view operation = any(kOperators);
    put(operation);
    expression(depth + 1);
    if (operation == " if ") {
      put(" else ");
      expression(depth + 1);
    }
  }

  void block(std::string_view begin, std::string_view end, int depth, bool with_expression) {
    put(bytes_.below(4) == 0 ? "{%- " : "{% ");
    put(begin);
    if (with_expression) expression(1);
    put(bytes_.below(4) == 0 ? " -%}\n" : " %}\n");
    for (int i = bytes_.below(4); i > 0; --i) statement(depth + 1);
    if (begin == "if " && bytes_.below(2) == 0) {
      put("{% else %}");
      statement(depth + 1);
    }
    put("{% end");
    put(end);
    put(" %}");
  }

  void statement(int depth) {
    switch (bytes_.below(depth > 4 ? 4 : 14)) {
      case 0: return put(" text\n");
      case 1:
        put("{{ ");
        expression(1);
        return put(" }}");
      case 2:
        put("{% set x = ");
        expression(1);
        return put(" %}");
      case 3:
        put("{% set ns.a = ");
        expression(1);
        return put(" %}");
      case 4: return block("if ", "if", depth, true);
      case 5: return block("for m in ", "for", depth, true);
      case 6: return block("for x, y in ", "for", depth, true);
      case 7: return block("set x", "set", depth, false);
      case 8: return block("macro f(a, b=1)", "macro", depth, false);
      case 9: return block("call f(1)", "call", depth, false);
      case 10: return block("filter upper", "filter", depth, false);
      case 11: return block("with y = ", "with", depth, true);
      case 12: return put(bytes_.below(2) == 0 ? "{% break %}" : "{% continue %}");
      default: return block("for m in messages recursive", "for", depth, false);
    }
  }

  Bytes& bytes_;
  std::string out_;
};

/// Something of everything, with the mark of its origin in each text.
TemplateInput make_input() {
  TemplateInput input;
  const auto marked = [&](std::string_view text, Origin origin) {
    return input.text(std::string(text) + std::string(kMarks[static_cast<std::size_t>(origin)]), origin);
  };
  const auto plain = [&](std::string_view text) { return input.text(text, Origin::kTemplate); };
  std::vector<Value> messages;
  for (const Origin origin : {Origin::kSystem, Origin::kUser, Origin::kModel, Origin::kTool}) {
    const std::array<std::pair<Value, Value>, 4> entries = {{{plain("role"), plain("user")},
                                                             {plain("content"), marked("b c,", origin)},
                                                             {plain("n"), Value::integer(3)},
                                                             {plain("k"), Value::none()}}};
    messages.push_back(input.dict(entries));
  }
  input.set("messages", input.list(messages));
  input.set("m", messages[1]);
  input.set("s", marked("sys <a>", Origin::kSystem));
  input.set("u", marked("u\u00DF\n%s {} b", Origin::kUser));
  input.set("t", marked("tool", Origin::kTool));
  input.set("n", Value::integer(7));
  return input;
}

void check_spans(const std::vector<RenderedSpan>& spans) {
  for (std::size_t i = 0; i < spans.size(); ++i) {
    FUZZ_CHECK(!spans[i].text.empty());
    FUZZ_CHECK(i == 0 || spans[i].origin != spans[i - 1].origin);
    for (std::size_t mark = 1; mark < kMarks.size(); ++mark)
      FUZZ_CHECK(static_cast<std::size_t>(spans[i].origin) == mark ||
                 spans[i].text.find(kMarks[mark]) == std::string::npos);
  }
}

void check(std::string_view source, const TemplateInput& input) {
  const Result<Template> compiled = Template::compile(source);
  if (!compiled) {
    FUZZ_CHECK(compiled.error().message.starts_with("chat template"));
    return;
  }
  const auto spans = compiled->render(input, std::tm{});
  const auto again = compiled->render(input, std::tm{});
  FUZZ_CHECK(spans.has_value() == again.has_value());
  if (!spans) {
    FUZZ_CHECK(spans.error().message == again.error().message && spans.error().message.starts_with("chat template"));
    return;
  }
  check_spans(*spans);
  FUZZ_CHECK(spans->size() == again->size());
  for (std::size_t i = 0; i < spans->size(); ++i) FUZZ_CHECK((*spans)[i].text == (*again)[i].text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const TemplateInput input = make_input();
  check({reinterpret_cast<const char*>(data), size}, input);
  Bytes bytes({data, size});
  check(Grammar(bytes).write(), input);
  return 0;
}
