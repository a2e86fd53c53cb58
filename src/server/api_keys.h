// Who may call: keys of a file, one a line. Immutable; any thread.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace octavo::server {

class ApiKeys {
 public:
  /// No keys: everybody may call.
  ApiKeys() = default;
  /// One key a line; empty lines and lines that begin with # are skipped. Errors name the file and the line: no key at
  /// all, characters that a header cannot hold.
  static Result<ApiKeys> read(const std::filesystem::path& file);
  static Result<ApiKeys> parse(std::string_view text, std::string_view source);

  bool empty() const { return digests_.empty(); }
  /// Of an Authorization header's value: "Bearer KEY". The name that stands for the key where the key itself must not
  /// be seen (logs, cache domains): the first digits of its SHA-256. None: it is no key of the file. Takes as long for
  /// a wrong key as for a right one.
  std::optional<std::string> find(std::string_view authorization) const;

 private:
  using Digest = std::array<unsigned char, 32>;
  std::vector<Digest> digests_;
};

}  // namespace octavo::server
