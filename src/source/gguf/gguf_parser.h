// Reads the parts of a GGUF file in their order: header, metadata, tensor directory. Lives during open() only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "source/gguf/byte_reader.h"
#include "source/gguf/gguf_file.h"

namespace octavo {

/// Bounds that no real file comes near; they keep what a hostile file costs in memory near its own size.
struct GgufLimits {
  static constexpr std::uint64_t kMetadata = 1 << 16;      // the most keys
  static constexpr std::uint64_t kTensors = 1 << 18;       // a mixture of split experts has about 2^16 tensors
  static constexpr std::uint64_t kNestedArrays = 1 << 16;  // the most arrays inside arrays in the whole file
  static constexpr int kArrayDepth = 8;
  static constexpr std::size_t kKeyBytes = 65535;      // the format's own limit
  static constexpr std::size_t kTensorNameBytes = 64;  // the format's own limit
  static constexpr std::uint32_t kDims = 4;
};

class GgufParser {
 public:
  /// `load`, if set, is told the end of the `bytes` that are about to be read. Tensors point into their data, which are
  /// not read.
  GgufParser(std::span<const std::byte> bytes, ByteReader::Load load, const std::filesystem::path& path);

  Result<GgufFile> parse() &&;

 private:
  Result<void> parse_header();
  Result<void> parse_metadata();
  Result<void> parse_alignment();
  Result<void> parse_directory();
  Result<SourceTensor> parse_tensor_info();
  Result<void> refuse_older_q2_0() const;
  Result<void> place_tensors();
  Result<void> check_overlap() const;

  Result<std::string_view> read_name(std::string_view kind, std::uint64_t ordinal, std::size_t max_bytes);
  Result<MetadataType> read_type();
  /// Reads the value of `out.type` into `out`.
  Result<void> read_value(MetadataValue& out, int depth);
  Result<void> read_array(MetadataArray& array, int depth);
  Result<void> check_bools(std::span<const std::byte> bytes, std::uint64_t offset) const;

  /// The next multiple of the file's alignment.
  std::uint64_t aligned(std::uint64_t offset) const;
  /// The bytes of the data section, which begins after the directory.
  std::uint64_t num_data_bytes() const;

  std::span<const std::byte> bytes_;
  ByteReader reader_;
  GgufFile out_;
  std::uint64_t num_tensors_ = 0;
  std::uint64_t num_metadata_ = 0;
  std::uint64_t num_nested_arrays_ = 0;
};

}  // namespace octavo
