// Arguments of the kernels of mixtures of experts, and the shapes of their launches. A plain header: kernels and the
// host include it. Pointers are addresses of the card.
//
// A choice is a row with one of its experts; its number is row * num_chosen + rank. It has a slot, which is a row of
// the matrices that experts read and write. The slots of an expert are consecutive, in the order of rows, and begin at
// a multiple of kRowsOfTile; the slots in the gaps are neither written nor read. An item is at most `item_rows` slots
// of one expert, which a block of threads multiplies together. Only the card knows how many items there are, so grids
// have as many as there may be.
#pragma once

#include <stdint.h>

#include "gpu/kernels/arguments.h"
#include "gpu/kernels/product_arguments.h"

namespace octavo::gpu {

/// The slots of an item; first_slot is a multiple of kRowsOfTile. No rows: the item does not exist.
struct ExpertItem {
  int32_t expert, first_slot, num_rows;
};

/// Chooses the experts of rows and their weights as ExpertChoices::choose() does (cpu/expert_choices.h). One block for
/// each row.
struct ChooseExpertsArguments {
  const float* scores;        // [rows, num_experts]
  const float* bias;          // [num_experts]; null: none
  const int32_t* batch_rows;  // [rows], the batch's row of each; null: row r is the batch's row first_row + r
  int32_t* experts;           // [rows, num_chosen], the highest score first
  float* weights;             // [rows, num_chosen]
  int32_t* not_finite;        // [batch rows]; set to 1 for a row with a score that is not finite
  int first_row, num_experts, num_chosen;
  float weights_scale;
  bool sums_to_one;
};
constexpr int choose_experts_shared(int num_experts) {
  return num_experts * (int)(sizeof(double) + sizeof(float)) + (int)sizeof(int32_t);
}

/// Finds the slots of choices, and the items. One block for each expert.
struct GroupChoicesArguments {
  const int32_t* experts;  // [num_choices]
  int32_t* slots;          // [num_choices]
  ExpertItem* items;       // [max_items]
  uint64_t* bytes_read;    // the bytes of each expert with a choice are added to it
  uint64_t bytes_of_one;
  int num_choices, num_experts, item_rows, max_items;
};
constexpr int group_choices_shared(int num_experts) { return (num_experts + kRowThreads + 3) * (int)sizeof(int32_t); }

/// The columns of a block of the two kernels below, four for each thread. The grid: x over columns, y over choices.
inline constexpr int kChoiceCols = 4 * kRowThreads;

/// Copies the rows of choices to their slots, as floats, as int8, or both.
struct GatherChoicesArguments {
  const float* x;        // [rows, cols]
  const int32_t* slots;  // [choices]
  float* floats;         // [slots, cols]; null: not wanted
  ActPair* int8;         // null: not wanted
  int cols;              // a multiple of 32
  int num_chosen;
};

/// activation(gate + gate_bias, up + up_bias) for choices, element by element, as floats, as int8, or both.
struct ActivateChoicesArguments {
  const float *gate, *up;            // [slots, width]; up null: the activation has no second factor
  const float *gate_bias, *up_bias;  // [experts, width]; null: none
  const int32_t *slots, *experts;    // [choices]
  float* floats;                     // [slots, width]; may be `gate`; null: not wanted
  ActPair* int8;                     // null: not wanted
  int width;                         // a multiple of 32
  Activation activation;
};

/// out[row] = the sum over its choices of (result + bias) * weight, in order of rank. One block for kRowThreads columns
/// (x) of a row (y).
struct CombineChoicesArguments {
  const float* results;            // [slots, width]
  const float* bias;               // [experts, width]; null: none
  const float* scales;             // [experts], factors of results; null: 1
  const int32_t *slots, *experts;  // [rows, num_chosen]
  const float* weights;            // [rows, num_chosen]
  float* out;                      // [rows, width]
  int width, num_chosen;
};

/// out[row] += result[row] * sigmoid(gate[row]). One block for kRowThreads columns (x) of a row (y).
struct AddSharedArguments {
  const float* result;  // [rows, width]
  const float* gate;    // [rows]; null: 1
  float* out;           // [rows, width]
  int width;
};

/// Products of items with the weights of their experts: x over panels, y over items. `product` has the panels of the
/// first expert and the rows of slot 0.
struct ProductOfExperts {
  ProductOfPanels product;
  const ExpertItem* items;
  uint64_t bytes_of_expert;
};
struct FloatProductOfExperts {
  ProductOfFloats product;
  const ExpertItem* items;
  uint64_t bytes_of_expert;
};

}  // namespace octavo::gpu
