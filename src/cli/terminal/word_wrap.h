// Text for a terminal, broken at spaces while it streams: a value that takes the pieces of a text and gives what the
// terminal is sent.
//
// A word is held back while it may still end beyond the edge; the first word of a line is written as it comes, since
// there is no better place for it. So at most a line is held back. What is sent is the text itself, with line feeds
// added and blanks at the breaks left out. Between Markdown's code fences nothing is: the terminal breaks such lines by
// itself, and they can be copied as they are. Scripts that are written without spaces are broken between characters.
// Owned by a TerminalStream, one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace octavo::cli {

class WordWrap {
 public:
  /// What is written of `text`, whose characters are whole. The terminal has `columns` now, which may change from piece
  /// to piece; 0: nobody knows, and nothing is broken.
  std::string write(std::string_view text, int columns);
  /// What is written of bytes that take no column and belong before the next character.
  std::string pass(std::string_view command);
  /// What was held back.
  std::string finish();

 private:
  /// A line of the text, which opens or closes code if it begins with ``` or ~~~ behind any blanks.
  struct FenceLine {
    std::uint32_t mark = 0;
    int num_marks = 0;  // that it begins with
    bool marks_end = false;
    bool has_text = false, has_backtick = false;  // behind the marks
    void read(std::uint32_t character);
  };

  void put(std::uint32_t character, std::string_view bytes);
  void put_blank(std::uint32_t character, std::string_view bytes, int width);
  void end_line();
  void end_word();
  /// Sends the word at hand.
  void send_word();
  void advance(int width);
  int behind_tab(int column) const;
  bool may_break_before(std::uint32_t character, int width) const;

  int columns_ = 0;
  int column_ = 0;      // where the cursor is; columns_: behind the last column
  std::string out_;     // what the piece at hand has given so far
  std::string blanks_;  // held back, before the word
  int blanks_end_ = 0;  // the column behind them
  std::string word_;    // held back
  int word_width_ = 0;
  bool in_word_ = false;         // something of a word was read since the last place to break at
  bool is_first_ = true;         // the row has no other word
  std::uint32_t last_ = 0;       // the last character; 0 at the beginning of a line
  std::uint32_t last_wide_ = 0;  // the last one that takes a column
  FenceLine line_;               // the text's line
  FenceLine code_;               // the line that opened the code at hand; no marks: there is none
};

}  // namespace octavo::cli
