#include "kernels/pack.h"

#include <algorithm>
#include <cstring>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "kernels/pack_block.h"

namespace octavo {
namespace {

/// The source of padding rows, as long as the longest block.
constexpr std::array<std::uint8_t, 256> kZeroBlock{};

PackBlockFn* block_function(DType type) {
  switch (type) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: return nullptr;
    case DType::kQ4_0: return &pack_q4_0;
    case DType::kQ4_1: return &pack_q4_1;
    case DType::kQ5_0: return &pack_q5_0;
    case DType::kQ5_1: return &pack_q5_1;
    case DType::kQ8_0: return &pack_q8_0;
    case DType::kQ2_K: return &pack_q2_k;
    case DType::kQ3_K: return &pack_q3_k;
    case DType::kQ4_K: return &pack_q4_k;
    case DType::kQ5_K: return &pack_q5_k;
    case DType::kQ6_K: return &pack_q6_k;
    case DType::kIQ4_NL: return &pack_iq4_nl;
    case DType::kIQ4_XS: return &pack_iq4_xs;
    case DType::kTQ1_0: return &pack_tq1_0;
    case DType::kTQ2_0: return &pack_tq2_0;
    case DType::kMXFP4: return &pack_mxfp4;
    case DType::kNVFP4: return &pack_nvfp4;
    case DType::kQ1_0: return &pack_q1_0;
    case DType::kQ2_0: return &pack_q2_0;
    case DType::kIQ2_XXS: return &pack_iq2_xxs;
    case DType::kIQ2_XS: return &pack_iq2_xs;
    case DType::kIQ2_S: return &pack_iq2_s;
    case DType::kIQ3_XXS: return &pack_iq3_xxs;
    case DType::kIQ3_S: return &pack_iq3_s;
    case DType::kIQ1_S: return &pack_iq1_s;
    case DType::kIQ1_M: return &pack_iq1_m;
  }
  check_failed("packable type", __FILE__, __LINE__, "");
}

PackBlockFn* block_function_of_outputs(DType type) {
  switch (type) {
    case DType::kQ4_0: return &pack_outputs_q4_0;
    case DType::kQ4_1: return &pack_outputs_q4_1;
    case DType::kQ5_0: return &pack_outputs_q5_0;
    case DType::kQ5_1: return &pack_outputs_q5_1;
    case DType::kQ8_0: return &pack_outputs_q8_0;
    case DType::kQ4_K: return &pack_outputs_q4_k;
    case DType::kQ5_K: return &pack_outputs_q5_k;
    case DType::kQ6_K: return &pack_outputs_q6_k;
    case DType::kIQ4_NL: return &pack_outputs_iq4_nl;
    case DType::kIQ4_XS: return &pack_outputs_iq4_xs;
    case DType::kMXFP4: return &pack_outputs_mxfp4;
    default: check_failed("type with an order of outputs", __FILE__, __LINE__, "");
  }
}

/// The rows of a panel: `rows` rows of the matrix, then padding.
struct PanelRows {
  const std::byte* first;
  std::size_t row_bytes;
  int rows;

  /// The addresses of each row's bytes from `offset` on.
  BlockRows at(std::size_t offset) const {
    BlockRows out;
    for (int row = 0; row < kPanelRows; ++row) {
      const std::byte* bytes = first + static_cast<std::size_t>(row) * row_bytes + offset;
      out[static_cast<std::size_t>(row)] =
          row < rows ? reinterpret_cast<const std::uint8_t*>(bytes) : kZeroBlock.data();
    }
    return out;
  }
};

/// Prefetches bytes `offset` .. `offset + bytes` of the next panel's rows, which follow this one's: 16 rows side by
/// side are more streams than the hardware prefetcher follows.
__attribute__((always_inline)) inline void prefetch_portion(const PanelRows& rows, std::size_t offset,
                                                            std::size_t bytes) {
  const std::byte* from = rows.first + kPanelRows * rows.row_bytes + offset;
  for (std::size_t line = 0; line < bytes; line += kCacheLineBytes) __builtin_prefetch(from + line);
}

void pack_quantized(PackBlockFn& pack_block, DType type, PanelOrder order, std::int64_t cols, const PanelRows& rows,
                    std::uint8_t* packed) {
  const std::int64_t num_blocks = cols / packed_block(type).block;
  if (num_blocks == 0) return;
  const auto block_bytes = static_cast<std::size_t>(dtype_info(type).block_bytes);
  // The last unit's padding lies before its quads.
  const std::int64_t last_unit = (num_blocks - 1) / unit_blocks(type) * unit_blocks(type);
  std::memset(packed + place_of_block(type, num_blocks, last_unit).quads - kCacheLineBytes, 0, kCacheLineBytes);
  for (std::int64_t b = 0; b < num_blocks; ++b) {
    const BlockPlace place = place_of_block(type, num_blocks, b);
    prefetch_portion(rows, b * kPanelRows * block_bytes, kPanelRows * block_bytes);
    pack_block(rows.at(static_cast<std::size_t>(b) * block_bytes), packed + place.quads, packed + place.scales);
  }
  if (!has_integer_scales(type)) return;
  if (order == PanelOrder::kQuads) return unite_q4_1_scales(packed, num_blocks);
  const std::size_t units = place_of_units(type, cols);
  std::memset(packed + units, 0, panel_bytes(type, cols) - units);
}

/// Packs elements of 4 bytes, [16][cols] as [cols][16], or of 2 bytes, where a word holds two columns.
template <std::size_t Size>
void pack_plain(std::int64_t cols, const PanelRows& rows, std::uint8_t* packed) {
  constexpr std::int64_t kColumns = 16 / Size;  // the columns in four words
  constexpr std::size_t kColumnBytes = Size * kPanelRows;
  std::int64_t k = 0;
  for (; k + kColumns <= cols; k += kColumns, packed += kColumns * kColumnBytes) {
    Words words[4];
    load_words(rows.at(static_cast<std::size_t>(k) * Size), 0, words);
    for (std::size_t i = 0; i < 4; ++i) {
      if constexpr (Size == 4) store_words(packed + i * kColumnBytes, words[i]);
      if constexpr (Size == 2)
        store_halves(words[i], packed + 2 * i * kColumnBytes, packed + (2 * i + 1) * kColumnBytes);
    }
  }
  for (; k < cols; ++k, packed += kColumnBytes) {
    const BlockRows column = rows.at(static_cast<std::size_t>(k) * Size);
    for (std::size_t row = 0; row < kPanelRows; ++row) std::memcpy(packed + row * Size, column[row], Size);
  }
}

}  // namespace

std::size_t packed_bytes(DType type, std::int64_t rows, std::int64_t cols) {
  return static_cast<std::size_t>(num_panels(rows)) * panel_bytes(type, cols);
}

void pack_panels(const Tensor& source, std::int64_t begin, std::int64_t end, std::uint8_t* packed, PanelOrder order) {
  PackBlockFn* const pack_block =
      order == PanelOrder::kOutputs ? block_function_of_outputs(source.type) : block_function(source.type);
  const std::size_t stride = panel_bytes(source.type, source.cols);
  for (std::int64_t panel = begin; panel < end; ++panel, packed += stride) {
    const std::int64_t first = panel * kPanelRows;
    const PanelRows rows{.first = source.row(first),
                         .row_bytes = source.row_bytes(),
                         .rows = static_cast<int>(std::min<std::int64_t>(kPanelRows, source.rows - first))};
    if (pack_block != nullptr) {
      pack_quantized(*pack_block, source.type, order, source.cols, rows, packed);
      continue;
    }
    if (stride >= kCacheLineBytes) std::memset(packed + stride - kCacheLineBytes, 0, kCacheLineBytes);  // the padding
    if (source.type == DType::kF32) {
      pack_plain<4>(source.cols, rows, packed);
    } else {
      pack_plain<2>(source.cols, rows, packed);
    }
  }
}

}  // namespace octavo
