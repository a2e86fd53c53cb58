#include "http/page_policy.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

namespace octavo {
namespace {

/// The source "'sha256-...'" that names a text in a policy.
std::string hash_source(std::string_view text) {
  constexpr std::size_t kHashBytes = 32, kBase64Bytes = 4 * ((kHashBytes + 2) / 3);
  std::array<unsigned char, kHashBytes> hash{};
  std::array<unsigned char, kBase64Bytes + 1> base64{};
  ::EVP_Digest(text.data(), text.size(), hash.data(), nullptr, ::EVP_sha256(), nullptr);
  ::EVP_EncodeBlock(base64.data(), hash.data(), kHashBytes);
  return fmt::format("'sha256-{}'", reinterpret_cast<const char*>(base64.data()));
}

/// The hashes of all elements <tag>, which have no attributes; 'none' where there are no such elements.
std::string hashes_of(std::string_view page, std::string_view tag) {
  const std::string begin = fmt::format("<{}>", tag), end = fmt::format("</{}>", tag);
  std::string sources;
  for (std::size_t at = page.find(begin); at != std::string_view::npos; at = page.find(begin, at)) {
    at += begin.size();
    if (!sources.empty()) sources += ' ';
    sources += hash_source(page.substr(at, page.find(end, at) - at));
  }
  return sources.empty() ? "'none'" : sources;
}

}  // namespace

std::string policy_of_page(std::string_view page) {
  return fmt::format(
      "default-src 'none'; script-src {}; style-src {}; connect-src 'self'; img-src data:; frame-ancestors 'none'; "
      "base-uri 'none'; form-action 'none'",
      hashes_of(page, "script"), hashes_of(page, "style"));
}

}  // namespace octavo
