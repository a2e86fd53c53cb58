// The prompt of `octavo run`, put together from what the user gave: text that is piped in, a file, words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/context.h"

namespace octavo::cli {

struct PromptSources {
  std::optional<std::string> text;  // -p, or the words
  std::string file;                 // -f; "-": standard input, however long it takes; empty: none
};

/// The piped text, then the file, then the text, with a blank line between them: a document comes before the question
/// about it. Without file and text standard input is the prompt, less one newline at its end. Errors: something cannot
/// be read, or is longer than read_text() takes.
Result<std::string> read_prompt(const PromptSources& sources, Context& context);

/// The parts that have more than white space, with a blank line between them.
std::string join_parts(const std::vector<std::string>& parts);

}  // namespace octavo::cli
