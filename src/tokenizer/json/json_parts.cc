#include "tokenizer/json/json_parts.h"

#include "base/error.h"

namespace octavo {
namespace {

/// Adds the parts of a step. The recursion is bounded by the JSON's depth.
JsonResult<void> add_parts(const JsonCursor& step, std::string_view name, std::vector<JsonCursor>& parts) {
  OCTAVO_TRY(const std::string_view type, step["type"].needed_string());
  if (type != "Sequence") {
    parts.push_back(step);
    return {};
  }
  OCTAVO_TRY_VOID(step.expect_only({"type", name}));
  OCTAVO_TRY(const boost::json::array* list, step[name].needed_array("an array of steps"));
  for (std::size_t i = 0; i < list->size(); ++i) OCTAVO_TRY_VOID(add_parts(step[name][i], name, parts));
  return {};
}

}  // namespace

JsonResult<std::vector<JsonCursor>> parts_of(const JsonCursor& step, std::string_view name) {
  std::vector<JsonCursor> parts;
  if (step.is_given()) OCTAVO_TRY_VOID(add_parts(step, name, parts));
  return parts;
}

}  // namespace octavo
