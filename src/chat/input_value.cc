#include "chat/input_value.h"

#include <utility>
#include <variant>
#include <vector>

#include "base/ascii.h"
#include "base/error.h"
#include "json/json_text.h"

namespace octavo {
namespace {

using jinja::Origin;
using jinja::TemplateInput;
using jinja::Value;

class ValueBuilder {
 public:
  ValueBuilder(TemplateInput& input, Origin origin, std::size_t& values_left)
      : input_(input), origin_(origin), values_left_(values_left) {}

  Result<Value> build(const TemplateValue& value, std::size_t depth) {
    if (depth > kMaxJsonDepth) return fail("found values nested deeper than {} levels", kMaxJsonDepth);
    if (values_left_-- == 0) {
      values_left_ = 0;
      return fail("found more than {} values in tools, arguments and names, expected at most as many", kMaxInputValues);
    }
    if (const auto* flag = std::get_if<bool>(&value)) return Value::boolean(*flag);
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return Value::integer(*integer);
    if (const auto* real = std::get_if<double>(&value)) return Value::real(*real);
    if (const auto* text = std::get_if<std::string>(&value)) return input_.text(*text, origin_);
    if (const auto* list = std::get_if<TemplateList>(&value)) {
      std::vector<Value> items;
      for (const TemplateValue& item : *list) {
        OCTAVO_TRY(items.emplace_back(), build(item, depth + 1));
      }
      return input_.list(items);
    }
    const auto* dict = std::get_if<TemplateDict>(&value);
    if (dict == nullptr) return Value::none();
    std::vector<std::pair<Value, Value>> entries;
    for (const auto& [name, item] : *dict) {
      OCTAVO_TRY(const Value made, build(item, depth + 1));
      entries.emplace_back(input_.text(name, origin_), made);
    }
    return input_.dict(entries);
  }

 private:
  TemplateInput& input_;
  const Origin origin_;
  std::size_t& values_left_;
};

}  // namespace

Result<Value> input_value(TemplateInput& input, const TemplateValue& value, Origin origin, std::size_t& values_left) {
  return ValueBuilder(input, origin, values_left).build(value, 0);
}

TemplateDict arguments_dict(const TemplateValue& arguments, std::size_t& values_left) {
  if (const auto* dict = std::get_if<TemplateDict>(&arguments)) return *dict;
  const auto* given = std::get_if<std::string>(&arguments);
  const bool is_nothing =
      given == nullptr ? std::holds_alternative<std::monostate>(arguments) : trimmed(*given).empty();
  if (is_nothing) return {};
  const std::string text = given == nullptr ? write_json(arguments) : *given;
  std::size_t left = values_left;
  auto read = read_json_object(text, left);
  if (!read) return {{std::string(kWholeArguments), text}};
  values_left = left;
  return std::get<TemplateDict>(std::move(*read));
}

}  // namespace octavo
