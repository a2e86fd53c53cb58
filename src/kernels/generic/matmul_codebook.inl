// Matrix products of types with codebooks: a part of a panel becomes nibbles, which all rows meet while it is in the
// caches. Sums wait in the outputs for the next part, as floats, which changes no bit of them.
#pragma once

#include "kernels/generic/codebook.inl"
#include "kernels/generic/matmul.inl"

namespace octavo {
namespace {

/// The product of blocks `first` .. `first + count` of a panel and rows, for vector h of its outputs.
struct PartProduct {
  const ActivationRows& a;
  const LevelBytes& levels;
  int64_t first;
  int count, h;
  float* y;  // the first output of the vector, row 0
  int64_t ldy, outputs;
};

/// Computes acc[0][r] += a part's weights times row r's activations.
template <DType T, int R>
OCTAVO_KERNEL_PART void dot_part(const NibblePart<T>& part, const PartProduct& p, const ActTile<R>* x,
                                 F32 (&acc)[1][R]) {
  constexpr int kParts = 32 / Weights<T>::kSubBlock;
  for (int g = 0; g < p.count * 8; ++g) {
    U8 q[8];
    for (int l = 0; l < 4; ++l) {
      const U8 v = u8_load((const uint8_t*)(part.nibbles[4 * g + l] + p.h * kLanes));
      q[2 * l] = u8_lookup(p.levels.bytes, u8_mask(v, 15));
      q[2 * l + 1] = u8_lookup(p.levels.bytes, u8_shr<4>(v, 15));
    }
    F32 scale[kParts];
    for (int i = 0; i < kParts; ++i) scale[i] = f32_load(part.scales[g * kParts + i] + p.h * kLanes);
    add_act_block<T, 1, R, R>(LoadedQuads<T>{q}, {scale}, {nullptr}, 0, x[g], 0, acc);
  }
}

/// Computes the rows row .. row + R.
template <DType T, int R>
__attribute__((noinline)) void part_tile(const NibblePart<T>& part, const PartProduct& p, int64_t row) {
  const bool whole = p.outputs >= kLanes;
  F32 acc[1][R];
  for (int r = 0; r < R; ++r) {
    const float* sum = p.y + (row + r) * p.ldy;
    acc[0][r] = p.first == 0 ? f32_zero() : whole ? f32_load(sum) : f32_load_n(sum, (int)p.outputs);
  }
  dot_part<T, R>(part, p, (const ActTile<R>*)(p.a.tiles + (size_t)row * act_row_bytes(p.a.cols)) + p.first * 8, acc);
  for (int r = 0; r < R; ++r) {
    float* sum = p.y + (row + r) * p.ldy;
    if (whole) {
      f32_store(sum, acc[0][r]);
    } else {
      f32_store_n(sum, acc[0][r], (int)p.outputs);
    }
  }
}

/// Computes the row tiles over a part, the largest first, as act_tiles.h cuts rows.
template <DType T>
inline void part_pass(const NibblePart<T>& part, const PartProduct& p, int64_t row, int64_t row_end) {
  for (; row + kTileRows <= row_end; row += kTileRows) part_tile<T, kTileRows>(part, p, row);
  if constexpr (kTileRows > kSmallTile) {
    if (row + kSmallTile <= row_end) {
      part_tile<T, kSmallTile>(part, p, row);
      row += kSmallTile;
    }
  }
  if (row + 3 == row_end) part_tile<T, 3>(part, p, row);
  if (row + 2 == row_end) part_tile<T, 2>(part, p, row);
  if (row + 1 == row_end) part_tile<T, 1>(part, p, row);
}

template <DType T>
inline CodebookBlock block_of_panel(const uint8_t* panel, int64_t num_blocks, int64_t block) {
  const BlockPlace place = place_of_block(T, num_blocks, block);
  return {panel + place.quads, panel + place.scales};
}

template <DType T>
void matmul_codebook(const PackedMatrix& w, const ActivationRows& a, int64_t panel_begin, int64_t panel_end,
                     int64_t row_begin, int64_t row_end, float* y, int64_t ldy) {
  using Part = NibblePart<nibbles_of<T>()>;
  Part part;
  const int64_t num_blocks = w.cols / packed_block(T).block;
  for (int64_t panel = panel_begin; panel < panel_end; ++panel) {
    const uint8_t* data = w.data + (size_t)panel * panel_bytes(T, w.cols);
    for (int64_t first = 0; first < num_blocks; first += Part::kBlocks) {
      const int count = num_blocks - first < Part::kBlocks ? (int)(num_blocks - first) : Part::kBlocks;
      for (int b = 0; b < count; ++b)
        expand_block<T>(block_of_panel<T>(data, num_blocks, first + b), part.nibbles + b * 32,
                        part.scales + b * Part::kSubBlocks);
      for (int h = 0; h < kPanelVectors; ++h) {
        const int64_t output = panel * kPanelRows + h * kLanes;
        if (output >= w.rows) break;
        const PartProduct p{a, *GroupsOf<T>::kLevels, first, count, h, y + output, ldy, w.rows - output};
        part_pass(part, p, row_begin, row_end);
      }
    }
  }
}

/// Decodes one row; the other rows of its panel vector are looked up with it and dropped.
template <DType T>
void decode_row_codebook(const PackedMatrix& w, int64_t row, float* y) {
  using Form = Weights<nibbles_of<T>()>;
  const uint8_t* panel = w.data + (size_t)(row / kPanelRows) * panel_bytes(T, w.cols);
  const int64_t num_blocks = w.cols / packed_block(T).block;
  const int r = (int)(row % kPanelRows);
  uint32_t nibbles[32][kPanelRows];
  float scales[256 / Form::kSubBlock][kPanelRows];
  for (int64_t b = 0; b < num_blocks; ++b) {
    expand_block<T>(block_of_panel<T>(panel, num_blocks, b), nibbles, scales);
    for (int k = 0; k < packed_block(T).block; ++k) {
      const uint32_t nibble = nibbles[k / 8][r] >> (k % 4 * 8 + k % 8 / 4 * 4) & 15;
      *y++ = scales[k / Form::kSubBlock][r] * (float)(GroupsOf<T>::kLevels->bytes[nibble] - Form::kZero);
    }
  }
}

}  // namespace
}  // namespace octavo
