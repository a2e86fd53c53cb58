#include "api/call/api_request.h"

#include <algorithm>
#include <utility>

#include "api/call/schema_shape.h"

namespace octavo {
namespace {

TemplateValue* member(TemplateValue& value, std::string_view name) {
  auto* dict = std::get_if<TemplateDict>(&value);
  if (dict == nullptr) return nullptr;
  const auto found = std::ranges::find(*dict, name, &TemplateDict::value_type::first);
  return found == dict->end() ? nullptr : &found->second;
}

/// The member `parameters` of a tool in the form that templates read; null: it has none.
TemplateValue* parameters_in(TemplateValue& tool) {
  TemplateValue* function = member(tool, "function");
  return function == nullptr ? nullptr : member(*function, "parameters");
}

}  // namespace

Conversation conversation_of(ApiRequest& request) {
  Conversation conversation = std::move(std::get<Conversation>(request.prompt));
  if (!request.tools.are_given) return conversation;
  TemplateList described;
  described.reserve(request.tools.tools.size());
  for (AskedTool& tool : request.tools.tools) {
    if (TemplateValue* parameters = parameters_in(tool.described)) drop_null_keywords(*parameters);
    described.push_back(std::move(tool.described));
  }
  conversation.options.tools = std::move(described);
  return conversation;
}

}  // namespace octavo
