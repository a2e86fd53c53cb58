#include "cli/terminal/word_wrap.h"

#include <utf8proc.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace octavo::cli {
namespace {

constexpr std::uint32_t kJoiner = 0x200D;
constexpr std::uint32_t kEmojiForm = 0xFE0F;  // shows the character before it as an emoji, two columns wide
constexpr int kTabStop = 8;
constexpr int kMinMarks = 3;                 // in a fence
constexpr std::size_t kMaxWordBytes = 4096;  // in a longer word characters take no column, and are not held back

utf8proc_category_t category_of(std::uint32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

/// The columns of a character. Where terminals differ, the larger number counts: a line then breaks early, but not in a
/// word.
int width_of(std::uint32_t character) {
  return character == kEmojiForm ? 1 : utf8proc_charwidth(static_cast<utf8proc_int32_t>(character));
}

bool is_blank(std::uint32_t character) {
  constexpr std::uint32_t kNoBreak = 0xA0, kFigureSpace = 0x2007, kNarrowNoBreak = 0x202F;
  if (character == '\t') return true;
  return category_of(character) == UTF8PROC_CATEGORY_ZS && character != kNoBreak && character != kFigureSpace &&
         character != kNarrowNoBreak;
}

/// Whether a character belongs to a script without spaces: the wide ones, Thai, Lao, Myanmar and Khmer.
bool is_word_alone(std::uint32_t character) {
  const auto within = [character](std::uint32_t first, std::uint32_t last) {
    return character >= first && character <= last;
  };
  return width_of(character) == 2 || within(0x0E00, 0x0EFF) || within(0x1000, 0x109F) || within(0x1780, 0x17FF);
}

/// Whether a character may not begin a line: punctuation, and what changes the character before it.
bool stays_with_last(std::uint32_t character) {
  switch (category_of(character)) {
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME: return true;
    default: return false;
  }
}

/// Whether a character may not end a line: punctuation, and vowels that are written before their consonant (Thai, Lao).
bool stays_with_next(std::uint32_t character) {
  const auto category = category_of(character);
  return category == UTF8PROC_CATEGORY_PS || category == UTF8PROC_CATEGORY_PI ||
         (character >= 0x0E40 && character <= 0x0E44) || (character >= 0x0EC0 && character <= 0x0EC4);
}

}  // namespace

void WordWrap::FenceLine::read(std::uint32_t character) {
  if (is_blank(character)) {
    marks_end = marks_end || num_marks > 0;
    return;
  }
  const bool is_mark = num_marks == 0 ? character == '`' || character == '~' : character == mark;
  if (is_mark && !marks_end) {
    mark = character;
    ++num_marks;
  } else {
    marks_end = has_text = true;
    has_backtick = has_backtick || character == '`';
  }
}

std::string WordWrap::write(std::string_view text, int columns) {
  columns = std::max(columns, 0);
  if (columns == 0) {
    std::string all = finish().append(text);
    *this = WordWrap();
    return all;
  }
  if (columns < column_) {  // a terminal that became narrower shows the current row in several
    const int above = (column_ - 1) / columns * columns;
    column_ -= above;
    blanks_end_ -= above;
  }
  columns_ = columns;
  while (!text.empty()) {
    const std::size_t length = std::min(utf8_announced_length(text.front()), text.size());
    put(decode_utf8(text), text.substr(0, length));
    text.remove_prefix(length);
  }
  return std::exchange(out_, {});
}

std::string WordWrap::pass(std::string_view command) {
  if (word_.empty()) return std::string(command);
  word_ += command;
  return {};
}

std::string WordWrap::finish() {
  end_word();
  if (blanks_end_ <= columns_) out_ += blanks_;
  blanks_.clear();
  return std::exchange(out_, {});
}

void WordWrap::put(std::uint32_t character, std::string_view bytes) {
  if (character == '\n') return end_line();
  line_.read(character);
  const int width = width_of(character);
  if (code_.num_marks > 0) {
    out_ += bytes;
    return;
  }
  if (is_blank(character)) return put_blank(character, bytes, width);
  if (may_break_before(character, width)) end_word();
  in_word_ = true;
  last_ = character;
  if (width > 0) last_wide_ = character;
  word_ += bytes;
  word_width_ += width;
  const int begin = blanks_.empty() ? column_ : blanks_end_;
  if (!is_first_ && begin + word_width_ > columns_) {
    out_ += '\n';
    blanks_.clear();
    column_ = 0;
    is_first_ = true;
  }
  if (is_first_ || word_.size() > kMaxWordBytes) send_word();
}

void WordWrap::put_blank(std::uint32_t character, std::string_view bytes, int width) {
  end_word();
  last_ = last_wide_ = character;
  if (!is_first_) {
    const int begin = blanks_.empty() ? column_ : blanks_end_;
    blanks_ += bytes;
    blanks_end_ = character == '\t' ? behind_tab(begin) : begin + width;
    return;
  }
  out_ += bytes;  // an indentation
  if (character == '\t') {
    column_ = behind_tab(column_);
  } else {
    advance(width);
  }
}

void WordWrap::end_line() {
  end_word();
  if (blanks_end_ <= columns_) out_ += blanks_;
  blanks_.clear();
  out_ += '\n';
  column_ = 0;
  is_first_ = true;
  last_ = last_wide_ = 0;
  const FenceLine line = std::exchange(line_, {});
  if (line.num_marks < kMinMarks) return;
  if (code_.num_marks == 0) {
    if (line.mark == '~' || !line.has_backtick) code_ = line;  // else it is code within a line
  } else if (line.mark == code_.mark && line.num_marks >= code_.num_marks && !line.has_text) {
    code_ = {};
  }
}

void WordWrap::end_word() {
  send_word();
  if (std::exchange(in_word_, false)) is_first_ = false;
}

void WordWrap::send_word() {
  if (word_.empty()) return;
  if (!blanks_.empty()) column_ = blanks_end_;
  out_ += std::exchange(blanks_, {});
  out_ += std::exchange(word_, {});
  advance(std::exchange(word_width_, 0));
}

/// Moves the cursor. The terminal breaks a row itself where the next character has no room.
void WordWrap::advance(int width) {
  column_ = column_ + width <= columns_ ? column_ + width : std::min(width, columns_);
}

/// The column after a tab, which does not go beyond the last column.
int WordWrap::behind_tab(int column) const {
  return std::max(column, std::min((column / kTabStop + 1) * kTabStop, columns_ - 1));
}

bool WordWrap::may_break_before(std::uint32_t character, int width) const {
  return in_word_ && width > 0 && last_ != kJoiner && (is_word_alone(character) || is_word_alone(last_wide_)) &&
         !stays_with_last(character) && !stays_with_next(last_wide_);
}

}  // namespace octavo::cli
