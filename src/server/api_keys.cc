#include "server/api_keys.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>

#include "base/ascii.h"
#include "base/hex.h"
#include "base/random_bytes.h"
#include "server/key_file.h"

namespace octavo::server {
namespace {

constexpr std::size_t kNameDigits = 16;  // 64 bits
constexpr std::string_view kSpace = " \t\r";

KeyDigest digest_of(std::string_view key, const KeySalt& salt) {
  KeyDigest digest;
  const unsigned char* done =
      HMAC(EVP_sha256(), salt.data(), static_cast<int>(salt.size()), reinterpret_cast<const unsigned char*>(key.data()),
           key.size(), digest.data(), nullptr);
  OCTAVO_CHECK(done != nullptr, "HMAC-SHA-256 failed");
  return digest;
}

std::string name_of(const KeyDigest& digest) {
  return "key-" + hex_digits(std::as_bytes(std::span(digest).first(kNameDigits / 2)));
}

bool is_of_key(char c) { return c > ' ' && c <= '~'; }

bool is_name(std::string_view text) {
  const auto fits = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '@'; };
  return text.size() <= ApiKeys::kMaxNameLength && std::ranges::all_of(text, fits);
}

}  // namespace

KeySalt random_salt() {
  KeySalt salt;
  fill_random(salt);
  return salt;
}

Result<ApiKeys> ApiKeys::read(const std::filesystem::path& path, const KeySalt& salt) {
  OCTAVO_TRY(const std::string text, read_key_file(path));
  return parse(text, path.string(), salt);
}

Result<ApiKeys> ApiKeys::parse(std::string_view text, std::string_view source, const KeySalt& salt) {
  ApiKeys keys;
  keys.salt_ = salt;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end), kSpace);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    OCTAVO_TRY_VOID(keys.add_line(line, source, number));
  }
  if (keys.empty()) return fail("{}: found no key, expected one a line", source);
  return keys;
}

Result<void> ApiKeys::add_line(std::string_view line, std::string_view source, int number) {
  const std::size_t space = line.find_first_of(kSpace);
  const std::string_view name = space == std::string_view::npos ? std::string_view() : line.substr(0, space);
  const std::string_view key = space == std::string_view::npos ? line : trimmed(line.substr(space), kSpace);
  if (!is_name(name))
    return fail("{}:{}: found a name of {} characters before the key, expected at most {}, of letters, digits and -._@",
                source, number, name.size(), kMaxNameLength);
  if (!std::ranges::all_of(key, is_of_key))
    return fail("{}:{}: found a character that no key has, expected printable ASCII without spaces", source, number);
  if (key.size() < kMinLength || key.size() > kMaxLength)
    return fail("{}:{}: found a key of {} characters, expected {} to {}; `openssl rand -hex 32` makes one", source,
                number, key.size(), kMinLength, kMaxLength);
  if (!add(key, name))
    return fail("{}:{}: found a key that stands in the file before, expected each once", source, number);
  return {};
}

bool ApiKeys::add(std::string_view key, std::string_view name) {
  const KeyDigest digest = digest_of(key, salt_);
  const auto place = std::ranges::lower_bound(keys_, digest, {}, &ApiKey::digest);
  if (place != keys_.end() && place->digest == digest) return false;
  keys_.insert(place, {.digest = digest, .name = name.empty() ? name_of(digest) : std::string(name)});
  return true;
}

Result<ApiKeys> ApiKeys::of_list(std::string_view list, std::string_view source, const KeySalt& salt) {
  ApiKeys keys;
  keys.salt_ = salt;
  while (!list.empty()) {
    const std::string_view key = trimmed(list.substr(0, list.find(',')), kSpace);
    list.remove_prefix(std::min(list.size(), list.find(',')));
    list.remove_prefix(std::min<std::size_t>(list.size(), 1));
    if (key.empty()) continue;
    if (!std::ranges::all_of(key, is_of_key))
      return fail("{}: found a character that no key has, expected printable ASCII without spaces", source);
    if (key.size() > kMaxLength)
      return fail("{}: found a key of {} characters, expected at most {}", source, key.size(), kMaxLength);
    keys.add(key, {});
  }
  if (keys.empty()) return fail("{}: found no key, expected one, or several between commas", source);
  return keys;
}

bool ApiKeys::has_name(std::string_view name) const {
  return std::ranges::find(keys_, name, &ApiKey::name) != keys_.end();
}

const ApiKey* ApiKeys::find_digest(const KeyDigest& digest) const {
  const auto place = std::ranges::lower_bound(keys_, digest, {}, &ApiKey::digest);
  return place != keys_.end() && place->digest == digest ? &*place : nullptr;
}

const ApiKey* ApiKeys::find(std::string_view authorization) const {
  constexpr std::string_view kScheme = "Bearer ";
  if (authorization.size() < kScheme.size() || !boost::beast::iequals(authorization.substr(0, kScheme.size()), kScheme))
    return nullptr;
  return find_key(trimmed(authorization.substr(kScheme.size()), kSpace));
}

const ApiKey* ApiKeys::find_key(std::string_view key) const {
  if (key.size() > kMaxLength) return nullptr;
  return find_digest(digest_of(key, salt_));
}

}  // namespace octavo::server
