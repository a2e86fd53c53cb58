#include "source/gguf_writer.h"

#include <array>

namespace octavo {

Result<GgufFileWriter> GgufFileWriter::create(const std::filesystem::path& path, GgufHead head, bool overwrite) {
  OCTAVO_TRY(OutputFile file, OutputFile::create(path, head.file_bytes(), overwrite));
  OCTAVO_TRY_VOID(file.append(head.encode()));
  GgufFileWriter writer(std::move(file), std::move(head));
  OCTAVO_TRY_VOID(writer.close_tensors());
  return writer;
}

Result<void> GgufFileWriter::append(std::span<const std::byte> piece) {
  OCTAVO_CHECK(tensor_ < head_.num_tensors() && piece.size() <= head_.tensor_bytes(tensor_) - written_,
               "a piece of {} bytes reaches beyond tensor {} of {}", piece.size(), tensor_, head_.num_tensors());
  OCTAVO_TRY_VOID(file_.append(piece));
  written_ += piece.size();
  return close_tensors();
}

/// Writes the padding after the tensor if it is complete, and after tensors without bytes.
Result<void> GgufFileWriter::close_tensors() {
  static constexpr std::array<std::byte, GgufHead::kAlignment> kZeros{};
  while (tensor_ < head_.num_tensors() && written_ == head_.tensor_bytes(tensor_)) {
    OCTAVO_TRY_VOID(file_.append(std::span(kZeros).first(GgufHead::padded(written_) - written_)));
    ++tensor_;
    written_ = 0;
  }
  return {};
}

Result<void> GgufFileWriter::finish() {
  OCTAVO_CHECK(tensor_ == head_.num_tensors(), "tensor {} of {} lacks data", tensor_, head_.num_tensors());
  OCTAVO_CHECK(file_.size() == head_.file_bytes(), "{} bytes of {}", file_.size(), head_.file_bytes());
  return file_.finish();
}

}  // namespace octavo
