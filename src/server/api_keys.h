// The keys that may call, such as those of a file with one on each line. Immutable; any thread.
//
// A key is held and compared as its HMAC-SHA-256 under a random salt of this process. Neither memory nor the time of a
// comparison tells of the key, and a name made from it cannot be guessed back, however short the key.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace octavo::server {

using KeyDigest = std::array<unsigned char, 32>;
using KeySalt = std::array<unsigned char, 32>;

KeySalt random_salt();

struct ApiKey {
  KeyDigest digest = {};
  /// The key's name in logs and cache domains, which must not show the key: the name in the file, which several keys
  /// may share, or "key-" and the first digits of its digest.
  std::string name = {};

  bool operator==(const ApiKey&) const = default;
};

class ApiKeys {
 public:
  static constexpr std::size_t kMinLength = 16;
  static constexpr std::size_t kMaxLength = 512;
  static constexpr std::size_t kMaxNameLength = 32;

  /// Without keys, everybody may call.
  ApiKeys() = default;
  /// Reads a file. A line is a key, or a name, a space and the key; empty lines and lines that begin with # are
  /// skipped. Errors name the file and the line and never show a key: there is no key; one is too short or too long,
  /// has characters that a header cannot hold, or is there twice. Keys that are read again with the same salt have the
  /// same digests.
  static Result<ApiKeys> read(const std::filesystem::path& file, const KeySalt& salt = random_salt());
  static Result<ApiKeys> parse(std::string_view text, std::string_view source, const KeySalt& salt = random_salt());

  /// Reads keys with commas between them, of any length. Errors: there is none; one is too long, or has characters that
  /// a header cannot hold.
  static Result<ApiKeys> of_list(std::string_view list, std::string_view source, const KeySalt& salt = random_salt());

  bool empty() const { return keys_.empty(); }
  std::size_t size() const { return keys_.size(); }
  /// The key in the value of an Authorization header, "Bearer KEY". Null: it is not known.
  const ApiKey* find(std::string_view authorization) const;
  /// The key that `key` is. Null: it is not known.
  const ApiKey* find_key(std::string_view key) const;
  bool has_name(std::string_view name) const;
  bool contains(const KeyDigest& digest) const { return find_digest(digest) != nullptr; }

  bool operator==(const ApiKeys&) const = default;

 private:
  /// Adds a key; empty `name`: one is made. False: the key is there already.
  bool add(std::string_view key, std::string_view name);
  Result<void> add_line(std::string_view line, std::string_view source, int number);
  const ApiKey* find_digest(const KeyDigest& digest) const;

  KeySalt salt_ = {};
  std::vector<ApiKey> keys_;  // sorted by digest
};

}  // namespace octavo::server
