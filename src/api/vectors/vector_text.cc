#include "api/vectors/vector_text.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <bit>
#include <iterator>

namespace octavo {
namespace {

static_assert(std::endian::native == std::endian::little, "base64 has the floats as they lie here");

constexpr std::size_t kBitsOfByte = 8;
constexpr int kSignedOffset = 128;

}  // namespace

void append_base64(std::string& out, std::span<const float> floats) {
  const std::size_t begin = out.size(), num_bytes = (floats.size_bytes() + 2) / 3 * 4;
  out.resize(begin + num_bytes + 1);  // the encoder writes a zero behind the text
  ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data() + begin),
                    reinterpret_cast<const unsigned char*>(floats.data()), static_cast<int>(floats.size_bytes()));
  out.resize(begin + num_bytes);
}

void append_numbers(std::string& out, std::span<const float> floats) {
  out += '[';
  for (std::size_t i = 0; i < floats.size(); ++i) {
    if (i > 0) out += ',';
    fmt::format_to(std::back_inserter(out), "{}", floats[i]);
  }
  out += ']';
}

void append_bits(std::string& out, std::span<const float> floats, int offset) {
  out += '[';
  for (std::size_t begin = 0; begin < floats.size(); begin += kBitsOfByte) {
    unsigned byte = 0;
    const std::size_t end = std::min(floats.size(), begin + kBitsOfByte);
    for (std::size_t i = begin; i < end; ++i)
      if (floats[i] > 0) byte |= 0x80U >> (i - begin);
    fmt::format_to(std::back_inserter(out), "{}{}", begin == 0 ? "" : ",", static_cast<int>(byte) - offset);
  }
  out += ']';
}

void append_vector(std::string& out, std::span<const float> floats, VectorKind kind) {
  switch (kind) {
    case VectorKind::kFloat: return append_numbers(out, floats);
    case VectorKind::kBinary: return append_bits(out, floats, kSignedOffset);
    case VectorKind::kUbinary: return append_bits(out, floats, 0);
    case VectorKind::kBase64: break;
  }
  out += '"';
  append_base64(out, floats);
  out += '"';
}

}  // namespace octavo
