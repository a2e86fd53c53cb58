#include "server/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <boost/beast/core/string.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace octavo::server {
namespace {

constexpr std::size_t kNameDigits = 16;  // 64 bits

std::array<unsigned char, 32> sha256(std::string_view text) {
  std::array<unsigned char, 32> digest;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

Result<ApiKeys> ApiKeys::read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail("{}: cannot open the file of API keys: {}", path.string(), std::strerror(errno));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return fail("{}: cannot read the file of API keys", path.string());
  return parse(text, path.string());
}

Result<ApiKeys> ApiKeys::parse(std::string_view text, std::string_view source) {
  ApiKeys keys;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view key = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (key.empty() || key.front() == '#') continue;
    for (const char c : key)
      if (c <= ' ' || c > '~')
        return fail("{}:{}: found a character that no key has, expected printable ASCII without spaces", source,
                    number);
    keys.digests_.push_back(sha256(key));
  }
  if (keys.empty()) return fail("{}: found no key, expected one a line", source);
  return keys;
}

std::optional<std::string> ApiKeys::find(std::string_view authorization) const {
  constexpr std::string_view kScheme = "Bearer ";
  if (authorization.size() < kScheme.size() || !boost::beast::iequals(authorization.substr(0, kScheme.size()), kScheme))
    return std::nullopt;
  const Digest digest = sha256(trimmed(authorization.substr(kScheme.size())));
  bool found = false;
  for (const Digest& known : digests_)
    if (CRYPTO_memcmp(known.data(), digest.data(), digest.size()) == 0) found = true;
  if (!found) return std::nullopt;
  std::string name;
  for (std::size_t i = 0; i < kNameDigits / 2; ++i) name += fmt::format("{:02x}", digest[i]);
  return name;
}

}  // namespace octavo::server
