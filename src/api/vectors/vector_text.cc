#include "api/vectors/vector_text.h"

#include <openssl/evp.h>

#include <algorithm>
#include <bit>
#include <string>

namespace octavo {
namespace {

static_assert(std::endian::native == std::endian::little, "base64 has the floats as they lie here");

constexpr std::size_t kBitsOfByte = 8;
constexpr int kSignedOffset = 128;

/// Writes the floats, little-endian, in base64.
void write_base64(std::span<const float> floats, JsonWriter json) {
  const std::size_t num_bytes = (floats.size_bytes() + 2) / 3 * 4;
  std::string text(num_bytes + 2, '"');  // the encoder writes a zero behind its own
  ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data() + 1),
                    reinterpret_cast<const unsigned char*>(floats.data()), static_cast<int>(floats.size_bytes()));
  text.back() = '"';
  json.raw(text);
}

/// Writes one bit per float, 1 above 0, the first float in the highest bit, as a list of bytes less `offset`.
void write_bits(std::span<const float> floats, int offset, JsonWriter json) {
  json.begin_array();
  for (std::size_t begin = 0; begin < floats.size(); begin += kBitsOfByte) {
    unsigned byte = 0;
    const std::size_t end = std::min(floats.size(), begin + kBitsOfByte);
    for (std::size_t i = begin; i < end; ++i)
      if (floats[i] > 0) byte |= 0x80U >> (i - begin);
    json.value(static_cast<int>(byte) - offset);
  }
  json.end_array();
}

}  // namespace

void write_vector(std::span<const float> floats, VectorKind kind, JsonWriter json) {
  switch (kind) {
    case VectorKind::kFloat: json.value(floats); break;
    case VectorKind::kBinary: write_bits(floats, kSignedOffset, json); break;
    case VectorKind::kUbinary: write_bits(floats, 0, json); break;
    case VectorKind::kBase64: write_base64(floats, json); break;
  }
}

}  // namespace octavo
