// Calls of tools in the answers of a chat, as OpenAI's API has them.
//
// A ToolCalling belongs to a call and is immutable; an AnswerToolCalls belongs to one answer and is used by one thread,
// the I/O thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "server/completion.h"
#include "toolcalls/tool_call_parser.h"

namespace octavo::server {

struct ToolCalling {
  const ToolFormat* format = nullptr;  // a row of the table
  ToolSet tools = {};
  bool is_single = false;  // an answer has one call at most
};

/// The id of a call that has begun: the model's own, where it has a form that clients can give back; else one that no
/// other call has. `answer` names the answer.
std::string tool_call_id(const ToolCallEvent& event, std::string_view answer);

class AnswerToolCalls {
 public:
  /// `answer` names the answer, for the ids of calls. `is_kept`: whole calls are wanted in the end, else parts as they
  /// come.
  AnswerToolCalls(const ToolCalling& calling, std::string answer, bool is_kept)
      : answer_(std::move(answer)), is_kept_(is_kept), parser_(*calling.format, calling.tools, calling.is_single) {}

  /// An event's text without the calls in it.
  struct Shown {
    std::string content = {}, reasoning = {};
    std::string deltas = {};  // elements of a delta's tool_calls, with commas between
  };
  Shown push(const OwnedEvent& event);

  bool any() const { return parser_.num_calls() > 0; }
  /// Bytes of the calls that are kept.
  std::size_t held_bytes() const { return held_bytes_; }
  /// The array of a message's tool_calls.
  void append_all(std::string& out) const;

 private:
  struct Call {
    std::string id, name, arguments;
  };

  void add(std::span<const ToolCallEvent> events, Shown& shown);
  void begin(const ToolCallEvent& event, std::string& deltas);
  void add_arguments(const ToolCallEvent& event, std::string& deltas);

  const std::string answer_;
  const bool is_kept_;
  ToolCallParser parser_;
  std::vector<Call> calls_;  // kept
  std::size_t held_bytes_ = 0;
};

/// A message's content, refusal and calls. One that only calls has no content. `calls`: null where none may be called.
void append_content(std::string& out, std::string_view text, const AnswerToolCalls* calls);

}  // namespace octavo::server
