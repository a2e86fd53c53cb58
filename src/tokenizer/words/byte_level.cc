#include "tokenizer/words/byte_level.h"

#include "base/utf8.h"

namespace octavo {

namespace {

bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

}  // namespace

ByteAlphabet::ByteAlphabet() {
  byte_of_.fill(-1);
  std::uint32_t next_code_point = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::uint32_t code_point = stands_for_itself(byte) ? byte : next_code_point++;
    append_utf8(characters_[byte], code_point);
    byte_of_[code_point] = static_cast<std::int16_t>(byte);
  }
}

bool ByteAlphabet::decode(std::string_view text, std::string& bytes) const {
  const std::size_t old_size = bytes.size();
  for (std::size_t i = 0; i < text.size();) {
    // The whole alphabet lies below U+0800, so a character of it has one byte or two.
    const auto lead = static_cast<unsigned char>(text[i]);
    std::uint32_t code_point = lead;
    if (lead >= 0x80 && i + 1 < text.size()) {
      code_point = (lead & 0x1FU) << 6 | (static_cast<unsigned char>(text[i + 1]) & 0x3FU);
    }
    if (lead >= 0xE0 || code_point >= kNumCharacters || byte_of_[code_point] < 0) {
      bytes.resize(old_size);
      return false;
    }
    bytes.push_back(static_cast<char>(byte_of_[code_point]));
    i += lead < 0x80 ? 1 : 2;
  }
  return true;
}

}  // namespace octavo
