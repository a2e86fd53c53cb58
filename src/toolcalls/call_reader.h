// One or several calls as a format's coroutine reads them: it asks for bytes here, and says here what they mean.
//
// Owned by a ToolCallParser; one thread. Until a call begins, the bytes that were taken are held: if they turn out to
// be no call, the parser gives them back as the text that they are.
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "toolcalls/mark_finder.h"
#include "toolcalls/reading.h"
#include "toolcalls/tool_set.h"

namespace octavo {

/// An event of a parser about an answer. Calls are numbered from 0, and their events come in order.
struct ToolCallEvent {
  enum class Kind : std::uint8_t {
    kContent,    // `text` is content
    kReasoning,  // `text` is reasoning
    kBegin,      // a call of the tool `text` begins; `id` is the model's id of the call, or empty
    kArguments,  // `text` continues the call's arguments, a text in JSON
    kEnd,        // the call is whole
  };
  Kind kind = Kind::kContent;
  int index = 0;  // the number of the call
  std::string text = {};
  std::string id = {};
};

/// A name that formats can carry: a word of up to CallReader::kMaxNameBytes without brackets, quotes and spaces.
bool may_name_a_tool(std::string_view name);

class CallReader {
 public:
  static constexpr int kEnd = -1;                    // nothing follows
  static constexpr std::size_t kMaxNameBytes = 256;  // the most bytes of a tool's or a parameter's name
  static constexpr std::size_t kMaxIdBytes = 64;
  static constexpr std::size_t kMaxHeldBytes = 1 << 20;  // the most bytes before a call begins, or of one argument
  static constexpr int kMaxCalls = 128;                  // the most calls of an answer

  /// Lets at most `max_calls` calls begin.
  CallReader(const ToolSet& tools, int max_calls) : tools_(tools), max_calls_(max_calls) {}

  // The functions below are for formats' coroutines.

  /// Waits for the next byte, 0 to 255, or kEnd; the byte stays there until take().
  auto peek() {
    struct Awaiter {
      CallReader& reader;
      bool await_ready() const noexcept { return reader.has_byte_ || reader.is_over_; }
      void await_suspend(std::coroutine_handle<> waiting) noexcept { reader.waiting_ = waiting; }
      int await_resume() const noexcept { return reader.has_byte_ ? static_cast<unsigned char>(reader.byte_) : kEnd; }
    };
    return Awaiter{*this};
  }
  void take();
  /// Begins a call. False: there is no such tool where one is asked for, or there are too many calls.
  bool begin(std::string_view name, std::string_view id = {});
  /// The arguments of the call, to which text is appended.
  std::string& arguments() { return arguments_; }
  void end();
  bool is_in_call() const { return is_in_call_; }
  /// Notes that the bytes taken so far are read, and are never given back.
  void keep_read() {
    held_.clear();
    num_opened_ = 0;
    is_holding_ = false;
  }
  /// Notes that bytes taken from now on may be given back, though a call has begun, until keep_read() or the call's
  /// end, behind which this holds on.
  void hold() {
    keep_read();
    is_holding_ = true;
  }
  std::uint8_t types_of(std::string_view parameter) const { return tools_.types_of(name_, parameter); }

  // The functions below are for the parser.

  /// Begins to take bytes, behind those of `opened`. `only_known`: names must be those of tools.
  void open(std::string opened, bool only_known);
  /// Gives a byte to the waiting coroutine. False: the byte was not taken.
  bool push(char c);
  /// Ends the bytes, which ends the coroutine.
  void finish();
  /// The taken bytes that are no call; the first `num_opened` of them opened it.
  struct Held {
    std::string bytes;
    std::size_t num_opened = 0;
  };
  Held release_held() { return {.bytes = std::exchange(held_, {}), .num_opened = std::exchange(num_opened_, 0)}; }
  int num_calls() const { return num_calls_; }
  std::vector<ToolCallEvent>& events() { return events_; }
  /// Makes events of the arguments that were appended.
  void flush();

 private:
  const ToolSet& tools_;
  const int max_calls_;
  std::coroutine_handle<> waiting_ = {};
  char byte_ = 0;
  bool has_byte_ = false, is_over_ = false;
  bool only_known_ = false;
  bool is_in_call_ = false, is_holding_ = false;
  int num_calls_ = 0;
  std::string name_;  // the tool of the call
  std::string held_, arguments_;
  std::size_t num_opened_ = 0;
  std::vector<ToolCallEvent> events_;
};

/// Takes `text`, byte by byte. False: the next byte is another one; the equal bytes before it are taken.
Reading<bool> expect(CallReader& in, std::string_view text);
/// Takes one of the texts, of which none is the beginning of another, and gives its index; -1: the next byte leads to
/// none of them. Empty texts are passed over.
Reading<int> choose(CallReader& in, std::span<const std::string_view> texts);
/// Takes white space, and gives true.
Reading<bool> skip_space(CallReader& in);
/// Takes white space, then `text`, as expect() does.
Reading<bool> expect_after_space(CallReader& in, std::string_view text);
/// Takes the bracket behind a list of calls, then white space and `mark`. The list is kept, also without the mark.
Reading<bool> end_list(CallReader& in, std::string_view mark);
/// Takes a name of 1 to kMaxNameBytes bytes up to one of the bytes `ends`, without white space around it. False: the
/// name is longer, empty, or has a control character.
Reading<bool> read_name(CallReader& in, std::string_view ends, std::string& name);
/// Takes a JSON value and appends it to `out`. False: the next byte cannot stand there, or `out` has more than `most`
/// bytes.
Reading<bool> read_json(CallReader& in, std::string& out, std::size_t most);
/// Takes a JSON string without escapes, whose text becomes `out`.
Reading<bool> read_plain_string(CallReader& in, std::string& out);

/// Takes text up to `mark`, and the mark, and gives each byte of the text to `sink`. `begun`: the first bytes of both,
/// which were taken already. False: there was no mark.
template <class Sink>
Reading<bool> read_until(CallReader& in, std::string_view mark, Sink sink, std::string_view begun = {}) {
  const std::array marks = {mark};
  MarkFinder finder(marks);
  std::string waiting;  // bytes that may become the mark
  for (;;) {
    char c = 0;
    if (begun.empty()) {
      const int next = co_await in.peek();
      if (next == CallReader::kEnd) break;
      in.take();
      c = static_cast<char>(next);
    } else {
      c = begun.front();
      begun.remove_prefix(1);
    }
    waiting.push_back(c);
    const bool is_mark = finder.push(c) == 0;
    const std::size_t num_text = waiting.size() - (is_mark ? mark.size() : finder.held());
    for (std::size_t i = 0; i < num_text; ++i) sink(waiting[i]);
    if (is_mark) co_return true;
    waiting.erase(0, num_text);
  }
  for (const char c : waiting) sink(c);
  co_return false;
}
/// Takes the rest of a call that cannot be read, up to `close`, or to the answer's end where `close` is empty: it
/// becomes the arguments as it is. Gives true.
Reading<bool> read_rest(CallReader& in, std::string_view close);

}  // namespace octavo
