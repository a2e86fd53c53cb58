#include "cli/terminal/line_reader.h"

#include <histedit.h>
#include <langinfo.h>
#include <clocale>
#include <cstdio>
#include <istream>
#include <string_view>

#include "base/to_size.h"

namespace octavo::cli {
namespace {

class StreamLineReader final : public LineReader {
 public:
  explicit StreamLineReader(std::istream& in) : in_(in) {}

  Line read(const std::string&) override {
    Line line;
    if (!std::getline(in_, line.text)) return line;
    if (line.text.ends_with('\r')) line.text.pop_back();
    line.kind = Line::Kind::kText;
    return line;
  }

 private:
  std::istream& in_;
};

class EditLineReader final : public LineReader {
 public:
  EditLineReader() : history_(::history_init()), editor_(::el_init("octavo", stdin, stdout, stderr)) {
    HistEvent event;
    ::history(history_.get(), &event, H_SETSIZE, kHistoryLines);
    ::el_set(editor_.get(), EL_CLIENTDATA, this);
    ::el_set(editor_.get(), EL_PROMPT, show_prompt);
    ::el_set(editor_.get(), EL_EDITOR, "emacs");
    ::el_set(editor_.get(), EL_HIST, ::history, history_.get());
    // While a line is edited, Ctrl-C is an ordinary key, so that it can clear the line. While an answer is made the
    // terminal is in its usual mode, and Ctrl-C is SIGINT.
    ::el_set(editor_.get(), EL_SETTY, "-d", "-isig", nullptr);
    ::el_set(editor_.get(), EL_ADDFN, "octavo-interrupt", "Gives the line up", interrupt_line);
    ::el_set(editor_.get(), EL_BIND, "^C", "octavo-interrupt", nullptr);
    ::el_set(editor_.get(), EL_BIND, "^R", "em-inc-search-prev", nullptr);
    ::el_set(editor_.get(), EL_ADDFN, "octavo-paste", "Inserts what is pasted", insert_paste);
    ::el_set(editor_.get(), EL_BIND, "\\e[200~", "octavo-paste", nullptr);
  }

  Line read(const std::string& prompt) override {
    prompt_ = prompt;
    interrupted_ = false;
    int size = 0;
    set_paste_marks(true);
    const char* text = ::el_gets(editor_.get(), &size);
    set_paste_marks(false);
    Line line;
    if (interrupted_) {
      std::fputs("^C\n", stdout);
      line.kind = Line::Kind::kInterrupted;
      line.text = interrupted_text_;
      return line;
    }
    if (text == nullptr || size <= 0) {
      std::fputs("\n", stdout);
      return line;
    }
    line.kind = Line::Kind::kText;
    line.text.assign(text, to_size(size));
    if (line.text.ends_with('\n')) line.text.pop_back();
    HistEvent event;
    if (!line.text.empty()) ::history(history_.get(), &event, H_ENTER, text);
    return line;
  }

 private:
  static constexpr int kHistoryLines = 1000;
  static constexpr std::size_t kMaxPaste = std::size_t{1} << 20;  // characters; what is beyond is left out

  /// Asks the terminal to put marks around pasted text ("bracketed paste"), so that its line breaks differ from the key
  /// that sends a line.
  static void set_paste_marks(bool on) {
    std::fputs(on ? "\033[?2004h" : "\033[?2004l", stdout);
    std::fflush(stdout);
  }

  static EditLineReader& self(EditLine* editor) {
    void* data = nullptr;
    ::el_get(editor, EL_CLIENTDATA, &data);
    return *static_cast<EditLineReader*>(data);
  }

  static char* show_prompt(EditLine* editor) { return self(editor).prompt_.data(); }

  static unsigned char interrupt_line(EditLine* editor, int) {
    EditLineReader& reader = self(editor);
    const LineInfo* info = ::el_line(editor);
    reader.interrupted_text_.assign(info->buffer, info->lastchar);
    reader.interrupted_ = true;
    return CC_EOF;
  }

  /// Called after the first mark: all up to the second one becomes part of the line, with its line breaks.
  static unsigned char insert_paste(EditLine* editor, int) {
    constexpr std::wstring_view kEnd = L"\033[201~";
    std::wstring text, last;
    for (wchar_t c = 0; !last.ends_with(kEnd) && ::el_wgetc(editor, &c) == 1;) {
      last.erase(0, last.size() < kEnd.size() ? 0 : 1);
      last += c;
      if (text.size() < kMaxPaste + kEnd.size()) text += c == L'\r' ? L'\n' : c;
    }
    if (text.ends_with(kEnd)) text.resize(text.size() - kEnd.size());
    std::erase_if(text, [](wchar_t c) { return (c < 0x20 && c != L'\n' && c != L'\t') || (c >= 0x7F && c < 0xA0); });
    while (text.ends_with(L'\n')) text.pop_back();
    if (!text.empty()) ::el_winsertstr(editor, text.c_str());
    return CC_REFRESH;
  }

  struct Close {
    void operator()(History* history) const { ::history_end(history); }
    void operator()(EditLine* editor) const { ::el_end(editor); }
  };

  std::string prompt_;
  bool interrupted_ = false;
  std::string interrupted_text_;
  std::unique_ptr<History, Close> history_;
  std::unique_ptr<EditLine, Close> editor_;
};

}  // namespace

std::unique_ptr<LineReader> make_line_reader(Context& context) {
  if (!context.in_is_terminal || !context.out.is_terminal()) return std::make_unique<StreamLineReader>(context.in);
  // libedit decodes characters by the locale; a C locale would refuse everything beyond ASCII.
  std::setlocale(LC_CTYPE, "");
  if (std::string_view(::nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
  return std::make_unique<EditLineReader>();
}

}  // namespace octavo::cli
