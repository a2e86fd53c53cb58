#include "chat/written_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/ascii.h"
#include "base/error.h"
#include "chat/input_value.h"
#include "json/json_text.h"

namespace octavo {
namespace {

using jinja::Origin;

class CallWriter {
 public:
  explicit CallWriter(const ToolFormat& format) : format_(format) {}

  void write(std::span<const ToolCall> calls) {
    expand(format_.form.open, {});
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (i > 0) expand(format_.form.between, {});
      write_call(calls[i], i);
    }
    expand(format_.form.close, {});
  }

  std::vector<jinja::RenderedSpan> take() { return std::move(spans_); }

 private:
  struct Place {
    std::string_view name;
    std::string_view text;
  };
  using Places = std::initializer_list<Place>;

  void add(std::string_view text, Origin origin) {
    if (text.empty()) return;
    if (spans_.empty() || spans_.back().origin != origin) spans_.push_back({.text = {}, .origin = origin});
    spans_.back().text += text;
  }

  /// Writes a form up to a place that `places` does not name, and returns the rest after it; empty: all is written.
  std::string_view expand(std::string_view form, Places places) {
    while (!form.empty()) {
      const std::size_t length = std::min(form.find('$'), form.size());
      add(form.substr(0, length), Origin::kTemplate);
      form.remove_prefix(length);
      const auto starts = [form](const Place& place) { return form.starts_with(place.name); };
      const auto place = std::ranges::find_if(places, starts);
      if (place == places.end()) return form;
      add(place->text, Origin::kModel);
      form.remove_prefix(place->name.size());
    }
    return {};
  }

  void write_call(const ToolCall& call, std::size_t index) {
    const std::string number = std::to_string(index);
    const Places places = {{"$NAME", call.name}, {"$INDEX", number}};
    std::string_view rest = expand(format_.form.call, places);
    const std::string_view place = rest.starts_with("$ARGS") ? "$ARGS" : "$PARAMETERS";
    place == "$ARGS" ? write_arguments(call) : write_parameters(call);
    rest.remove_prefix(place.size());
    expand(rest, places);
  }

  void write_arguments(const ToolCall& call) {
    const auto* text = std::get_if<std::string>(&call.arguments);
    if (text != nullptr && has_json_arguments(format_)) {
      add(trimmed(*text).empty() ? "{}" : std::string_view(*text), Origin::kModel);
    } else {
      write_value(object_of(call));
    }
  }

  void write_parameters(const ToolCall& call) {
    const TemplateDict members = object_of(call);
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto& [name, value] = members[i];
      if (i > 0) add(format_.form.between_parameters, Origin::kTemplate);
      const auto* text = std::get_if<std::string>(&value);
      const Places places = {{"$KEY", name}, {"$KIND", text != nullptr ? "true" : "false"}};
      std::string_view rest = expand(format_.form.parameter, places);
      if (text != nullptr && format_.form.notation == ValueNotation::kJson) {
        add(*text, Origin::kModel);
      } else {
        write_value(value);
      }
      rest.remove_prefix(std::string_view("$VALUE").size());
      expand(rest, places);
    }
  }

  static TemplateDict object_of(const ToolCall& call) {
    std::size_t values_left = kMaxInputValues;
    return arguments_dict(call.arguments, values_left);
  }

  /// Writes a value in the notation of the form.
  void write_value(const TemplateValue& value) {
    const bool is_marked = format_.form.notation == ValueNotation::kMarked;
    const bool is_python = format_.form.notation == ValueNotation::kPython;
    const auto* text = std::get_if<std::string>(&value);
    if (text != nullptr && is_marked) {
      add(format_.form.mark, Origin::kTemplate);
      add(*text, Origin::kModel);
      add(format_.form.mark, Origin::kTemplate);
    } else if (const auto* flag = std::get_if<bool>(&value); flag != nullptr && is_python) {
      add(*flag ? "True" : "False", Origin::kModel);
    } else if (std::holds_alternative<std::monostate>(value) && is_python) {
      add("None", Origin::kModel);
    } else if (const auto* list = std::get_if<TemplateList>(&value)) {
      write_list(*list, is_marked);
    } else if (const auto* dict = std::get_if<TemplateDict>(&value)) {
      write_dict(*dict, is_marked);
    } else {
      add(write_json(value), Origin::kModel);
    }
  }

  void write_list(const TemplateList& list, bool is_marked) {
    add("[", Origin::kModel);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) add(is_marked ? "," : ", ", Origin::kModel);
      write_value(list[i]);
    }
    add("]", Origin::kModel);
  }

  void write_dict(const TemplateDict& dict, bool is_marked) {
    add("{", Origin::kModel);
    for (std::size_t i = 0; i < dict.size(); ++i) {
      if (i > 0) add(is_marked ? "," : ", ", Origin::kModel);
      add(is_marked ? dict[i].first + ":" : write_json(dict[i].first) + ": ", Origin::kModel);
      write_value(dict[i].second);
    }
    add("}", Origin::kModel);
  }

  const ToolFormat& format_;
  std::vector<jinja::RenderedSpan> spans_;
};

}  // namespace

bool has_json_arguments(const ToolFormat& format) {
  return format.form.notation == ValueNotation::kJson && format.form.call.contains("$ARGS");
}

Result<std::vector<jinja::RenderedSpan>> write_calls(const ToolFormat& format, std::span<const ToolCall> calls) {
  CallWriter writer(format);
  writer.write(calls);
  return writer.take();
}

}  // namespace octavo
