// The prompt of `octavo run`, joined from what the user gives: piped text, a file, words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/context.h"

namespace octavo::cli {

struct PromptSources {
  std::optional<std::string> text;  // from -p, or the words
  std::string file;                 // from -f; "-": standard input, however long it takes; empty: none
};

/// Joins the piped text, the file and the text, with blank lines between them: a document comes before the question
/// about it. Without file and text, standard input is the prompt, less one newline at its end. Errors: something cannot
/// be read, or is longer than read_text() allows.
Result<std::string> read_prompt(const PromptSources& sources, Context& context);

/// Joins the parts that are more than white space, with blank lines between them.
std::string join_parts(const std::vector<std::string>& parts);

}  // namespace octavo::cli
