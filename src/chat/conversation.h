// A conversation in the shape that a template takes (template_caps.h), and as the values that it is rendered with.
//
// These changes are made: `developer` becomes `system`; system messages that the template does not take are joined to
// the one at the front, or stand before the text of the next user's message; turns of one role are joined, and where
// users and assistants must take turns, one without a text stands where one is missing (turn_order.h); a tool's
// arguments, its result's role, its call's id and earlier reasoning get the form that the template reads. Tools without
// a place in the template are described in the system message; calls and results without a form become text. A picture
// stays in its place in a list where the template takes one there; else the model's marks of pictures stand before the
// message's text. Pictures of system messages are the next user's. A message that fits in no way is an error that names
// it. Each text keeps its origin. Free functions; any thread.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chat/template_caps.h"
#include "octavo/chat.h"
#include "octavo/result.h"
#include "template/values/template_input.h"

namespace octavo {

/// The texts of tokens that templates write by name; empty for tokens that the vocabulary lacks.
struct NamedTokens {
  std::optional<std::string_view> bos;
  std::optional<std::string_view> eos;
};

/// A text that is put together from runs of several origins.
using TextRuns = std::vector<jinja::TextRun>;

/// A text, or the place of a picture, which has none.
struct ShapedPart {
  TextRuns text = {};
  bool is_picture = false;
};

/// A message in the template's shape. Its texts are those of the ChatMessages, or of ShapedConversation::written.
struct ShapedMessage {
  std::string_view role;
  std::vector<ShapedPart> parts;  // one text, or the parts of a list
  bool is_list = false;
  std::string_view reasoning = {};
  std::span<const ToolCall> calls = {};
  std::string_view call_id = {};
  std::string_view name = {};
  bool is_result = false;  // whether it is results of tools as a user's text

  /// Whether it says something: a text that is not empty, or a picture.
  bool has_content() const;
};

struct ShapedConversation {
  std::vector<ShapedMessage> turns;
  std::deque<std::string> written;  // texts that no message has: descriptions of tools, and calls
};

/// The mark after the last message's text while a prompt is rendered that ends there. It is transformers' own, which
/// templates may know.
inline constexpr std::string_view kContinueMark = "CONTINUE_FINAL_MESSAGE_TAG ";

/// The text of a part of a content; that of a picture is empty.
std::string_view text_of(const ContentPart& part);

bool is_picture(const ContentPart& part);
bool has_pictures(const ChatMessage& message);

/// Whether there is a list of tools with at least one tool.
bool has_tools(const ChatTemplateOptions& options);

/// Brings the messages into the template's shape. `options` has the tools. Errors name the message.
Result<ShapedConversation> shape_conversation(std::span<const ChatMessage> messages, const TemplateCaps& caps,
                                              const ChatTemplateOptions& options);

/// The names and values for the template, with kContinueMark behind the last text where that is to be continued.
/// Errors: values that are nested too deep, too many values.
Result<jinja::TemplateInput> conversation_input(const ShapedConversation& conversation, const TemplateCaps& caps,
                                                const NamedTokens& tokens, const ChatTemplateOptions& options);

}  // namespace octavo
