// The table of this instruction-set level.
#pragma once

namespace octavo {
namespace {

constexpr void set_activation_forms(KernelTable& table) {
  for (int i = 0; i < kNumDTypes; ++i)
    table.activation_forms[i] = is_plain_float(kAllDTypes[i]) ? ActivationForm::kFloat : ActivationForm::kInt8Blocks;
}

template <DType... T>
constexpr void set_matrix_kernels(KernelTable& table) {
  ((table.matmul[type_index(T)] = &matmul<T>, table.decode_row[type_index(T)] = &decode_row<T>), ...);
}

template <DType... T>
constexpr void set_codebook_kernels(KernelTable& table) {
  ((table.matmul[type_index(T)] = &matmul_codebook<T>, table.decode_row[type_index(T)] = &decode_row_codebook<T>), ...);
}

template <KvElement... E>
constexpr void set_kv_kernels(KernelTable& table) {
  ((table.write_kv[(int)E] = &write_kv<E>, table.attention[(int)E] = &attention<E>), ...);
}

constexpr KernelTable make_table() {
  KernelTable table{};
  set_activation_forms(table);
  set_matrix_kernels<DType::kF32, DType::kF16, DType::kBF16, DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1,
                     DType::kQ8_0, DType::kQ2_K, DType::kQ3_K, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K, DType::kIQ4_NL,
                     DType::kIQ4_XS, DType::kTQ1_0, DType::kTQ2_0, DType::kMXFP4, DType::kNVFP4, DType::kQ1_0,
                     DType::kQ2_0>(table);
  set_codebook_kernels<DType::kIQ2_XXS, DType::kIQ2_XS, DType::kIQ2_S, DType::kIQ3_XXS, DType::kIQ3_S, DType::kIQ1_S,
                       DType::kIQ1_M>(table);
  set_kv_kernels<KvElement::kF16, KvElement::kBF16, KvElement::kQ8_0, KvElement::kF32, KvElement::kI16>(table);
  table.merge_tiles = &merge_tiles;
  table.rms_norm = &rms_norm<1>;
  table.layer_norm = &layer_norm<1>;
  table.tile_rows = kTileRows;
  table.row_step = kTileRows;
  table.quantize_row = &quantize_row;
  table.quantize_column = &quantize_column;
  table.add = &add;
  table.scale = &scale;
  table.delta_rule = &delta_rule;
  table.selective_scan = &selective_scan;
  table.short_conv = &short_conv;
  table.sigmoid_mul = &sigmoid_mul;
  table.silu_mul = &silu_mul;
  table.gelu_mul = &gelu_mul;
  table.gelu_erf_mul = &gelu_erf_mul;
  table.clamped_swiglu = &clamped_swiglu;
  table.squared_relu = &squared_relu;
  table.xielu = &xielu;
  table.soft_cap = &soft_cap;
  table.rope_neighbours = &rope_neighbours;
  table.rope_halves = &rope_halves;
  table.probe_read = &probe_read;
  table.probe_int8 = &probe_int8;
  table.probe_float = &probe_float;
  return table;
}

template <KvElement... E>
constexpr void set_attention_of_16(KernelTable& table) {
  ((table.attention[(int)E] = &attention_of_16<E>), ...);
}

template <DType... T>
constexpr void set_float_scales([[maybe_unused]] KernelTable& table) {
  if constexpr (kWordSums) ((table.matmul[type_index(T)] = &octavo_products_by_float_scales), ...);
}

/// The kernels whose results have the same bits on every level (docs/portable_bits.md): those of the table, but with
/// 16 lanes in sums, and products of K types in the order of levels without word scales.
constexpr KernelTable make_portable_table() {
  KernelTable table = make_table();
  if constexpr (kLanes == kWideLanes) return table;
  table.rms_norm = &rms_norm<kWideVectors>;
  table.layer_norm = &layer_norm<kWideVectors>;
  set_attention_of_16<KvElement::kF16, KvElement::kBF16, KvElement::kQ8_0, KvElement::kF32, KvElement::kI16>(table);
  set_float_scales<DType::kQ2_K, DType::kQ3_K, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K>(table);
  return table;
}

constexpr KernelTable kTable = make_table();
constexpr KernelTable kPortableTable = make_portable_table();

}  // namespace
}  // namespace octavo
