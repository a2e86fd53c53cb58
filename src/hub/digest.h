// The hash by which the hub knows a file: SHA-256 of large files, and of small ones what git knows them by. One owner,
// one thread.
#pragma once

#include <openssl/evp.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace octavo::hub {

class Digest {
 public:
  /// By the length of the hash in hexadecimal: 64 is SHA-256 of the bytes, 40 SHA-1 of git's head ("blob SIZE") and the
  /// bytes. `size` is the file's; it counts for git's alone.
  Digest(std::string_view expected_hex, std::uint64_t size);

  void update(std::span<const std::byte> bytes);
  /// In hexadecimal, lower case. Nothing may follow.
  std::string finish();
  /// Begins again, with no bytes.
  void reset();

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
  bool is_git_;
  std::uint64_t size_;
};

/// The hash that an ETag gives, without quotes and the mark of a weak one: 64 or 40 hexadecimal digits in lower case.
/// None: it is something else.
std::optional<std::string> hash_of_etag(std::string_view etag);

}  // namespace octavo::hub
