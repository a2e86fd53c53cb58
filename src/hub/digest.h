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
  /// A digest by the length of the hash in hexadecimal digits: 64 is SHA-256 of the bytes, 40 is SHA-1 of git's head
  /// ("blob SIZE") and the bytes. `size` is the file's, which counts for git's alone.
  Digest(std::string_view expected_hex, std::uint64_t size);

  void update(std::span<const std::byte> bytes);
  /// The hash in hexadecimal digits of lower case. No bytes may follow.
  std::string finish();
  /// Begins again, without bytes.
  void reset();

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
  bool is_git_;
  std::uint64_t size_;
};

/// The hash of an ETag, without quotes and the mark of a weak one: 64 or 40 hexadecimal digits in lower case. None: the
/// ETag is another text.
std::optional<std::string> hash_of_etag(std::string_view etag);

}  // namespace octavo::hub
