// The name of a model on a hub: ORG/REPO, and behind a colon which of its files, as in org/repo:Q4_K_M. In front may
// stand hf.co/ or huggingface.co/, with https:// or without; the address of a file there names that file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace octavo::hub {

struct ModelRef {
  std::string repo;         // "org/repo"
  std::string wanted = {};  // a type such as Q4_K_M, or a file's name; empty: the usual choice (file_choice.h)

  /// Reads a name; none: the text is no such name.
  static std::optional<ModelRef> parse(std::string_view text);

  std::string text() const { return wanted.empty() ? repo : repo + ":" + wanted; }
};

/// Whether a path inside a repository is safe inside a folder: relative, no "..", no control characters.
bool is_safe_path(std::string_view path);

}  // namespace octavo::hub
