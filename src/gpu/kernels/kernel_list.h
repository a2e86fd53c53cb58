// The list of all kernels of a card: X(name, type of its one argument). A plain header.
#pragma once

#include "gpu/kernels/act_pair.h"
#include "gpu/kernels/arguments.h"
#include "gpu/kernels/delta_arguments.h"
#include "gpu/kernels/expert_arguments.h"
#include "gpu/kernels/product_list.h"

// clang-format off
#define OCTAVO_GPU_ROW_KERNELS(X) \
  X(octavo_quantize_rows, octavo::gpu::QuantizeRows) \
  X(octavo_finish_rows, octavo::gpu::FinishRowsArguments) \
  X(octavo_activate_rows, octavo::gpu::ActivateArguments) \
  X(octavo_gather_rows, octavo::gpu::GatherRowsArguments) \
  X(octavo_find_finite, octavo::gpu::FindFiniteArguments) \
  X(octavo_finish_logits, octavo::gpu::FinishLogitsArguments)
#define OCTAVO_GPU_ATTENTION_KERNELS(X) \
  X(octavo_finish_queries, octavo::gpu::FinishQueriesArguments) \
  X(octavo_gate_attended, octavo::gpu::GateAttendedArguments) \
  X(octavo_write_kv_f16, octavo::gpu::WriteKvArguments) \
  X(octavo_write_kv_i16, octavo::gpu::WriteKvArguments) \
  X(octavo_attend_1_f16, octavo::gpu::AttentionArguments) \
  X(octavo_attend_2_f16, octavo::gpu::AttentionArguments) \
  X(octavo_attend_4_f16, octavo::gpu::AttentionArguments) \
  X(octavo_attend_8_f16, octavo::gpu::AttentionArguments) \
  X(octavo_attend_1_i16, octavo::gpu::AttentionArguments) \
  X(octavo_attend_2_i16, octavo::gpu::AttentionArguments) \
  X(octavo_attend_4_i16, octavo::gpu::AttentionArguments) \
  X(octavo_attend_8_i16, octavo::gpu::AttentionArguments) \
  X(octavo_merge_tiles, octavo::gpu::MergeTilesArguments)
#define OCTAVO_GPU_DELTA_KERNELS(X) \
  X(octavo_convolve_heads, octavo::gpu::ConvolveHeadsArguments) \
  X(octavo_find_gates, octavo::gpu::FindGatesArguments) \
  X(octavo_delta_rule, octavo::gpu::DeltaRuleArguments) \
  X(octavo_keep_inputs, octavo::gpu::KeepInputsArguments) \
  X(octavo_gate_results, octavo::gpu::GateResultsArguments)
#define OCTAVO_GPU_RATE_KERNELS(X) X(octavo_read_words, octavo::gpu::ReadWordsArguments)
#define OCTAVO_GPU_EXPERT_KERNELS(X) \
  X(octavo_choose_experts, octavo::gpu::ChooseExpertsArguments) \
  X(octavo_group_choices, octavo::gpu::GroupChoicesArguments) \
  X(octavo_gather_choices, octavo::gpu::GatherChoicesArguments) \
  X(octavo_activate_choices, octavo::gpu::ActivateChoicesArguments) \
  X(octavo_combine_choices, octavo::gpu::CombineChoicesArguments) \
  X(octavo_add_shared, octavo::gpu::AddSharedArguments)
#define OCTAVO_GPU_KERNELS(X) \
  OCTAVO_GPU_RATE_KERNELS(X) \
  OCTAVO_GPU_ROW_KERNELS(X) \
  OCTAVO_GPU_ATTENTION_KERNELS(X) \
  OCTAVO_GPU_DELTA_KERNELS(X) \
  OCTAVO_GPU_EXPERT_KERNELS(X) \
  OCTAVO_GPU_PRODUCTS(X)
// clang-format on
