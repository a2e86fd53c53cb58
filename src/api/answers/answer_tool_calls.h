// Calls of tools in the answers of a chat, as OpenAI's API has them.
//
// Belongs to one answer and is used by one thread, the I/O thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/answers/answer_parts.h"
#include "json/json_writer.h"

namespace octavo {

/// How the calls of an answer are written.
struct CallStyle {
  bool is_kept = false;      // whole in the end, else in parts as they come
  bool is_function = false;  // one `function_call`, OpenAI's first form, in place of `tool_calls`
};

class AnswerToolCalls {
 public:
  /// `answer` names the answer, for the ids of calls.
  AnswerToolCalls(const ToolCalling& calling, std::string answer, CallStyle form)
      : form_(form), parts_(calling, std::move(answer)) {}

  /// An event's text without the calls in it.
  struct Shown {
    std::string content = {}, reasoning = {};
    std::string deltas = {};  // elements of a delta's tool_calls, with commas between; or members of its function_call
  };
  Shown push(const RequestEvent& event);

  bool any() const { return parts_.num_calls() > 0; }
  /// Bytes of the calls that are kept.
  std::size_t held_bytes() const { return held_bytes_; }
  /// A message's field with its calls.
  void write_all(JsonWriter json) const;
  /// A delta's field with the deltas of an event.
  void write_deltas(std::string_view deltas, JsonWriter json) const;
  /// Why an answer with calls has ended.
  std::string_view finish_name() const { return form_.is_function ? "function_call" : "tool_calls"; }

 private:
  struct Call {
    std::string id, name, arguments;
    bool is_custom;  // its arguments are an input
  };

  void begin(const AnswerPart& part, std::string& deltas);
  void add_arguments(const AnswerPart& part, std::string& deltas);

  const CallStyle form_;
  AnswerParts parts_;
  std::vector<Call> calls_;  // kept
  std::size_t held_bytes_ = 0;
};

/// A message's content, refusal and calls. One that only calls has no content. `calls`: null where none may be called.
void write_content(std::string_view text, const AnswerToolCalls* calls, JsonWriter json);

}  // namespace octavo
