#include "template/builtins/json_writer.h"

#include <algorithm>

#include "base/to_size.h"
#include "json/json_string.h"
#include "template/builtins/arguments.h"
#include "template/values/operators.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

namespace {

class JsonWriter {
 public:
  JsonWriter(Evaluation& evaluation, TextBuilder& out, const JsonStyle& style)
      : evaluation_(evaluation), out_(out), style_(style) {}

  void write(const Value& value) {
    evaluation_.step();
    const Evaluation::Nesting nesting(evaluation_);
    switch (value.kind()) {
      case Kind::kNone: return out_.append("null");
      case Kind::kBool: return out_.append(value.as_bool() ? "true" : "false");
      case Kind::kInt: return out_.append(fmt::format("{}", value.as_int()));
      case Kind::kFloat: return out_.append(json_number(value.as_double()));
      case Kind::kText: return write_text(value.text());
      case Kind::kList:
      case Kind::kTuple: return write_list(value.items());
      case Kind::kDict: return write_dict(value.dict());
      default: evaluation_.fail("Object of type {} is not JSON serializable", type_name(value));
    }
  }

 private:
  void write_text(const Text& text) {
    evaluation_.steps_for(text.bytes.size());
    out_.append("\"");
    std::size_t begun = 0;
    for (std::size_t at = 0; at < text.bytes.size();) {
      const std::size_t length = character_bytes(text.bytes[at]);
      const bool beyond_ascii = style_.ensure_ascii && static_cast<unsigned char>(text.bytes[at]) >= 0x80;
      if (needs_json_escape(text.bytes[at]) || beyond_ascii) {
        std::string escape;
        append_json_escape(escape, code_point_at(text.bytes, at));
        out_.append_part(text, begun, at);
        out_.append(escape, text.origin_at(at));
        begun = at + length;
      }
      at += length;
    }
    out_.append_part(text, begun, text.bytes.size());
    out_.append("\"");
  }

  void begin_line(std::size_t level) {
    if (style_.indent == nullptr) return;
    out_.append("\n");
    if (style_.indent->bytes.empty()) return;
    for (std::size_t i = 0; i < level; ++i) out_.append(*style_.indent);
  }

  /// Between items: what separates them, and the next line.
  void begin_item(std::size_t index) {
    if (index > 0) out_.append(*style_.item_separator);
    begin_line(level_);
  }

  void write_list(std::span<const Value> items) {
    if (items.empty()) return out_.append("[]");
    out_.append("[");
    ++level_;
    for (std::size_t i = 0; i < items.size(); ++i) {
      begin_item(i);
      write(items[i]);
    }
    begin_line(--level_);
    out_.append("]");
  }

  void write_dict(const Dict& dict) {
    if (dict.entries.empty()) return out_.append("{}");
    std::vector<const Entry*> entries;
    evaluation_.arena().charge_bytes(dict.entries.size() * sizeof(Entry*));
    for (const Entry& entry : dict.entries) entries.push_back(&entry);
    if (style_.sort_keys)
      std::stable_sort(entries.begin(), entries.end(), [&](const Entry* left, const Entry* right) {
        return order(evaluation_, left->key, right->key, Operator::kLess) < 0;
      });
    out_.append("{");
    ++level_;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      begin_item(i);
      write_key(entries[i]->key);
      out_.append(*style_.key_separator);
      write(entries[i]->value);
    }
    begin_line(--level_);
    out_.append("}");
  }

  void write_key(const Value& key) {
    switch (key.kind()) {
      case Kind::kText: return write_text(key.text());
      case Kind::kNone: return out_.append("\"null\"");
      case Kind::kBool: return out_.append(key.as_bool() ? "\"true\"" : "\"false\"");
      case Kind::kInt: return out_.append(fmt::format("\"{}\"", key.as_int()));
      case Kind::kFloat: return out_.append(fmt::format("\"{}\"", json_number(key.as_double())));
      default: evaluation_.fail("keys must be str, int, float, bool or None, not {}", type_name(key));
    }
  }

  Evaluation& evaluation_;
  TextBuilder& out_;
  const JsonStyle& style_;
  std::size_t level_ = 0;
};

}  // namespace

void append_json(Evaluation& evaluation, TextBuilder& out, const Value& value, const JsonStyle& style) {
  JsonWriter(evaluation, out, style).write(value);
}

Value filter_tojson(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "tojson", call, {"value", "ensure_ascii", "indent", "separators", "sort_keys"},
                            1);
  Arena& arena = evaluation.arena();
  JsonStyle style{.ensure_ascii = arguments.truth(1, false), .sort_keys = arguments.truth(4, false)};
  if (!arguments.is_none(2)) {
    TextBuilder spaces(arena);
    if (arguments[2].is(Kind::kText)) {
      spaces.append(arguments[2].text());
    } else {
      spaces.append_repeated(" ", to_size(std::max<std::int64_t>(0, arguments.integer(2, 0))));
    }
    style.indent = spaces.finish();
  }
  style.item_separator = make_text(arena, style.indent == nullptr ? ", " : ",");
  style.key_separator = make_text(arena, ": ");
  if (!arguments.is_none(3)) {
    const Value& both = arguments[3];
    if (!both.is_sequence() || both.items().size() != 2 || !both.items()[0].is(Kind::kText) ||
        !both.items()[1].is(Kind::kText))
      evaluation.fail("tojson() needs two strings as its argument 'separators', found {}", type_name(both));
    style.item_separator = &both.items()[0].text();
    style.key_separator = &both.items()[1].text();
  }
  TextBuilder out(arena);
  append_json(evaluation, out, arguments[0], style);
  return Value::of(out.finish());
}

}  // namespace octavo::jinja
