#include "api/responses/foreign_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <string>

namespace octavo {
namespace {

namespace json = boost::json;

enum class ItemUse : std::uint8_t {
  kCall,     // a call of a function; `member` has its arguments
  kOutput,   // the output of such a call, in `member`
  kRan,      // a note about what another server ran, and the texts in it
  kUnseen,   // a note
  kEarlier,  // a note in place of what was said before, as a user's message: a conversation begins with the user
  kLeftOut,  // nothing: the item says nothing about the conversation
  kTools,    // tools for the model
  kTold,     // a message of another agent to this one
};

struct ItemKind {
  std::string_view type;
  ItemUse use;
  std::string_view what = {};    // the function's name, or the words of the note
  std::string_view member = {};  // the name of the member with the arguments or the output
};

constexpr ItemKind kItemKinds[] = {
    {"local_shell_call", ItemUse::kCall, "local_shell", "action"},
    {"local_shell_call_output", ItemUse::kOutput, {}, "output"},
    {"shell_call", ItemUse::kCall, "shell", "action"},
    {"shell_call_output", ItemUse::kOutput, {}, "output"},
    {"apply_patch_call", ItemUse::kCall, "apply_patch", "operation"},
    {"apply_patch_call_output", ItemUse::kOutput, {}, "output"},
    {"computer_call", ItemUse::kCall, "computer", "action"},
    {"computer_call_output", ItemUse::kOutput, {}, "output"},
    {"tool_search_call", ItemUse::kCall, "tool_search", "arguments"},
    {kFoundTools, ItemUse::kTools},
    {kAdditionalTools, ItemUse::kTools},
    {"mcp_approval_request", ItemUse::kRan, "a question whether a tool may run"},
    {"mcp_approval_response", ItemUse::kLeftOut},
    {"mcp_list_tools", ItemUse::kLeftOut},
    {"mcp_call", ItemUse::kRan, "a tool"},
    {"web_search_call", ItemUse::kRan, "a search of the web"},
    {"file_search_call", ItemUse::kRan, "a search of files"},
    {"code_interpreter_call", ItemUse::kRan, "a program"},
    {"image_generation_call", ItemUse::kUnseen, "an image"},
    {"compaction", ItemUse::kEarlier, "an earlier part of the conversation"},
    {"compaction_summary", ItemUse::kEarlier, "an earlier part of the conversation"},
    {"context_compaction", ItemUse::kEarlier, "an earlier part of the conversation"},
    {"compaction_trigger", ItemUse::kLeftOut},
    {"ghost_snapshot", ItemUse::kLeftOut},
    {"agent_message", ItemUse::kTold},
};

json::object message_of(std::string_view text) {
  const json::object part{{"type", "output_text"}, {"text", text}, {"annotations", json::array()}};
  return {{"type", "message"}, {"role", "assistant"}, {"content", json::array{part}}, {"status", "completed"}};
}

/// The id that a call and its output share; older clients give it as the id of the item.
std::string_view call_id_of(const JsonCursor& item) {
  for (const std::string_view name : {"call_id", "id"})
    if (const json::string* id = item[name].if_string()) return *id;
  return {};
}

/// The texts of an output of any form.
std::string output_of(const JsonCursor& output, HistoryReader& history) {
  if (!output.is_given()) return {};
  if (std::string text = history.texts_in(*output.value()); !text.empty()) return text;
  return arguments_text(output.value());
}

json::object with_tools(const JsonCursor& item, std::string_view type) {
  const json::array* tools = item["tools"].if_array();
  if (type == kFoundTools)
    return {{"type", type},
            {"call_id", call_id_of(item)},
            {"tools", tools == nullptr ? json::array() : *tools},
            {"status", "completed"}};
  if (tools == nullptr || tools->empty()) return {};
  return {{"type", type}, {"role", "developer"}, {"tools", *tools}};
}

/// A message of another agent as a user's text. Its model wrote it on this server, so that what could be encrypted
/// elsewhere is plain here.
json::object told(const JsonCursor& item) {
  const json::array* parts = item["content"].if_array();
  if (parts == nullptr) return {};
  std::string text;
  for (const json::value& part : *parts) {
    if (!part.is_object()) continue;
    for (const std::string_view name : {"text", "encrypted_content"}) {
      const json::value* words = part.get_object().if_contains(name);
      if (words == nullptr || !words->is_string()) continue;
      text += text.empty() ? "" : "\n";
      text += words->get_string();
    }
  }
  if (text.empty()) return {};
  const json::object shown{{"type", "input_text"}, {"text", text}};
  return {{"type", "message"}, {"role", "user"}, {"content", json::array{shown}}, {"status", "completed"}};
}

json::object what_ran(const JsonCursor& item, std::string_view what, HistoryReader& history) {
  const json::string* name = item["name"].if_string();
  std::string text = fmt::format("[{}{}{} that another server ran]", what, name == nullptr ? "" : " ",
                                 name == nullptr ? std::string_view() : std::string_view(*name));
  json::object shown = *item.if_object();
  shown.erase("type");  // the members alone
  const std::string told = history.texts_in(shown);
  return message_of(told.empty() ? text : fmt::format("{}\n{}", text, told));
}

}  // namespace

json::object read_foreign_item(const JsonCursor& item, std::string_view type, HistoryReader& history) {
  const auto* const kind = std::ranges::find(kItemKinds, type, &ItemKind::type);
  if (kind == std::end(kItemKinds)) return message_of(history.unknown(item["type"]));
  switch (kind->use) {
    case ItemUse::kCall:
      return {{"type", "function_call"},
              {"call_id", call_id_of(item)},
              {"name", kind->what},
              {"arguments", arguments_text(item[kind->member].value())},
              {"status", "completed"}};
    case ItemUse::kOutput:
      return {{"type", "function_call_output"},
              {"call_id", call_id_of(item)},
              {"output", output_of(item[kind->member], history)},
              {"status", "completed"}};
    case ItemUse::kRan: return what_ran(item, kind->what, history);
    case ItemUse::kUnseen: return message_of(unseen(kind->what));
    case ItemUse::kEarlier:
      return {{"type", "message"},
              {"role", "user"},
              {"content", json::array{json::object{{"type", "input_text"}, {"text", unseen(kind->what)}}}},
              {"status", "completed"}};
    case ItemUse::kTools: return with_tools(item, kind->type);
    case ItemUse::kTold: return told(item);
    case ItemUse::kLeftOut: break;
  }
  return {};
}

}  // namespace octavo
