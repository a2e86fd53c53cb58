#include "cli/options/command_help.h"

#include <algorithm>

#include "base/joined.h"

namespace octavo::cli {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kIndent = 28;  // the column of descriptions

/// Appends `text`, which may have several paragraphs, from column kIndent on; the line is at column `column` now.
void append_description(std::string_view text, std::size_t column, std::string& out) {
  if (column + 2 > kIndent) {
    out += '\n';
    column = 0;
  }
  out.append(kIndent - column, ' ');
  column = kIndent;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find_first_of(" \n"));
    if (column + word.size() + (column > kIndent ? 1 : 0) > kWidth) {
      out.append(1, '\n').append(kIndent, ' ');
      column = kIndent;
    }
    if (column > kIndent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  out += '\n';
}

void append_option(const Option& option, std::string& out) {
  const std::string names = joined(option.names(), std::identity());
  // Long names are aligned, also where there is no short name.
  std::string line = (names.starts_with("--") ? "      " : "  ") + names;
  if (!option.is_flag()) line += ' ' + option.type();
  out += line;
  append_description(option.description(), line.size(), out);
}

}  // namespace

std::string help_of(Program& program) {
  std::string out =
      "Octavo runs language models (GGUF files) on this machine's CPU.\n"
      "  octavo run \"Why is the sky blue?\"       one prompt, one answer\n"
      "  cat notes.txt | octavo run \"Sum up:\"    a text and what to do with it\n"
      "  octavo run -m ORG/REPO:Q4_K_M Hello     a model of the hub, fetched if need be\n"
      "\n"
      "Commands:\n";
  for (const Command& command : program.commands())
    out += fmt::format("  {:<10}{}\n", command.name(), command.summary());
  out +=
      "\n"
      "octavo help run explains a command. Without a model, as the first word or behind\n"
      "-m, it is the default. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 Ctrl-C\n";
  return out;
}

std::string help_of(const Command& command) {
  std::string out = command.summary() + ".\n\nUsage: octavo " + command.name() + " [OPTIONS]";
  if (!command.words_shown().empty()) out += ' ' + command.words_shown();
  out += '\n';
  for (const Command::Group& group : command.groups()) {
    out += '\n' + group.title + ":\n";
    for (const Option* option : group.options) append_option(*option, out);
  }
  return out + '\n' + command.footer() + '\n';
}

}  // namespace octavo::cli
