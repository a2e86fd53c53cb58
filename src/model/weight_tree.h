// The weights of a model by their use: one tree of parts, layers and roles for all who hold weights in some form.
//
// A form says what stands for a matrix, for the matrices of experts and for a vector: WeightIndexes stand for entries
// of a WeightList; a device has forms of its own (cpu/weights.h). transform() turns one form into another.
#pragma once

#include <utility>
#include <variant>
#include <vector>

namespace octavo {

/// The tensors of an AttentionSpec. Vectors are absent where a model has none; k and v where a layer borrows, v where
/// it is k.
template <class Form>
struct AttentionTensors {
  typename Form::Matrix q{}, k{}, v{};  // [q_width | kv_width, width]
  typename Form::Vector q_bias{};       // [q_rows]
  typename Form::Vector k_bias{};       // [kv_width]
  typename Form::Vector v_bias{};       // [kv_width]
  typename Form::Vector q_norm{};       // [head_dim]
  typename Form::Vector k_norm{};       // [head_dim]
  typename Form::Vector sinks{};        // [num_heads]
  typename Form::Matrix o{};            // [width, q_width]
  typename Form::Vector o_bias{};       // [width]
};

/// The tensors of a DeltaSpec.
template <class Form>
struct DeltaTensors {
  typename Form::Matrix qkv{};            // [num_channels, width]
  typename Form::Matrix gate{};           // [value_width, width]
  typename Form::Matrix decay{}, beta{};  // [num_value_heads, width]
  typename Form::Vector taps{};           // [taps][num_channels], the last one of the token itself
  typename Form::Vector decay_bias{};     // [num_value_heads]
  typename Form::Vector decay_scale{};    // [num_value_heads], below 0
  typename Form::Vector norm{};           // [value_dim]
  typename Form::Matrix output{};         // [width, value_width]
};

/// The tensors of a DenseFfnSpec. Biases may be absent.
template <class Form>
struct DenseFfnTensors {
  typename Form::Matrix gate{}, up{};            // [ffn width, width]
  typename Form::Matrix down{};                  // [width, ffn width]
  typename Form::Vector gate_bias{}, up_bias{};  // [ffn width]
  typename Form::Vector down_bias{};             // [width]
};

/// The tensors of an ExpertsFfnSpec.
template <class Form>
struct ExpertsFfnTensors {
  typename Form::Matrix router{};         // [num_experts, width]
  typename Form::Experts gate{}, up{};    // [num_experts][expert width, width]
  typename Form::Experts down{};          // [num_experts][width, expert width]
  int num_chosen = 0;                     // experts that a row meets
  typename Form::Vector router_bias{};    // [num_experts], added to scores; may be absent
  typename Form::Vector result_scales{};  // [num_experts]; absent: 1
  DenseFfnTensors<Form> shared{};         // the expert for every row; may be absent
  typename Form::Matrix shared_gate{};    // [1, width]; absent: 1

  // [width]; absent: all parts read the row in the form that the layer's norm gives it, and results are added as they
  // are.
  typename Form::Vector router_norm{};   // times width^-0.5
  typename Form::Vector experts_norm{};  // of the experts' input
  typename Form::Vector post_experts_norm{};
  typename Form::Vector post_shared_norm{};

  bool has_shared() const { return is_present(shared.gate); }
};

/// The use that a layer makes of its own embedding of a token; absent where a model has none.
template <class Form>
struct PerLayerTensors {
  typename Form::Matrix gate{};       // [per_layer_width, width]
  typename Form::Matrix up{};         // [width, per_layer_width]
  typename Form::Vector post_norm{};  // [width]
};

/// The embeddings that tokens have for each layer (cpu/per_layer_embedding.h); absent where a model has none.
template <class Form>
struct PerLayerTableTensors {
  typename Form::Matrix table{};       // [vocab_size, num_layers per_layer_width]
  typename Form::Matrix projection{};  // [num_layers per_layer_width, width]
  typename Form::Vector norm{};        // [per_layer_width]
};

/// The tensors of a HeadSpec; each may be absent.
template <class Form>
struct HeadTensors {
  typename Form::Matrix dense{};                // [width, width]
  typename Form::Vector dense_bias{}, norm{};   // [width]
  typename Form::Matrix scores{};               // [num_scores, width]
  typename Form::Vector scores_bias{};          // [num_scores]
  typename Form::Matrix vector_up{}, vector{};  // [any, width], [embedding width, any]: of vectors, not of scores
};

/// The tensors of a LayerSpec. Norms are [width], and may be absent.
template <class Form>
struct LayerTensors {
  typename Form::Vector mixer_norm{};
  std::variant<AttentionTensors<Form>, DeltaTensors<Form>> mixer{};
  typename Form::Vector post_mixer_norm{};
  typename Form::Vector mixer_sum_norm{}, mixer_sum_bias{}, ffn_sum_norm{}, ffn_sum_bias{};
  typename Form::Vector ffn_norm{};
  std::variant<DenseFfnTensors<Form>, ExpertsFfnTensors<Form>> feed_forward{};
  typename Form::Vector post_ffn_norm{};
  PerLayerTensors<Form> per_layer{};
  typename Form::Vector output_scale{};  // [1]; absent: 1
};

/// The tensors of a draft head beside its layer's; absent where there is no head. The last three may be the model's.
template <class Form>
struct DraftHeadTensors {
  typename Form::Matrix projection{};  // [width, 2 width], of an embedding and a hidden row behind it
  typename Form::Vector embedding_norm{}, hidden_norm{};  // [width]
  typename Form::Matrix embedding{};                      // [vocab_size, width]
  typename Form::Matrix output{};                         // [vocab_size, width]
  typename Form::Vector output_norm{};                    // [width]
};

/// The tensors of an assistant beside those of a model; absent of others.
template <class Form>
struct AssistantTensors {
  typename Form::Matrix pre_projection{};   // [width, 2 model width], of an embedding and a hidden row behind it
  typename Form::Matrix post_projection{};  // [model width, width]
};

/// The tensors of a model.
template <class Form>
struct ModelTensors {
  typename Form::Matrix embedding{};    // [vocab_size, width]
  typename Form::Matrix positions{};    // [num_positions, width]; absent: they have no embedding
  typename Form::Matrix token_types{};  // [num_token_types, width]; absent: the same
  typename Form::Vector embedding_norm{}, embedding_norm_bias{};  // [width]; may be absent
  typename Form::Matrix output{};        // [vocab_size, width]; the embedding itself when tied; absent of encoders
  typename Form::Vector output_norm{};   // [width]; may be absent of encoders
  typename Form::Vector output_bias{};   // [vocab_size]; may be absent
  typename Form::Vector rope_factors{};  // [num_rotated / 2]: frequencies are divided by these; may be absent
  PerLayerTableTensors<Form> per_layer{};
  DraftHeadTensors<Form> draft_head{};
  AssistantTensors<Form> assistant{};
  HeadTensors<Form> head{};
  std::vector<LayerTensors<Form>> layers{};  // behind the model's: the draft head's
};

// transform<To>(tensors, map): the same tree in another form. map.matrix(), map.experts() and map.vector() give what
// stands there for an entry, present or absent.

template <class To, class From, class Map>
AttentionTensors<To> transform(const AttentionTensors<From>& w, const Map& map) {
  return {.q = map.matrix(w.q),
          .k = map.matrix(w.k),
          .v = map.matrix(w.v),
          .q_bias = map.vector(w.q_bias),
          .k_bias = map.vector(w.k_bias),
          .v_bias = map.vector(w.v_bias),
          .q_norm = map.vector(w.q_norm),
          .k_norm = map.vector(w.k_norm),
          .sinks = map.vector(w.sinks),
          .o = map.matrix(w.o),
          .o_bias = map.vector(w.o_bias)};
}

template <class To, class From, class Map>
DeltaTensors<To> transform(const DeltaTensors<From>& w, const Map& map) {
  return {.qkv = map.matrix(w.qkv),
          .gate = map.matrix(w.gate),
          .decay = map.matrix(w.decay),
          .beta = map.matrix(w.beta),
          .taps = map.vector(w.taps),
          .decay_bias = map.vector(w.decay_bias),
          .decay_scale = map.vector(w.decay_scale),
          .norm = map.vector(w.norm),
          .output = map.matrix(w.output)};
}

template <class To, class From, class Map>
DenseFfnTensors<To> transform(const DenseFfnTensors<From>& w, const Map& map) {
  return {.gate = map.matrix(w.gate),
          .up = map.matrix(w.up),
          .down = map.matrix(w.down),
          .gate_bias = map.vector(w.gate_bias),
          .up_bias = map.vector(w.up_bias),
          .down_bias = map.vector(w.down_bias)};
}

template <class To, class From, class Map>
ExpertsFfnTensors<To> transform(const ExpertsFfnTensors<From>& w, const Map& map) {
  return {.router = map.matrix(w.router),
          .gate = map.experts(w.gate),
          .up = map.experts(w.up),
          .down = map.experts(w.down),
          .num_chosen = w.num_chosen,
          .router_bias = map.vector(w.router_bias),
          .result_scales = map.vector(w.result_scales),
          .shared = transform<To>(w.shared, map),
          .shared_gate = map.matrix(w.shared_gate),
          .router_norm = map.vector(w.router_norm),
          .experts_norm = map.vector(w.experts_norm),
          .post_experts_norm = map.vector(w.post_experts_norm),
          .post_shared_norm = map.vector(w.post_shared_norm)};
}

template <class To, class From, class Map>
LayerTensors<To> transform(const LayerTensors<From>& w, const Map& map) {
  LayerTensors<To> layer{.mixer_norm = map.vector(w.mixer_norm),
                         .post_mixer_norm = map.vector(w.post_mixer_norm),
                         .mixer_sum_norm = map.vector(w.mixer_sum_norm),
                         .mixer_sum_bias = map.vector(w.mixer_sum_bias),
                         .ffn_sum_norm = map.vector(w.ffn_sum_norm),
                         .ffn_sum_bias = map.vector(w.ffn_sum_bias),
                         .ffn_norm = map.vector(w.ffn_norm),
                         .post_ffn_norm = map.vector(w.post_ffn_norm),
                         .per_layer = {.gate = map.matrix(w.per_layer.gate),
                                       .up = map.matrix(w.per_layer.up),
                                       .post_norm = map.vector(w.per_layer.post_norm)},
                         .output_scale = map.vector(w.output_scale)};
  std::visit([&](const auto& mixer) { layer.mixer = transform<To>(mixer, map); }, w.mixer);
  std::visit([&](const auto& feed_forward) { layer.feed_forward = transform<To>(feed_forward, map); }, w.feed_forward);
  return layer;
}

template <class To, class From, class Map>
ModelTensors<To> transform(const ModelTensors<From>& w, const Map& map) {
  ModelTensors<To> model{.embedding = map.matrix(w.embedding),
                         .positions = map.matrix(w.positions),
                         .token_types = map.matrix(w.token_types),
                         .embedding_norm = map.vector(w.embedding_norm),
                         .embedding_norm_bias = map.vector(w.embedding_norm_bias),
                         .output = map.matrix(w.output),
                         .output_norm = map.vector(w.output_norm),
                         .output_bias = map.vector(w.output_bias),
                         .rope_factors = map.vector(w.rope_factors),
                         .per_layer = {.table = map.matrix(w.per_layer.table),
                                       .projection = map.matrix(w.per_layer.projection),
                                       .norm = map.vector(w.per_layer.norm)},
                         .draft_head = {.projection = map.matrix(w.draft_head.projection),
                                        .embedding_norm = map.vector(w.draft_head.embedding_norm),
                                        .hidden_norm = map.vector(w.draft_head.hidden_norm),
                                        .embedding = map.matrix(w.draft_head.embedding),
                                        .output = map.matrix(w.draft_head.output),
                                        .output_norm = map.vector(w.draft_head.output_norm)},
                         .assistant = {.pre_projection = map.matrix(w.assistant.pre_projection),
                                       .post_projection = map.matrix(w.assistant.post_projection)},
                         .head = {.dense = map.matrix(w.head.dense),
                                  .dense_bias = map.vector(w.head.dense_bias),
                                  .norm = map.vector(w.head.norm),
                                  .scores = map.matrix(w.head.scores),
                                  .scores_bias = map.vector(w.head.scores_bias),
                                  .vector_up = map.matrix(w.head.vector_up),
                                  .vector = map.matrix(w.head.vector)}};
  model.layers.reserve(w.layers.size());
  for (const LayerTensors<From>& layer : w.layers) model.layers.push_back(transform<To>(layer, map));
  return model;
}

}  // namespace octavo
