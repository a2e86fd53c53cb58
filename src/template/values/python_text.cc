#include "template/values/python_text.h"

#include <utility>

#include "base/float_repr.h"
#include "base/to_size.h"
#include "template/values/iteration.h"
#include "template/values/loop.h"
#include "template/values/macro.h"
#include "template/values/unicode.h"

namespace octavo::jinja {

namespace {

void append_items(Evaluation& evaluation, TextBuilder& out, std::span<const Value> items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.append(", ");
    append_repr(evaluation, out, items[i]);
  }
}

void append_dict(Evaluation& evaluation, TextBuilder& out, const Dict& dict) {
  out.append("{");
  for (std::size_t i = 0; i < dict.entries.size(); ++i) {
    if (i > 0) out.append(", ");
    append_repr(evaluation, out, dict.entries[i].key);
    out.append(": ");
    append_repr(evaluation, out, dict.entries[i].value);
  }
  out.append("}");
}

void append_view(Evaluation& evaluation, TextBuilder& out, const DictView& view) {
  constexpr std::string_view kNames[] = {"dict_keys([", "dict_values([", "dict_items(["};
  out.append(kNames[to_size(std::to_underlying(view.what))]);
  for (std::size_t i = 0; i < view.dict->entries.size(); ++i) {
    if (i > 0) out.append(", ");
    append_repr(evaluation, out, item_of_view(evaluation, view, i));
  }
  out.append("])");
}

void append_namespace(Evaluation& evaluation, TextBuilder& out, const Namespace& names) {
  out.append("<Namespace {");
  for (const NamespaceEntry* entry = names.first; entry != nullptr; entry = entry->next) {
    if (entry != names.first) out.append(", ");
    append_repr(evaluation, out, Value::of(entry->name));
    out.append(": ");
    append_repr(evaluation, out, entry->value);
  }
  out.append("}>");
}

void append_range(TextBuilder& out, const Range& range) {
  out.append(fmt::format("range({}, {}", range.start, range.stop));
  if (range.step != 1) out.append(fmt::format(", {}", range.step));
  out.append(")");
}

void append_escape(TextBuilder& out, std::uint32_t code_point, Origin origin) {
  if (code_point == '\n') return out.append("\\n", origin);
  if (code_point == '\r') return out.append("\\r", origin);
  if (code_point == '\t') return out.append("\\t", origin);
  if (code_point < 0x100) return out.append(fmt::format("\\x{:02x}", code_point), origin);
  if (code_point < 0x10000) return out.append(fmt::format("\\u{:04x}", code_point), origin);
  out.append(fmt::format("\\U{:08x}", code_point), origin);
}

void append_quoted(Evaluation& evaluation, TextBuilder& out, const Text& text) {
  evaluation.steps_for(text.bytes.size());
  const bool has_single = text.bytes.find('\'') != std::string_view::npos;
  const char quote = has_single && text.bytes.find('"') == std::string_view::npos ? '"' : '\'';
  if (text.is_markup) out.append("Markup(");
  out.append({&quote, 1});
  std::size_t begun = 0;
  for (std::size_t at = 0; at < text.bytes.size();) {
    const std::uint32_t code_point = code_point_at(text.bytes, at);
    const std::size_t length = character_bytes(text.bytes[at]);
    const bool is_quote = code_point == static_cast<unsigned char>(quote) || code_point == '\\';
    if (is_quote || !is_printable(code_point)) {
      out.append_part(text, begun, at);
      if (is_quote) {
        const char escaped[] = {'\\', static_cast<char>(code_point)};
        out.append({escaped, 2}, text.origin_at(at));
      } else {
        append_escape(out, code_point, text.origin_at(at));
      }
      begun = at + length;
    }
    at += length;
  }
  out.append_part(text, begun, text.bytes.size());
  out.append({&quote, 1});
  if (text.is_markup) out.append(")");
}

}  // namespace

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined: return "Undefined";
    case Kind::kNone: return "NoneType";
    case Kind::kBool: return "bool";
    case Kind::kInt: return "int";
    case Kind::kFloat: return "float";
    case Kind::kText: return value.text().is_markup ? "Markup" : "str";
    case Kind::kList: return "list";
    case Kind::kTuple: return "tuple";
    case Kind::kDict: return "dict";
    case Kind::kRange: return "range";
    case Kind::kDictView: {
      constexpr std::string_view kNames[] = {"dict_keys", "dict_values", "dict_items"};
      return kNames[to_size(std::to_underlying(value.as<DictView>().what))];
    }
    case Kind::kNamespace: return "Namespace";
    case Kind::kFunction: return "function";
    case Kind::kMethod: return "builtin_function_or_method";
    case Kind::kMacro: return "Macro";
    case Kind::kLoop: return "LoopContext";
    case Kind::kIterator: return "generator";
    case Kind::kCycler: return "Cycler";
    case Kind::kJoiner: return "Joiner";
  }
  return "";
}

std::string undefined_message(const Undefined& undefined) {
  if (!undefined.hint.empty()) return std::string(undefined.hint);
  const std::string_view name = undefined.name == nullptr ? std::string_view() : undefined.name->bytes;
  if (undefined.type_of_owner.empty()) return fmt::format("'{}' is undefined", name);
  return fmt::format("'{} object' has no attribute '{}'", undefined.type_of_owner, name);
}

void append_repr(Evaluation& evaluation, TextBuilder& out, const Value& value) {
  evaluation.step();
  const Evaluation::Nesting nesting(evaluation);
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined: return out.append("Undefined");
    case Kind::kNone: return out.append("None");
    case Kind::kBool: return out.append(value.as_bool() ? "True" : "False");
    case Kind::kInt: return out.append(fmt::format("{}", value.as_int()));
    case Kind::kFloat: return out.append(float_repr(value.as_double()));
    case Kind::kText: return append_quoted(evaluation, out, value.text());
    case Kind::kList:
      out.append("[");
      append_items(evaluation, out, value.items());
      return out.append("]");
    case Kind::kTuple:
      out.append("(");
      append_items(evaluation, out, value.items());
      return out.append(value.items().size() == 1 ? ",)" : ")");
    case Kind::kDict: return append_dict(evaluation, out, value.dict());
    case Kind::kRange: return append_range(out, value.as<Range>());
    case Kind::kDictView: return append_view(evaluation, out, value.as<DictView>());
    case Kind::kNamespace: return append_namespace(evaluation, out, value.as<Namespace>());
    case Kind::kMacro: return out.append(fmt::format("<Macro '{}'>", value.as<Macro>().name));
    case Kind::kLoop: {
      auto& loop = value.as_mutable<LoopState>();
      return out.append(fmt::format("<LoopContext {}/{}>", loop.index0 + 1, length_of_loop(evaluation, loop)));
    }
    default: evaluation.fail("a {} has no text of its own, found where one is printed", type_name(value));
  }
}

void append_str(Evaluation& evaluation, TextBuilder& out, const Value& value) {
  if (value.is(Kind::kUndefined)) return;
  if (value.is(Kind::kText)) return out.append(value.text());
  append_repr(evaluation, out, value);
}

const Text* to_text(Evaluation& evaluation, const Value& value) {
  if (value.is(Kind::kText)) return &value.text();
  TextBuilder out(evaluation.arena());
  append_str(evaluation, out, value);
  return out.finish();
}

}  // namespace octavo::jinja
