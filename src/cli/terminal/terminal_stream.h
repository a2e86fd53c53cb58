// The stream through which the command line prints everything: Context has no other.
//
// Names, errors and answers come from strangers. Characters that control a terminal, or reorder or hide what is shown
// (base/displayable.h), and bytes that are not UTF-8, are shown as U+FFFD; line feed and tab are kept. A character may
// come in pieces: its bytes wait for the rest. Only steer() controls the terminal, with commands that no text can
// spell. While a Wrapping lives, lines are broken at spaces (cli/terminal/word_wrap.h) on a terminal. Made by main() or
// a test, which own the stream below; any thread may write, a piece at a time.
#pragma once

#include <cstdint>
#include <mutex>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

#include "cli/terminal/word_wrap.h"

namespace octavo::cli {

enum class TerminalCommand : std::uint8_t { kEraseLine, kDim, kPlain };

/// The destination of a stream's text.
struct StreamEnd {
  bool is_terminal = false;
  bool takes_color = false;   // for a terminal: it understands colors, and they are not turned off
  bool is_for_people = true;  // false: it is no terminal, and gets every byte unchanged
  // The terminal's present number of columns; 0, or no function: it is not known.
  int (*columns)() = nullptr;
};

class TerminalStream final : public std::ostream {
 public:
  TerminalStream(std::ostream& below, StreamEnd kind);

  bool is_terminal() const { return end_.is_terminal; }
  /// Does nothing where there is no terminal or, for colors, none that shows them.
  void steer(TerminalCommand command);

  /// Breaks the lines of what is written while it lives at spaces, where there is a terminal of known width. It begins
  /// a text, at the beginning of a line; text that was held back is written at its end. One may live within another.
  class Wrapping {
   public:
    explicit Wrapping(TerminalStream& stream) : stream_(stream) { stream_.buffer_.begin_wrapping(); }
    ~Wrapping() { stream_.buffer_.end_wrapping(); }
    Wrapping(const Wrapping&) = delete;
    Wrapping& operator=(const Wrapping&) = delete;

    /// Begins another text: code that the last one left open has ended.
    void begin_text() { stream_.buffer_.begin_text(); }

   private:
    TerminalStream& stream_;
  };

 private:
  class Buffer final : public std::streambuf {
   public:
    Buffer(std::ostream& out, bool passes_all, int (*columns)())
        : out_(out), passes_all_(passes_all), columns_(columns) {}
    ~Buffer() override;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    /// Writes `command` unchanged, even between the bytes of a character.
    void pass(std::string_view command);
    void begin_wrapping();
    void end_wrapping();
    void begin_text();

   protected:
    int_type overflow(int_type c) override;
    std::streamsize xsputn(const char* text, std::streamsize size) override;
    int sync() override;

   private:
    std::string shown(std::string_view text);
    void restart_wrap();

    std::ostream& out_;
    const bool passes_all_;
    int (*const columns_)();  // null: lines are never broken
    std::mutex mutex_;
    std::string unfinished_;  // the first bytes of a character whose other bytes have not come
    int num_wrappings_ = 0;
    WordWrap wrap_;
  };

  const StreamEnd end_;
  Buffer buffer_;
};

}  // namespace octavo::cli
