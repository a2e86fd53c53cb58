#include "cli/npy.h"

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace octavo::cli {

static_assert(std::endian::native == std::endian::little, "the header says '<f4'");

std::string npy_header(std::uint64_t rows, std::uint64_t cols) {
  constexpr std::size_t kPreamble = 10;  // the bytes of magic, version and length
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
  const std::string header = npy_header(rows, cols);
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    writer.device_.open(path, std::ios::binary);
    if (!writer.device_) return fail("{}: cannot write: {}", path.string(), std::strerror(errno));
  } else {
    OCTAVO_TRY(OutputFile file, OutputFile::create(path, header.size() + rows * cols * sizeof(float), true));
    writer.file_.emplace(std::move(file));
  }
  writer.write(std::as_bytes(std::span(header)));
  return writer;
}

void NpyWriter::append(std::span<const float> values) {
  write(std::as_bytes(values));
  written_ += values.size();
}

void NpyWriter::write(std::span<const std::byte> bytes) {
  if (!file_) {
    device_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  } else if (written_so_far_) {
    written_so_far_ = file_->append(bytes);
  }
}

Result<void> NpyWriter::finish() {
  OCTAVO_TRY_VOID(written_so_far_);
  if (!file_) device_.close();
  if (!device_) return fail("{}: cannot write: {}", path_.string(), std::strerror(errno));
  if (written_ != expected_)
    return fail("{}: the model gave {} numbers, expected {}", path_.string(), written_, expected_);
  return file_ ? file_->finish() : Result<void>{};
}

}  // namespace octavo::cli
