// The weights of a model by their use: one tree of parts, layers and roles for all who hold weights in some form.
//
// A form says what stands for a matrix, for the matrices of experts and for a vector: WeightIndexes stand for entries
// of a WeightList; a device has forms of its own (cpu/weights.h). transform() turns one form into another.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace octavo {

/// The tensors that an AttentionSpec has for its LatentSpec; absent where it has none.
template <class Form>
struct LatentTensors {
  typename Form::Matrix q_down{};   // [q_rank, width]; absent: Q is made of the stream's row
  typename Form::Vector q_norm{};   // [q_rank]; absent likewise
  typename Form::Vector norm{};     // [rank]
  typename Form::Experts keys{};    // [num_heads][rank, plain_dim]: a head's keys, transposed
  typename Form::Experts values{};  // [num_heads][value_dim, rank]
  int num_heads = 0;

  static constexpr auto members() {
    using W = LatentTensors;
    return std::tuple(&W::q_down, &W::q_norm, &W::norm, &W::keys, &W::values, &W::num_heads);
  }
};

/// The tensors of an AttentionSpec. Vectors are absent where a model has none; k and v where a layer borrows, v where
/// it is k.
template <class Form>
struct AttentionTensors {
  typename Form::Matrix q{}, k{}, v{};  // [q_width | k_width | v_width, width]
  typename Form::Vector q_bias{};       // [q_rows]
  typename Form::Vector k_bias{};       // [k_width]
  typename Form::Vector v_bias{};       // [v_width]
  typename Form::Vector q_norm{};       // [num_q_norms][q_norm_width]
  typename Form::Vector k_norm{};       // [num_k_norms][k_norm_width]
  typename Form::Vector sinks{};        // [num_heads]
  typename Form::Matrix gate{};         // [gate_rows, width]; may be absent
  typename Form::Matrix o{};            // [width, result_width]
  typename Form::Vector o_bias{};       // [width]
  LatentTensors<Form> latent{};         // then q is [q_rows, q_rank or width], and k the latent's, without a v

  static constexpr auto members() {
    using W = AttentionTensors;
    return std::tuple(&W::q, &W::k, &W::v, &W::q_bias, &W::k_bias, &W::v_bias, &W::q_norm, &W::k_norm, &W::sinks,
                      &W::gate, &W::o, &W::o_bias, &W::latent);
  }
};

/// The tensors of a DeltaSpec.
template <class Form>
struct DeltaTensors {
  typename Form::Matrix qkv{};          // [num_channels, width]
  typename Form::Matrix gate{};         // [value_width, width]
  typename Form::Matrix decay{};        // [decay_rows(), width]
  typename Form::Matrix beta{};         // [num_value_heads, width]; absent: `decay` has betas, too
  typename Form::Vector taps{};         // [taps][num_channels], the last one of the token itself
  typename Form::Vector decay_bias{};   // [num_value_heads]
  typename Form::Vector decay_scale{};  // [num_value_heads], below 0
  typename Form::Vector norm{};         // [value_dim]
  typename Form::Matrix output{};       // [width, value_width]

  static constexpr auto members() {
    using W = DeltaTensors;
    return std::tuple(&W::qkv, &W::gate, &W::decay, &W::beta, &W::taps, &W::decay_bias, &W::decay_scale, &W::norm,
                      &W::output);
  }
};

/// The tensors of a ShortConvSpec.
template <class Form>
struct ShortConvTensors {
  typename Form::Matrix in_gate{}, out_gate{}, value{};  // [width, width]
  typename Form::Vector taps{};                          // [taps][width], the last one of the token itself
  typename Form::Matrix output{};                        // [width, width]

  static constexpr auto members() {
    using W = ShortConvTensors;
    return std::tuple(&W::in_gate, &W::out_gate, &W::value, &W::taps, &W::output);
  }
};

/// The tensors of a MambaSpec.
template <class Form>
struct MambaTensors {
  typename Form::Matrix gate{};        // [inner_width, width]
  typename Form::Matrix input{};       // [num_channels, width] of the convolution: x, b of each group, c of each group
  typename Form::Matrix step{};        // [num_heads, width]
  typename Form::Vector taps{};        // [taps][num_channels], the last one of the token itself
  typename Form::Vector taps_bias{};   // [num_channels]; may be absent
  typename Form::Vector step_bias{};   // [num_heads]
  typename Form::Vector decay_rate{};  // [num_heads], below 0
  typename Form::Vector skip{};        // [num_heads]
  typename Form::Vector norm{};        // [num_groups][norm_width]; may be absent
  typename Form::Matrix output{};      // [width, inner_width]

  static constexpr auto members() {
    using W = MambaTensors;
    return std::tuple(&W::gate, &W::input, &W::step, &W::taps, &W::taps_bias, &W::step_bias, &W::decay_rate, &W::skip,
                      &W::norm, &W::output);
  }
};

/// The tensors of a DenseFfnSpec. Biases may be absent.
template <class Form>
struct DenseFfnTensors {
  typename Form::Matrix gate{}, up{};            // [ffn width, width]
  typename Form::Matrix down{};                  // [width, ffn width]
  typename Form::Vector gate_bias{}, up_bias{};  // [ffn width]
  typename Form::Vector down_bias{};             // [width]

  static constexpr auto members() {
    using W = DenseFfnTensors;
    return std::tuple(&W::gate, &W::up, &W::down, &W::gate_bias, &W::up_bias, &W::down_bias);
  }
};

/// The tensors of an ExpertsFfnSpec.
template <class Form>
struct ExpertsFfnTensors {
  typename Form::Matrix router{};         // [num_experts, width]
  typename Form::Experts gate{}, up{};    // [num_experts][expert width, latent width]
  typename Form::Experts down{};          // [num_experts][latent width, expert width]
  int num_chosen = 0;                     // experts that a row meets
  typename Form::Vector router_bias{};    // [num_experts], added to scores; may be absent
  typename Form::Vector choice_bias{};    // [num_experts], of RouterSpec; may be absent
  typename Form::Vector result_scales{};  // [num_experts]; absent: 1
  DenseFfnTensors<Form> shared{};         // the expert for every row; may be absent
  typename Form::Matrix shared_gate{};    // [1, width]; absent: 1
  typename Form::Matrix latent_down{};    // [latent width, width]; absent: width stands for it in all of these
  typename Form::Matrix latent_up{};      // [width, latent width]

  // [width]; absent: all parts read the row in the form that the layer's norm gives it, and results are added as they
  // are.
  typename Form::Vector router_norm{};   // times width^-0.5
  typename Form::Vector experts_norm{};  // of the experts' input
  typename Form::Vector post_experts_norm{};
  typename Form::Vector post_shared_norm{};

  bool has_shared() const { return is_present(shared.gate); }
  bool has_latent() const { return is_present(latent_down); }
  static constexpr auto members() {
    using W = ExpertsFfnTensors;
    return std::tuple(&W::router, &W::gate, &W::up, &W::down, &W::num_chosen, &W::router_bias, &W::choice_bias,
                      &W::result_scales, &W::shared, &W::shared_gate, &W::latent_down, &W::latent_up, &W::router_norm,
                      &W::experts_norm, &W::post_experts_norm, &W::post_shared_norm);
  }
};

/// The tensors of a part that a layer does not have.
template <class Form>
struct NoTensors {
  static constexpr auto members() { return std::tuple(); }
};

/// The use that a layer makes of its own embedding of a token; absent where a model has none.
template <class Form>
struct PerLayerTensors {
  typename Form::Matrix gate{};       // [per_layer_width, width]
  typename Form::Matrix up{};         // [width, per_layer_width]
  typename Form::Vector post_norm{};  // [width]

  static constexpr auto members() {
    using W = PerLayerTensors;
    return std::tuple(&W::gate, &W::up, &W::post_norm);
  }
};

/// The embeddings that tokens have for each layer (cpu/per_layer_embedding.h); absent where a model has none.
template <class Form>
struct PerLayerTableTensors {
  typename Form::Matrix table{};       // [vocab_size, num_layers per_layer_width]
  typename Form::Matrix projection{};  // [num_layers per_layer_width, width]
  typename Form::Vector norm{};        // [per_layer_width]

  static constexpr auto members() {
    using W = PerLayerTableTensors;
    return std::tuple(&W::table, &W::projection, &W::norm);
  }
};

/// The tensors of a HeadSpec; each may be absent.
template <class Form>
struct HeadTensors {
  typename Form::Matrix dense{};                // [width, width]
  typename Form::Vector dense_bias{}, norm{};   // [width]
  typename Form::Matrix scores{};               // [num_scores, width]
  typename Form::Vector scores_bias{};          // [num_scores]
  typename Form::Matrix vector_up{}, vector{};  // [any, width], [embedding width, any]: of vectors, not of scores

  static constexpr auto members() {
    using W = HeadTensors;
    return std::tuple(&W::dense, &W::dense_bias, &W::norm, &W::scores, &W::scores_bias, &W::vector_up, &W::vector);
  }
};

/// The tensors of a LayerSpec. Norms are [width], and may be absent.
template <class Form>
struct LayerTensors {
  typename Form::Vector mixer_norm{}, mixer_norm_bias{};
  std::variant<AttentionTensors<Form>, DeltaTensors<Form>, ShortConvTensors<Form>, MambaTensors<Form>, NoTensors<Form>>
      mixer{};
  MambaTensors<Form> beside{};  // a second mixer; may be absent
  typename Form::Vector post_mixer_norm{};
  typename Form::Vector mixer_sum_norm{}, mixer_sum_bias{}, ffn_sum_norm{}, ffn_sum_bias{};
  typename Form::Vector ffn_norm{}, ffn_norm_bias{};
  std::variant<DenseFfnTensors<Form>, ExpertsFfnTensors<Form>, NoTensors<Form>> feed_forward{};
  typename Form::Vector post_ffn_norm{};
  PerLayerTensors<Form> per_layer{};
  typename Form::Vector output_scale{};  // [1]; absent: 1

  static constexpr auto members() {
    using W = LayerTensors;
    return std::tuple(&W::mixer_norm, &W::mixer_norm_bias, &W::mixer, &W::beside, &W::post_mixer_norm,
                      &W::mixer_sum_norm, &W::mixer_sum_bias, &W::ffn_sum_norm, &W::ffn_sum_bias, &W::ffn_norm,
                      &W::ffn_norm_bias, &W::feed_forward, &W::post_ffn_norm, &W::per_layer, &W::output_scale);
  }
};

/// The tensors of a draft head beside its layer's; absent where there is no head. The last three may be the model's.
template <class Form>
struct DraftHeadTensors {
  typename Form::Matrix projection{};  // [width, 2 width], of an embedding and a hidden row behind it
  typename Form::Vector embedding_norm{}, hidden_norm{};  // [width]
  typename Form::Matrix embedding{};                      // [vocab_size, width]
  typename Form::Matrix output{};                         // [vocab_size, width]
  typename Form::Vector output_norm{};                    // [width]

  static constexpr auto members() {
    using W = DraftHeadTensors;
    return std::tuple(&W::projection, &W::embedding_norm, &W::hidden_norm, &W::embedding, &W::output, &W::output_norm);
  }
};

/// The tensors of an assistant beside those of a model; absent of others.
template <class Form>
struct AssistantTensors {
  typename Form::Matrix pre_projection{};   // [width, 2 model width], of an embedding and a hidden row behind it
  typename Form::Matrix post_projection{};  // [model width, width]

  static constexpr auto members() {
    using W = AssistantTensors;
    return std::tuple(&W::pre_projection, &W::post_projection);
  }
};

/// The tensors of a model.
template <class Form>
struct ModelTensors {
  typename Form::Matrix embedding{};    // [vocab_size, width]
  typename Form::Matrix positions{};    // [num_positions, width]; absent: they have no embedding
  typename Form::Matrix token_types{};  // [num_token_types, width]; absent: the same
  typename Form::Vector embedding_norm{}, embedding_norm_bias{};  // [width]; may be absent
  typename Form::Matrix output{};  // [vocab_size, width]; the embedding itself when tied; absent of encoders
  typename Form::Vector output_norm{}, output_norm_bias{};  // [width]; may be absent of encoders
  typename Form::Vector output_bias{};                      // [vocab_size]; may be absent
  typename Form::Vector rope_factors{};  // [num_rotated / 2]: frequencies are divided by these; may be absent
  PerLayerTableTensors<Form> per_layer{};
  DraftHeadTensors<Form> draft_head{};
  AssistantTensors<Form> assistant{};
  HeadTensors<Form> head{};
  std::vector<LayerTensors<Form>> layers{};  // behind the model's: the draft head's

  static constexpr auto members() {
    using W = ModelTensors;
    return std::tuple(&W::embedding, &W::positions, &W::token_types, &W::embedding_norm, &W::embedding_norm_bias,
                      &W::output, &W::output_norm, &W::output_norm_bias, &W::output_bias, &W::rope_factors,
                      &W::per_layer, &W::draft_head, &W::assistant, &W::head, &W::layers);
  }
};

// transform<To>(part, map): the same part of a tree in another form. map.matrix(), map.experts() and map.vector() give
// what stands there for an entry, present or absent.

/// The form whose entries say what they are. All are of one size, so that a part has no gaps for another.
struct EntryKinds {
  struct alignas(8) Matrix {};
  struct alignas(8) Experts {};
  struct alignas(8) Vector {};
};

template <class To, template <class> class Part, class From, class Map>
Part<To> transform(const Part<From>& w, const Map& map);

/// Makes `to` of an entry of the kind.
template <class To, class Kind, class Entry, class Map, class Target>
void transform_entry(const Entry& entry, const Map& map, Target& to) {
  if constexpr (std::is_same_v<Kind, EntryKinds::Matrix>) {
    to = map.matrix(entry);
  } else if constexpr (std::is_same_v<Kind, EntryKinds::Experts>) {
    to = map.experts(entry);
  } else if constexpr (std::is_same_v<Kind, EntryKinds::Vector>) {
    to = map.vector(entry);
  } else if constexpr (std::is_same_v<Kind, int>) {
    to = entry;
  } else if constexpr (std::is_same_v<Kind, std::vector<LayerTensors<EntryKinds>>>) {
    to.reserve(entry.size());
    for (const auto& layer : entry) to.push_back(transform<To>(layer, map));
  } else if constexpr (requires { entry.index(); }) {
    std::visit([&](const auto& part) { to = transform<To>(part, map); }, entry);
  } else {
    to = transform<To>(entry, map);
  }
}

template <class To, template <class> class Part, class From, class Map>
Part<To> transform(const Part<From>& w, const Map& map) {
  Part<To> made;
  const auto one = [&]<class Kind>(Kind Part<EntryKinds>::* /*kind*/, auto from, auto to) {
    transform_entry<To, Kind>(w.*from, map, made.*to);
  };
  [&]<class... Kinds, std::size_t... I>([[maybe_unused]] std::tuple<Kinds Part<EntryKinds>::*...> kinds,
                                        std::index_sequence<I...>) {
    static_assert(sizeof(Part<EntryKinds>) - (0 + ... + sizeof(Kinds)) < sizeof(EntryKinds::Vector),
                  "members() leaves one out");
    (one(std::get<I>(kinds), std::get<I>(Part<From>::members()), std::get<I>(Part<To>::members())), ...);
  }(Part<EntryKinds>::members(), std::make_index_sequence<std::tuple_size_v<decltype(Part<To>::members())>>());
  return made;
}

}  // namespace octavo
