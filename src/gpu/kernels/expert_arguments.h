// Arguments of the kernels of mixtures of experts, and the shapes of their launches. A plain header: kernels and the
// host include it. Pointers are addresses of the card.
//
// A choice is a row with one of its experts, number row * num_chosen + rank. It has a slot, which is a row of the
// matrices that experts read and give. Slots of an expert lie side by side, rows in their order, from a multiple of
// kRowsOfTile on; nobody writes or reads those between. Items are at most `item_rows` slots of an expert, which a block
// of threads multiplies together. How many there are is known on the card alone, so grids have as many as there may be.
#pragma once

#include <stdint.h>

#include "gpu/kernels/arguments.h"
#include "gpu/kernels/product_arguments.h"

namespace octavo::gpu {

/// The slots of an item: first_slot is a multiple of kRowsOfTile. No rows: there is no such item.
struct ExpertItem {
  int32_t expert, first_slot, num_rows;
};

/// The experts of rows and their weights, as ExpertChoices::choose() finds them (cpu/expert_choices.h). A block a row.
struct ChooseExpertsArguments {
  const float* scores;        // [rows, num_experts]
  const float* bias;          // [num_experts]; null: none
  const int32_t* batch_rows;  // [rows]; null: row r is first_row + r
  int32_t* experts;           // [rows, num_chosen], the highest score first
  float* weights;             // the same
  int32_t* not_finite;        // [batch rows], 1 for a row with a score that is not; otherwise as it was
  int first_row, num_experts, num_chosen;
  float weights_scale;
  bool sums_to_one;
};
constexpr int choose_experts_shared(int num_experts) {
  return num_experts * (int)(sizeof(double) + sizeof(float)) + (int)sizeof(int32_t);
}

/// The slots of choices, and the items. A block for an expert.
struct GroupChoicesArguments {
  const int32_t* experts;  // [num_choices]
  int32_t* slots;          // [num_choices]
  ExpertItem* items;       // [max_items]
  uint64_t* bytes_read;    // becomes larger by the bytes of each expert that somebody chose
  uint64_t bytes_of_one;
  int num_choices, num_experts, item_rows, max_items;
};
constexpr int group_choices_shared(int num_experts) { return (num_experts + kRowThreads + 3) * (int)sizeof(int32_t); }

/// The columns of a block of the two kernels below, four a thread: their grid is x over columns, y over choices.
inline constexpr int kChoiceCols = 4 * kRowThreads;

/// The rows of choices to their slots, as floats, as int8, or both.
struct GatherChoicesArguments {
  const float* x;        // [rows, cols]
  const int32_t* slots;  // [choices]
  float* floats;         // [slots, cols]; null: not wanted
  ActPair* int8;         // null: not wanted
  int cols;              // a multiple of 32
  int num_chosen;
};

/// activation(gate + gate_bias, up + up_bias) of choices, element by element, as floats, as int8, or both.
struct ActivateChoicesArguments {
  const float *gate, *up;            // [slots, width]; up null: of the gate alone
  const float *gate_bias, *up_bias;  // [experts, width]; null: none
  const int32_t *slots, *experts;    // [choices]
  float* floats;                     // [slots, width]; may be `gate`; null: not wanted
  ActPair* int8;                     // null: not wanted
  int width;                         // a multiple of 32
  Activation activation;
};

/// out[row] = the sum of (result + bias) * weight of its choices, by rank. A block for kRowThreads columns (x) of a row
/// (y).
struct CombineChoicesArguments {
  const float* results;            // [slots, width]
  const float* bias;               // [experts, width]; null: none
  const float* scales;             // [experts], of results; null: 1
  const int32_t *slots, *experts;  // [rows, num_chosen]
  const float* weights;            // the same
  float* out;                      // [rows, width]
  int width, num_chosen;
};

/// out[row] += result[row] * sigmoid(gate[row]). A block for kRowThreads columns (x) of a row (y).
struct AddSharedArguments {
  const float* result;  // [rows, width]
  const float* gate;    // [rows]; null: 1
  float* out;           // [rows, width]
  int width;
};

/// Products of items with the weights of their experts: x over panels, y over items. In `product` stand the panels of
/// the first expert, and the rows of slot 0.
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
