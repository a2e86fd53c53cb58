#include "cli/line_reader.h"

#include <histedit.h>
#include <langinfo.h>
#include <clocale>
#include <cstdio>
#include <istream>
#include <ostream>

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
    // While a line is edited Ctrl-C is a key like any other, so that it can clear the line. While an answer is made the
    // terminal is in its usual mode, and Ctrl-C is SIGINT.
    ::el_set(editor_.get(), EL_SETTY, "-d", "-isig", nullptr);
    ::el_set(editor_.get(), EL_ADDFN, "octavo-interrupt", "Gives the line up", interrupt_line);
    ::el_set(editor_.get(), EL_BIND, "^C", "octavo-interrupt", nullptr);
    ::el_set(editor_.get(), EL_BIND, "^R", "em-inc-search-prev", nullptr);
  }

  Line read(const std::string& prompt) override {
    prompt_ = prompt;
    interrupted_ = false;
    int size = 0;
    const char* text = ::el_gets(editor_.get(), &size);
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
  if (!context.in_is_terminal || !context.out_is_terminal) return std::make_unique<StreamLineReader>(context.in);
  // libedit reads characters by the locale's encoding; a C locale would refuse everything beyond ASCII.
  std::setlocale(LC_CTYPE, "");
  if (std::string_view(::nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
  return std::make_unique<EditLineReader>();
}

}  // namespace octavo::cli
