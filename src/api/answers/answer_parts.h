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
  int index = 0;  // of the call
  /// Content or reasoning; of a call that begins the tool's name; then its arguments, or what an input has more.
  std::string_view text = {};
  std::string_view id = {};          // of a call that begins
  const ClientTool* tool = nullptr;  // that a call is of; null: it is a plain function
};

class AnswerParts {
 public:
  using Sink = std::function<void(const AnswerPart&)>;

  /// `answer` names the answer, for the ids of calls.
  AnswerParts(const ToolCalling& calling, std::string answer)
      : calling_(calling),
        answer_(std::move(answer)),
        parser_(*calling.format, calling.tools, calling.is_single, calling.sure) {}

  /// An event's text. What a sink is given is valid within it.
  void push(const RequestEvent& event, const Sink& sink);
  /// The end of the answer.
  void finish(const Sink& sink);

  int num_calls() const { return parser_.num_calls(); }

 private:
  void tell(const ToolCallEvent& event, const Sink& sink);
  void begin(const ToolCallEvent& event, const Sink& sink);

  const ToolCalling& calling_;
  const std::string answer_;
  ToolCallParser parser_;
  const ClientTool* tool_ = nullptr;  // of the last call
  CustomInput input_ = {};            // of the last call, where it is a custom tool's
};

}  // namespace octavo
