#include "cli/prompt.h"

#include <ostream>

#include "base/ascii.h"
#include "cli/options/options.h"

namespace octavo::cli {
namespace {

// A text file ends with a newline that is not part of the text; further ones are.
std::string without_last_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

/// Reads the text that is piped in beside a prompt; empty: there is none.
Result<std::string> read_piped(Context& context) {
  switch (context.await_piped_input ? context.await_piped_input() : PipedInput::kNone) {
    case PipedInput::kThere: return read_text("", context);
    case PipedInput::kSilent:
      context.err << "octavo: nothing has come from standard input, the prompt is answered alone; -f - waits for it\n"
                  << std::flush;
      break;
    case PipedInput::kNone: break;
  }
  return std::string();
}

}  // namespace

std::string join_parts(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) {
    if (trimmed(part).empty()) continue;
    if (!out.empty()) {
      out.erase(out.find_last_not_of("\r\n") + 1);
      out += "\n\n";
    }
    out += part;
  }
  return out;
}

Result<std::string> read_prompt(const PromptSources& sources, Context& context) {
  const bool has_file = !sources.file.empty() && sources.file != "-";
  std::vector<std::string> parts;
  if (sources.file == "-" || (!has_file && !sources.text)) {
    OCTAVO_TRY(std::string text, read_text("", context));
    parts.push_back(without_last_newline(std::move(text)));
  } else {
    OCTAVO_TRY(std::string text, read_piped(context));
    parts.push_back(without_last_newline(std::move(text)));
  }
  if (has_file) {
    OCTAVO_TRY(std::string text, read_text(sources.file, context));
    parts.push_back(without_last_newline(std::move(text)));
  }
  if (sources.text) parts.push_back(*sources.text);
  return parts.size() == 1 ? parts.front() : join_parts(parts);
}

}  // namespace octavo::cli
