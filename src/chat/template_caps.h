// The capabilities of a chat template (caps): the shapes of a conversation that it takes, refuses or leaves out.
//
// Templates differ in more than their words: some have no system message, or only one; some want a tool's arguments as
// a dict, others as a text; earlier reasoning goes by several names. No field of a file says so: each template
// is tried once, at load, by rendering small conversations with a mark in each text. conversation.h uses the results.
// Plain values; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "chat/picture_marks.h"
#include "template/template.h"
#include "toolcalls/tool_format.h"

namespace octavo {

struct TemplateCaps {
  enum class System : std::uint8_t { kNone, kOne, kSeveral, kAnywhere };  // kOne, kSeveral: at the front
  enum class Arguments : std::uint8_t { kEither, kDict, kText };
  /// The content of a message with nothing but calls of tools.
  enum class Empty : std::uint8_t { kText, kNone, kLeftOut };
  enum class Reasoning : std::uint8_t { kNone, kName, kPart };  // kPart: a part of the content, of the type "thinking"

  System system = System::kAnywhere;
  bool system_alone = true;   // whether a system message may stand alone
  bool takes_text = true;     // whether a content may be a text; otherwise it is a list of parts
  bool takes_parts = false;   // a user's content that is a list of parts is taken
  bool takes_repeats = true;  // turns of one role behind each other
  bool takes_prefill = true;  // the last message may be continued

  bool takes_pictures = false;         // a user's list may have pictures, each of which the template writes once
  bool takes_result_pictures = false;  // whether a tool's result may have pictures likewise
  PictureMarks marks = {};             // the marks of pictures where the template takes no such list

  bool takes_turns = false;            // users and assistants must take turns, a user first
  bool counts_calls = true;            // a message with calls is an assistant's turn
  bool counts_results = true;          // a result is a user's turn
  bool needs_user = false;             // a conversation has a user's message
  bool takes_lone_result = true;       // whether a result may lack its call
  std::string_view least_answer = {};  // the least text that an assistant's message has, if it calls nothing

  bool takes_tools = true;                // descriptions of tools are taken; otherwise the system message has them
  std::string_view tools_name = "tools";  // the name under which the template reads tools
  bool empty_tools = false;               // whether `tools` is an empty list where there are none
  /// The form in which its model writes calls of tools: those of answers, and earlier calls where takes_calls is false.
  const ToolFormat* format = &tool_format_of({}, true);
  bool takes_calls = true;
  bool takes_parallel = true;  // several calls in a message are taken
  bool calls_alone = false;    // a message with calls has no text beside them
  bool short_ids = false;      // ids of calls have nine letters and digits
  Arguments arguments = Arguments::kEither;
  Empty empty = Empty::kText;
  std::string_view result_role = "tool";  // the role of a tool's result; empty: the result is a user's text

  Reasoning reasoning = Reasoning::kName;
  std::string_view reasoning_name = "reasoning_content";
};

/// Finds a template's caps by rendering some sixty small conversations, within a budget of a few renderings'
/// worst case. A template that renders none, or takes too long, gets the caps that change nothing. `source` is
/// its text, `marks` are the model's: a template that writes another placeholder has no form for pictures.
TemplateCaps probe_caps(const jinja::Template& chat_template, std::string_view source, const PictureMarks& marks = {});

}  // namespace octavo
