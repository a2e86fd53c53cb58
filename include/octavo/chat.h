// Conversations, as engine.h makes prompts of them: messages, and what a chat template finds beside them.
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

namespace octavo {

struct TemplateValue;
using TemplateList = std::vector<TemplateValue>;
/// In the order in which a template sees them; of two equal names the last counts.
using TemplateDict = std::vector<std::pair<std::string, TemplateValue>>;

/// A value as JSON has them, which a chat template sees as Jinja's none, a flag, a number, a text, a list or a dict.
struct TemplateValue
    : std::variant<std::monostate, bool, std::int64_t, double, std::string, TemplateList, TemplateDict> {
  using variant::variant;
};

/// A call of a tool in an earlier answer.
struct ToolCall {
  std::string id = {};
  std::string name = {};
  TemplateValue arguments = {};  // a text in JSON, as the model wrote it, or a dict
};

/// A piece of a message's content.
struct ContentPart {
  enum class Kind : std::uint8_t { kText };
  Kind kind = Kind::kText;
  std::string text = {};  // of kText
};

struct ChatMessage {
  std::string role;     // system, developer, user, assistant, tool; another one is as good as the template takes it
  std::string content;  // here and below no text is ever parsed for control tokens
  /// Content that came in parts, in place of `content`: given as a list where the template reads lists, else joined by
  /// line breaks.
  std::vector<ContentPart> parts = {};
  std::string reasoning = {};             // of an assistant: before the content
  std::vector<ToolCall> tool_calls = {};  // of an assistant: behind the content
  std::string tool_call_id = {};          // of a tool: the call that this is the result of
  std::string name = {};                  // of a tool: its own, if not that of the call; else of who speaks
};

struct ChatTemplateOptions {
  std::size_t max_tokens = 0;  // as in TokenizeOptions
  /// Beside those that every template finds (docs/chat_templates.md), which these hide. Their texts are a user's: they
  /// never become control tokens.
  TemplateDict names = {};
  TemplateValue tools = {};    // a list of dicts, as in OpenAI's API; none: no tools
  bool describe_tools = true;  // in the system message, if the template has no place for them; else they are left out
  /// The prompt ends where the assistant begins; without it, where the last message ends.
  bool add_generation_prompt = true;
  /// The prompt ends with the text of the last message, which the answer goes on with. add_generation_prompt is false.
  bool continue_final_message = false;
};

}  // namespace octavo
