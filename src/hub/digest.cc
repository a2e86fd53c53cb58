#include "hub/digest.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.h"
#include "base/hex.h"

namespace octavo::hub {
namespace {

constexpr std::size_t kSha256Digits = 64, kSha1Digits = 40;

}  // namespace

Digest::Digest(std::string_view expected_hex, std::uint64_t size)
    : context_(EVP_MD_CTX_new()), is_git_(expected_hex.size() == kSha1Digits), size_(size) {
  OCTAVO_CHECK(context_ && (is_git_ || expected_hex.size() == kSha256Digits));
  reset();
}

void Digest::reset() {
  const bool began = EVP_DigestInit_ex(context_.get(), is_git_ ? EVP_sha1() : EVP_sha256(), nullptr) == 1;
  OCTAVO_CHECK(began);
  if (!is_git_) return;
  const std::string head = fmt::format("blob {}", size_);
  update(std::as_bytes(std::span(head.c_str(), head.size() + 1)));
}

void Digest::update(std::span<const std::byte> bytes) {
  const bool done = EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1;
  OCTAVO_CHECK(done);
}

std::string Digest::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned int size = 0;
  const bool done = EVP_DigestFinal_ex(context_.get(), hash.data(), &size) == 1;
  OCTAVO_CHECK(done);
  return hex_digits(std::as_bytes(std::span(hash).first(size)));
}

std::optional<std::string> hash_of_etag(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, etag.size() - 2);
  if (etag.size() != kSha256Digits && etag.size() != kSha1Digits) return std::nullopt;
  if (!std::ranges::all_of(etag, [](unsigned char c) { return std::isxdigit(c) != 0; })) return std::nullopt;
  std::string hash(etag);
  std::ranges::transform(hash, hash.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return hash;
}

}  // namespace octavo::hub
