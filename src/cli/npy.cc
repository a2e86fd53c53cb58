#include "cli/npy.h"

#include <bit>
#include <cerrno>
#include <cstring>

namespace octavo::cli {

static_assert(std::endian::native == std::endian::little, "the header says '<f4'");

std::string npy_header(std::uint64_t rows, std::uint64_t cols) {
  constexpr std::size_t kPreamble = 10;  // magic, version, length
  std::string dict = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, cols);
  const std::size_t total = (kPreamble + dict.size() + 1 + 63) / 64 * 64;
  dict.resize(total - kPreamble - 1, ' ');
  dict += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dict.size() & 0xFF);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

Result<NpyWriter> NpyWriter::create(const std::filesystem::path& path, std::uint64_t rows, std::uint64_t cols) {
  NpyWriter writer(path, rows * cols);
  writer.out_.open(path, std::ios::binary | std::ios::trunc);
  if (!writer.out_) return fail("{}: cannot write: {}", path.string(), std::strerror(errno));
  writer.out_ << npy_header(rows, cols);
  return writer;
}

void NpyWriter::append(std::span<const float> values) {
  out_.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
  written_ += values.size();
}

Result<void> NpyWriter::finish() {
  out_.close();
  if (!out_) return fail("{}: cannot write: {}", path_.string(), std::strerror(errno));
  if (written_ != expected_)
    return fail("{}: the model gave {} numbers, expected {}", path_.string(), written_, expected_);
  return {};
}

}  // namespace octavo::cli
