// Conversations, from which engine.h makes prompts: messages, and what a chat template reads beside them.
//
// Plain values without behaviour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "octavo/picture.h"

namespace octavo {

class RequestWork;
struct TemplateValue;
using TemplateList = std::vector<TemplateValue>;
/// Values by name, in the order in which a template sees them; the last of two equal names counts.
using TemplateDict = std::vector<std::pair<std::string, TemplateValue>>;

/// A value of JSON, which a chat template sees as Jinja's none, a flag, a number, a text, a list or a dict.
struct TemplateValue
    : std::variant<std::monostate, bool, std::int64_t, double, std::string, TemplateList, TemplateDict> {
  using variant::variant;
};

/// A call of a tool in an earlier answer.
struct ToolCall {
  std::string id = {};
  std::string name = {};
  TemplateValue arguments = {};  // the JSON text that the model wrote, or a dict
};

/// A piece of a message's content.
struct ContentPart {
  enum class Kind : std::uint8_t { kText, kPicture };
  Kind kind = Kind::kText;
  std::string text = {};      // the text of a kText
  PictureInput picture = {};  // the picture of a kPicture; the model must see (ModelInfo::vision)
};

struct ChatMessage {
  std::string role;     // system, developer, user, assistant, tool, or another role that the template takes
  std::string content;  // no text of a message is ever parsed for control tokens
  /// Content that came in parts, in place of `content`: a list where the template reads lists, otherwise the parts
  /// joined by line breaks.
  std::vector<ContentPart> parts = {};
  std::string reasoning = {};             // an assistant's reasoning before the content
  std::vector<ToolCall> tool_calls = {};  // an assistant's calls after the content
  std::string tool_call_id = {};          // in a tool's message, the id of the call whose result it is
  std::string name = {};                  // the tool's name where it is not the call's; otherwise the speaker's
};

struct ChatTemplateOptions {
  std::size_t max_tokens = 0;  // a longer prompt is refused, as in TokenizeOptions
  /// Names for the template beside the ones that every template finds (docs/chat_templates.md), which these hide. Texts
  /// in the values are a user's and never become control tokens.
  TemplateDict names = {};
  TemplateValue tools = {};    // a list of dicts, as in OpenAI's API; empty: no tools
  bool describe_tools = true;  // a template without a place for tools has them in the system message, not left out
  /// The prompt ends where the assistant begins; otherwise it ends where the last message ends.
  bool add_generation_prompt = true;
  /// The prompt ends with the text of the last message, which the answer continues; add_generation_prompt is false.
  bool continue_final_message = false;
  /// Whether pictures are decoded. Otherwise only their headers are read, which give the number of tokens: the prompt
  /// can be counted, but not computed.
  bool decodes_pictures = true;
  RequestWork* work = nullptr;  // as in TokenizeOptions; its stop ends the rendering, too
};

}  // namespace octavo
