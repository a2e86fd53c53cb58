// Calls of tools in the answers of a chat, as OpenAI's API has them.
//
// Belongs to one answer and is used by one thread, the I/O thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "server/answer_parts.h"

namespace octavo::server {

class AnswerToolCalls {
 public:
  /// `answer` names the answer, for the ids of calls. `is_kept`: whole calls are wanted in the end, else parts as they
  /// come.
  AnswerToolCalls(const ToolCalling& calling, std::string answer, bool is_kept)
      : is_kept_(is_kept), parts_(calling, std::move(answer)) {}

  /// An event's text without the calls in it.
  struct Shown {
    std::string content = {}, reasoning = {};
    std::string deltas = {};  // elements of a delta's tool_calls, with commas between
  };
  Shown push(const OwnedEvent& event);

  bool any() const { return parts_.num_calls() > 0; }
  /// Bytes of the calls that are kept.
  std::size_t held_bytes() const { return held_bytes_; }
  /// The array of a message's tool_calls.
  void append_all(std::string& out) const;

 private:
  struct Call {
    std::string id, name, arguments;
    bool is_custom;  // its arguments are an input
  };

  void begin(const AnswerPart& part, std::string& deltas);
  void add_arguments(const AnswerPart& part, std::string& deltas);

  const bool is_kept_;
  AnswerParts parts_;
  std::vector<Call> calls_;  // kept
  std::size_t held_bytes_ = 0;
};

/// A message's content, refusal and calls. One that only calls has no content. `calls`: null where none may be called.
void append_content(std::string& out, std::string_view text, const AnswerToolCalls* calls);

}  // namespace octavo::server
