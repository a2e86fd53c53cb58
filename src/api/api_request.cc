#include "api/api_request.h"

#include <utility>

namespace octavo {

Conversation conversation_of(ApiRequest& request) {
  Conversation conversation = std::move(std::get<Conversation>(request.prompt));
  if (!request.tools.are_given) return conversation;
  TemplateList described;
  described.reserve(request.tools.tools.size());
  for (AskedTool& tool : request.tools.tools) described.push_back(std::move(tool.described));
  conversation.options.tools = std::move(described);
  return conversation;
}

}  // namespace octavo
