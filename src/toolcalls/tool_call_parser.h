// Finds calls of tools in an answer as it comes, and tells them apart from content and reasoning.
//
//     text ─▶ MarkFinder: where a call opens ─▶ the format's coroutine ─▶ events
//
// One for each answer, used by one thread at a time; format and tools outlive it. However the answer is cut into
// pieces, the events say the same. What cannot be read as a call is text as before; white space between text and a
// call, and between calls, belongs to neither.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "toolcalls/call_reader.h"
#include "toolcalls/mark_finder.h"
#include "toolcalls/tool_format.h"

namespace octavo {

class ToolCallParser {
 public:
  /// White space that may stand in front of a call: of more, the last so many bytes do.
  static constexpr std::size_t kMaxHeldSpace = 64;

  enum class Channel : std::uint8_t { kContent, kReasoning };

  /// `first_only`: behind the first call, everything is left out.
  ToolCallParser(const ToolFormat& format, const ToolSet& tools, bool first_only);
  ToolCallParser(const ToolCallParser&) = delete;
  ToolCallParser& operator=(const ToolCallParser&) = delete;

  /// Adds text, with that of control tokens that ToolFormat::tokens names. The events are valid until the next call.
  std::span<const ToolCallEvent> push(std::string_view text, Channel channel);
  /// Nothing follows. A call that is under way ends as it is.
  std::span<const ToolCallEvent> finish();

  int num_calls() const { return reader_.num_calls() + (reader_.is_in_call() ? 1 : 0); }

 private:
  void change_channel(Channel channel);
  void add(char c);
  void step();
  void add_text(char c);
  void open(std::size_t mark);
  void settle();
  void show(std::string_view text);
  void end_reading(bool is_cut);
  bool may_open() const;
  /// Nothing of the answer is told any more.
  bool is_over() const { return first_only_ && reader_.num_calls() > 0; }

  const ToolFormat& format_;
  const bool first_only_;
  MarkFinder finder_;
  CallReader reader_;
  Reading<bool> reading_;       // of the calls that are under way; else empty
  std::deque<char> rescanned_;  // text that was given back
  std::string held_;            // white space, then what may open a call
  Channel channel_ = Channel::kContent;
  bool has_content_ = false;   // something but white space was shown as such
  bool follows_call_ = false;  // nothing was shown behind the last one
};

}  // namespace octavo
