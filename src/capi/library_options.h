// Options that callers of the C interface give: those of `octavo serve`, word by word, with the same names, bounds and
// errors.
//
// Owned by the model that is loaded with them, or by a server of one; it stays where it is.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/error.h"
#include "cli/process_context.h"
#include "cli/serve/serve_options.h"
#include "octavo.h"

namespace octavo::capi {

/// The options that a call has no use for, and why.
struct RefusedOptions {
  std::span<const std::string_view> groups;
  bool (*is_refused)(const cli::Option& option);  // whether an option of another group is refused too
  std::string_view why;
};

class LibraryOptions {
 public:
  /// Reads the options of a model and its requests. Errors: those of parse_arguments(); an option of servers alone.
  static Result<std::unique_ptr<LibraryOptions>> read(const octavo_load_options& options);
  /// Reads the options of a server whose model is loaded. Errors: those of parse_arguments(); an option of loading.
  static Result<std::unique_ptr<LibraryOptions>> read_of_server(std::span<const char* const> words);

  cli::ServeOptions& serve() { return serve_; }
  const cli::ServeOptions& serve() const { return serve_; }
  cli::Context& context() { return process_.context(); }

 private:
  explicit LibraryOptions(cli::ProcessStreams streams) : process_(streams) {}
  Result<void> parse(std::span<const char* const> words, const RefusedOptions& refused);

  cli::ProcessContext process_;
  cli::ServeOptions serve_;
};

}  // namespace octavo::capi
