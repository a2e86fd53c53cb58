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
  bool is_kept = false;      // calls are written whole at the end, else in deltas as they come
  bool is_function = false;  // one `function_call`, OpenAI's older form, in place of `tool_calls`
};

class AnswerToolCalls {
 public:
  /// `answer` names the answer, for the ids of calls.
  AnswerToolCalls(const ToolCalling& calling, std::string answer, CallStyle form)
      : form_(form), parts_(calling, std::move(answer)) {}

  /// An event's text with its calls taken out.
  struct Shown {
    std::string content = {}, reasoning = {};
    std::string deltas = {};  // elements of a delta's tool_calls, with commas between; or members of its function_call
  };
  Shown push(const RequestEvent& event);

  bool any() const { return parts_.num_calls() > 0; }
  /// The bytes of the calls that are kept.
  std::size_t held_bytes() const { return held_bytes_; }
  /// Writes the field of a message that has its calls.
  void write_all(JsonWriter json) const;
  /// Writes the field of a delta that has the calls' deltas of an event.
  void write_deltas(std::string_view deltas, JsonWriter json) const;
  /// The finish reason of an answer with calls.
  std::string_view finish_name() const { return form_.is_function ? "function_call" : "tool_calls"; }

 private:
  struct Call {
    std::string id, name, arguments;
    bool is_custom;  // the arguments are a custom tool's input
  };

  void begin(const AnswerPart& part, std::string& deltas);
  void add_arguments(const AnswerPart& part, std::string& deltas);

  const CallStyle form_;
  AnswerParts parts_;
  std::vector<Call> calls_;  // the calls that are kept until the end
  std::size_t held_bytes_ = 0;
};

/// Writes a message's content, refusal and calls. A message that only calls has no content. `calls` may be null.
void write_content(std::string_view text, const AnswerToolCalls* calls, JsonWriter json);

}  // namespace octavo
