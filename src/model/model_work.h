// The work that computing a token takes, counted from the list of a model's weights: for the cost model and for
// `octavo bench`.
//
// Pure functions.
#pragma once

#include <vector>

#include "model/config.h"
#include "model/weight_list.h"
#include "octavo/engine.h"

namespace octavo {

/// The work of some of a model's matrices: multiply-adds of one token with quantized weights and with plain floats, and
/// the file's bytes.
struct MatrixWork {
  std::uint64_t int8_multiply_adds = 0;
  std::uint64_t float_multiply_adds = 0;
  std::uint64_t bytes = 0;
};

/// The work of attention in the layers that look back equally far. The last layer has an entry of its own. Recurrent
/// layers count as some that look back one token: its keys and values are their state, read and written.
struct AttentionWork {
  int num_layers = 0;
  int window = 0;                         // tokens that a row sees, its own included; 0: all before it
  bool is_chunked = false;                // a row sees its own chunk of `window` tokens
  bool only_logit_rows = false;           // the last layer: rows whose logits are not needed only leave K and V there
  std::uint64_t kv_bytes = 0;             // keys and values of one token, in all these layers
  std::uint64_t float_multiply_adds = 0;  // of one row with one token that it sees, in all these layers
};

/// The experts of the layers that have equally many. MatrixWork counts those that one row meets.
struct ExpertsWork {
  int num_experts = 0, num_chosen = 0;
  bool only_logit_rows = false;  // as in AttentionWork
  std::uint64_t bytes = 0;       // the bytes that are read of one expert, in all these layers
};

/// The work of a token in all of a model.
struct ModelWork {
  MatrixWork layers;  // of every token
  MatrixWork output;  // of a token whose logits are needed: of the last layer all but K and V, and the output
  std::vector<AttentionWork> attention;
  std::vector<ExpertsWork> experts = {};
};

/// The matrices that every row goes through, and those of rows whose logits are needed alone. The latter lie behind the
/// last layer that writes state; they are all of that layer but its state's, and the output matrix (tied or not).
MatrixWork layer_work(const ModelConfig& config, const WeightList& weights);
MatrixWork output_work(const ModelConfig& config, const WeightList& weights);

/// One entry for each distance that layers look back, and one each for those that only rows go through whose logits are
/// needed.
std::vector<AttentionWork> attention_work(const ModelConfig& config, KvType kv_type);

/// One entry for each kind of mixture, none for a model without one. `is_packed`: weights are read as panels, else as
/// the file has them.
std::vector<ExpertsWork> experts_work(const ModelConfig& config, const WeightList& weights, bool is_packed);
/// The experts of a layer that are read for `rows` rows which choose by chance: E (1 - (1 - k / E)^rows).
double distinct_experts(const ExpertsWork& layers, double rows);

/// All four.
ModelWork model_work(const ModelConfig& config, const WeightList& weights, bool is_packed, KvType kv_type);

/// Bytes of the weights that one token alone reads (one row of an embedding), of all layers wherever they lie.
/// `is_packed`: as above.
std::uint64_t weight_bytes_per_token(const WeightList& weights, bool is_packed);

/// Rows of a sequence at positions first .. first + count - 1.
struct RowRange {
  int first = 0, count = 0;
};
/// The ones of `rows` that attend in these layers; logits of the last `num_logits` of them are needed.
RowRange attending_rows(const AttentionWork& layers, RowRange rows, int num_logits);

/// Tokens that these rows see, added up.
double tokens_seen(const AttentionWork& layers, RowRange rows);

}  // namespace octavo
