#include "kv_events/key_file.h"

#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "base/to_size.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = 256;
constexpr fs::perms kOfOthers = fs::perms::group_all | fs::perms::others_all;

std::optional<BlockHashKey> parse(std::string_view text) {
  BlockHashKey key = {};
  if (text.size() == key.size()) {
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(text[i]);
    return key;
  }
  while (!text.empty() && std::string_view(" \t\r\n").contains(text.back())) text.remove_suffix(1);
  if (text.size() != 2 * key.size()) return std::nullopt;
  for (std::size_t i = 0; i < key.size(); ++i) {
    unsigned char byte = 0;
    const char* const begin = text.data() + 2 * i;
    if (std::from_chars(begin, begin + 2, byte, 16).ptr != begin + 2) return std::nullopt;
    key[i] = std::byte{byte};
  }
  return key;
}

}  // namespace

Result<BlockHashKey> read_block_hash_key(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (error || !fs::exists(status)) return fail("{}: there is no such file", file.string());
  if ((status.permissions() & kOfOthers) != fs::perms::none)
    return fail("{}: others than its owner have rights to this key, expected the mode 0600", file.string());
  std::ifstream in(file, std::ios::binary);
  std::string text(kMostBytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || in.gcount() == 0) return fail("{}: cannot be read, or is empty", file.string());
  text.resize(to_size(in.gcount()));
  const auto key = parse(text);
  if (!key)
    return fail("{}: found {} bytes, expected a key of 16 bytes or 32 hexadecimal digits", file.string(), text.size());
  return *key;
}

}  // namespace octavo
