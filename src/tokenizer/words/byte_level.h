// The alphabet of byte-level BPE: each of the 256 bytes is written as one printable character in the vocabulary.
//
// The bytes of the printable Latin-1 characters stand for themselves, the other 68 are U+0100, U+0101 and so on in
// their order (GPT-2, openai/gpt-2 src/encoder.py, bytes_to_unicode). Immutable after construction; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace octavo {

class ByteAlphabet {
 public:
  ByteAlphabet();

  /// The character that stands for a byte, in UTF-8.
  std::string_view character(std::uint8_t byte) const { return characters_[byte]; }

  /// Appends the bytes that `text` (well-formed UTF-8) stands for. False, with nothing appended, when a character of it
  /// is outside the alphabet.
  bool decode(std::string_view text, std::string& bytes) const;

 private:
  static constexpr std::uint32_t kNumCharacters = 256 + 68;

  std::array<std::string, 256> characters_;
  std::array<std::int16_t, kNumCharacters> byte_of_;  // [code points]; -1: it stands for no byte
};

}  // namespace octavo
