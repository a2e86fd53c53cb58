// The parts of one answer that may call tools, as its client knows them: text, reasoning, and calls with an id and the
// client's name of the tool.
//
// Belongs to one answer and is used by one thread, the I/O thread; the ToolCalling outlives it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "api/answers/custom_input.h"
#include "api/call/completion.h"
#include "api/call/tool_calling.h"
#include "toolcalls/tool_call_parser.h"

namespace octavo {

struct AnswerPart {
  using Kind = ToolCallEvent::Kind;
  Kind kind = Kind::kContent;
  int index = 0;  // the index of the call among the answer's
  /// Content or reasoning; for a call first the tool's name, then a piece of its arguments or of its input.
  std::string_view text = {};
  std::string_view id = {};          // the call's id, where it begins
  const ClientTool* tool = nullptr;  // the tool that a call names, if it is more than a function; null: it is one
};

class AnswerParts {
 public:
  using Sink = std::function<void(const AnswerPart&)>;

  /// `answer` names the answer, for the ids of calls.
  AnswerParts(const ToolCalling& calling, std::string answer)
      : calling_(calling),
        answer_(std::move(answer)),
        parser_(*calling.format, calling.tools, calling.is_single, calling.sure) {}

  /// Reads an event's text and gives its parts to `sink`. They are valid within `sink` alone.
  void push(const RequestEvent& event, const Sink& sink);
  /// Reads the end of the answer, which may make further parts.
  void finish(const Sink& sink);

  int num_calls() const { return parser_.num_calls(); }

 private:
  void tell(const ToolCallEvent& event, const Sink& sink);
  void begin(const ToolCallEvent& event, const Sink& sink);

  const ToolCalling& calling_;
  const std::string answer_;
  ToolCallParser parser_;
  const ClientTool* tool_ = nullptr;  // the tool of the last call
  CustomInput input_ = {};            // the input of the last call, where its tool is a custom one
};

}  // namespace octavo
