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

#include "toolcalls/call_reader.h"
#include "toolcalls/mark_finder.h"
#include "toolcalls/tool_format.h"

namespace octavo {

class ToolCallParser {
 public:
  /// The most white space in front of a call that belongs to it; of more, the last bytes do.
  static constexpr std::size_t kMaxHeldSpace = 64;

  enum class Channel : std::uint8_t { kContent, kReasoning };

  /// The sure facts about an answer that a constraint holds: a text that opens a call as the format writes it is one,
  /// or all of the content is calls.
  enum class Sure : std::uint8_t { kNothing, kOpened, kAll };

  /// `first_only`: text behind the first call is left out.
  ToolCallParser(const ToolFormat& format, const ToolSet& tools, bool first_only, Sure sure = Sure::kNothing);
  ToolCallParser(const ToolCallParser&) = delete;
  ToolCallParser& operator=(const ToolCallParser&) = delete;

  /// Adds text, that of control tokens in ToolFormat::tokens included. The events are valid until the next call.
  std::span<const ToolCallEvent> push(std::string_view text, Channel channel);
  /// Ends the text. A call under way ends as it is; of what is sure to begin one that is not named yet nothing is told.
  std::span<const ToolCallEvent> finish();

  int num_calls() const { return reader_.num_calls() + (reader_.is_in_call() ? 1 : 0); }

 private:
  void change_channel(Channel channel);
  void take(char c);
  void release_replaced();
  void add(char c);
  void step();
  void add_text(char c);
  void open(std::size_t mark);
  void settle();
  void show(std::string_view text);
  void end_reading(bool is_cut);
  bool may_open() const;
  bool is_sure(std::size_t mark) const;
  /// Whether what is no call now is a mark that the answer's end has cut.
  bool drops_text() const;
  /// Whether the rest of the answer gives no events
  bool is_over() const { return first_only_ && reader_.num_calls() > 0; }

  const ToolFormat& format_;
  const bool first_only_;
  const Sure sure_;
  MarkFinder finder_;
  CallReader reader_;
  Reading<bool> reading_;       // the reading of the calls under way, or empty
  std::deque<char> rescanned_;  // text that the reader gave back
  std::string held_;            // white space, then text that may open a call
  std::string replaced_;        // characters in place of bytes; the end of the answer may have cut the last one's
  Channel channel_ = Channel::kContent;
  bool has_content_ = false;   // whether content other than white space was shown
  bool follows_call_ = false;  // whether nothing was shown behind the last call
  bool is_ending_ = false;
  bool is_sure_ = false;  // whether what is being read is surely a call, even where its end is cut
};

}  // namespace octavo
