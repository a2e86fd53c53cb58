// Breaks text for a terminal at spaces while it streams: it takes the pieces of a text and gives what is to be sent to
// the terminal. A value.
//
// A word is held back while it may still reach beyond the edge; the first word of a line is written as it comes, since
// there is no better place for it. So at most one line is held back. What is sent is the text itself, with line feeds
// added, and without blanks at the breaks. Text between Markdown's code fences is unchanged: the terminal breaks such
// lines itself, so that they can be copied. Scripts without spaces are broken between characters. Owned by a
// TerminalStream, one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace octavo::cli {

class WordWrap {
 public:
  /// The bytes to send for `text`, which has whole characters. `columns`: the terminal's, which may change from piece
  /// to piece; 0: not known, and nothing is broken.
  std::string write(std::string_view text, int columns);
  /// The bytes to send for bytes that take no column and belong before the next character.
  std::string pass(std::string_view command);
  /// The text that was held back.
  std::string finish();

 private:
  /// A line of the text. It opens or closes code if it begins, after any blanks, with ``` or ~~~.
  struct FenceLine {
    std::uint32_t mark = 0;
    int num_marks = 0;  // the marks at its beginning
    bool marks_end = false;
    bool has_text = false, has_backtick = false;  // after the marks
    void read(std::uint32_t character);
  };

  void put(std::uint32_t character, std::string_view bytes);
  void put_blank(std::uint32_t character, std::string_view bytes, int width);
  void end_line();
  void end_word();
  /// Sends the current word.
  void send_word();
  void advance(int width);
  int behind_tab(int column) const;
  bool may_break_before(std::uint32_t character, int width) const;

  int columns_ = 0;
  int column_ = 0;      // the cursor's; columns_: after the last column
  std::string out_;     // what the current piece has given so far
  std::string blanks_;  // blanks before the word, held back
  int blanks_end_ = 0;  // the column after them
  std::string word_;    // the word, held back
  int word_width_ = 0;
  bool in_word_ = false;         // a part of a word was read since the last place to break
  bool is_first_ = true;         // the row has no word before this
  std::uint32_t last_ = 0;       // the last character; 0 at the beginning of a line
  std::uint32_t last_wide_ = 0;  // the last character that takes a column
  FenceLine line_;               // the current line of the text
  FenceLine code_;               // the line that opened the current code; no marks: there is none
};

}  // namespace octavo::cli
