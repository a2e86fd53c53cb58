// The way out of all that the command line prints: Context has no other stream.
//
// Names, errors and answers are written by strangers. A character of theirs that steers a terminal, reorders or hides
// what is shown (base/displayable.h), and a byte that is no UTF-8, is shown as U+FFFD; line feed and tab are kept. A
// character may come in pieces: its bytes wait for the rest. The terminal is steered by steer() alone, whose commands
// no text can spell. While a Wrapping lives, lines are broken at spaces (cli/terminal/word_wrap.h) on a terminal. Made
// by main() or a test, which own the stream below; any thread may write, a piece at a time.
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

/// Where the text of a stream goes.
struct StreamEnd {
  bool is_terminal = false;
  bool takes_color = false;   // of a terminal: it understands colors, and nobody asked for none
  bool is_for_people = true;  // false: what is no terminal gets every byte as it is
  // Columns of a terminal at this moment; 0, as without the function: nobody knows.
  int (*columns)() = nullptr;
};

class TerminalStream final : public std::ostream {
 public:
  TerminalStream(std::ostream& below, StreamEnd kind);

  bool is_terminal() const { return end_.is_terminal; }
  /// Does nothing where there is no terminal, or none with colors for those of color.
  void steer(TerminalCommand command);

  /// What is written while it lives has its lines broken at spaces, where there is a terminal whose width is known. A
  /// text begins with it, at the beginning of a line; what was held back comes out at its end. One may live in another.
  class Wrapping {
   public:
    explicit Wrapping(TerminalStream& stream) : stream_(stream) { stream_.buffer_.begin_wrapping(); }
    ~Wrapping() { stream_.buffer_.end_wrapping(); }
    Wrapping(const Wrapping&) = delete;
    Wrapping& operator=(const Wrapping&) = delete;

    /// Another text begins: code that the last one left open is over.
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

    /// Writes `command` as it is, also between the bytes of a character.
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
    int (*const columns_)();  // nullptr: lines are never broken
    std::mutex mutex_;
    std::string unfinished_;  // the beginning of a character whose other bytes have not come
    int num_wrappings_ = 0;
    WordWrap wrap_;
  };

  const StreamEnd end_;
  Buffer buffer_;
};

}  // namespace octavo::cli
