#include "source/folder/tensor_list.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/stop_check.h"
#include "source/folder/config_keys.h"
#include "source/folder/tensor_maker.h"
#include "source/tensor_names.h"

namespace octavo {
namespace {

/// Makes the list; exists only during list_tensors().
class TensorLister {
 public:
  TensorLister(const Family& family, TensorMaker maker, bool is_tied, std::uint64_t num_layers)
      : family_(family), maker_(std::move(maker)), is_tied_(is_tied), num_layers_(num_layers) {}

  Result<void> add(const CheckpointTensor& tensor) {
    if (is_left_out(family_, tensor.stored->name, num_layers_)) return {};
    const auto place = place_of_tensor(family_, tensor.stored->name);
    if (!place) return fail("{} has no place in a model of {}", shown(tensor), family_.model);
    if (place->name == (is_tied_ ? tensor_names::kEmbedding : tensor_names::kOutput)) output_ = tensor;
    if (place->name == tensor_names::kOutput && is_tied_) return {};  // a copy of the embeddings
    if (place->expert) return add_expert(tensor, *place);
    switch (place->form) {
      case TensorForm::kScales: mxfp4_[place->name].scales = tensor; return {};
      case TensorForm::kCodes:
      case TensorForm::kCodesOfGateAndUp:
        mxfp4_[place->name].codes = tensor;
        mxfp4_[place->name].place = *place;
        return {};
      default: return maker_.add(tensor, *place, list_);
    }
  }

  Result<void> finish(const JsonObject& config, Math math, const std::optional<RankTokens>& rank) {
    for (const auto& [name, parts] : experts_) OCTAVO_TRY_VOID(add_experts(name, parts));
    for (const auto& [name, both] : mxfp4_) {
      if (both.codes.stored == nullptr || both.scales.stored == nullptr)
        return fail("{}: {} of it in MXFP4 are missing", name, both.codes.stored == nullptr ? "blocks" : "scales");
      OCTAVO_TRY_VOID(TensorMaker::add_mxfp4(both.codes, both.scales, both.place, list_));
    }
    OCTAVO_TRY(std::vector<float> factors,
               (family_.rope_factors != nullptr ? family_.rope_factors : rope_factors)(config, math));
    if (!factors.empty()) {
      const std::uint64_t count = factors.size();
      list_.push_back({.name = std::string(tensor_names::kRopeFactors),
                       .dims = {count},
                       .type = DType::kF32,
                       .data = std::make_unique<FolderNumbers>(std::move(factors))});
    }
    if (family_.made_vectors != nullptr) {
      OCTAVO_TRY(std::vector<MadeVector> made, family_.made_vectors(config));
      for (MadeVector& vector : made) {
        const std::uint64_t count = vector.numbers.size();
        list_.push_back({.name = std::move(vector.name),
                         .dims = {count},
                         .type = DType::kF32,
                         .data = std::make_unique<FolderNumbers>(std::move(vector.numbers))});
      }
    }
    const bool has_output = std::ranges::find(list_, tensor_names::kOutput, &NamedTensor::name) != list_.end();
    if (!is_tied_ && !has_output && !family_.is_encoder)
      return fail("{} is false, but the checkpoint has no lm_head.weight", config.place("tie_word_embeddings"));
    if (rank) OCTAVO_TRY_VOID(add_scores(*rank));
    std::ranges::stable_sort(list_, {}, [](const NamedTensor& t) { return t.data->place(); });
    return {};
  }

  std::vector<NamedTensor> take() { return std::move(list_); }

 private:
  struct Mxfp4Parts {
    CheckpointTensor codes = {}, scales = {};
    TensorPlace place = {};
  };

  Result<void> add_expert(const CheckpointTensor& tensor, const TensorPlace& place) {
    if (*place.expert >= kMostExperts)
      return fail("{}: expert {}, expected less than {}", shown(tensor), *place.expert, kMostExperts);
    experts_[place.name][*place.expert] = tensor;
    return {};
  }

  /// Adds experts, which are numbered from 0; the number in an expert's name is not trusted as a size.
  Result<void> add_experts(const std::string& name, const std::map<std::uint64_t, CheckpointTensor>& numbered) {
    std::vector<CheckpointTensor> parts;
    for (const auto& [number, tensor] : numbered) {
      if (number != parts.size()) return fail("{}: expert {} is missing", name, parts.size());
      parts.push_back(tensor);
    }
    if (name.ends_with("_norm.weight")) return maker_.add_norms(name, parts, list_);
    return TensorMaker::add_experts(name, parts, list_);
  }

  /// Adds the matrix of scores: two rows of the output, or one.
  Result<void> add_scores(const RankTokens& rank) {
    if (output_.stored == nullptr)
      return fail("{}: found no output matrix, expected one of a model that ranks by its words", family_.model);
    std::vector<std::uint64_t> tokens = {rank.yes};
    if (rank.no) tokens.push_back(*rank.no);
    return TensorMaker::add_rows(output_, tokens, std::string(tensor_names::kScores), list_);
  }

  const Family& family_;
  TensorMaker maker_;
  bool is_tied_;
  std::uint64_t num_layers_;
  CheckpointTensor output_ = {};                                              // the output matrix
  std::map<std::string, std::map<std::uint64_t, CheckpointTensor>> experts_;  // [the name in GGUF][expert]
  std::map<std::string, Mxfp4Parts> mxfp4_;                                   // by the name in GGUF
  std::vector<NamedTensor> list_;
};

}  // namespace

Result<std::vector<NamedTensor>> list_tensors(const Checkpoint& checkpoint, const Family& family,
                                              const ModelConfigs& configs, const std::optional<RankTokens>& rank,
                                              const std::stop_token& stop) {
  constexpr std::string_view kTied = "tie_word_embeddings";
  OCTAVO_TRY(const bool is_tied, (configs.language.has(kTied) ? configs.language : configs.whole)
                                     .flag_or(kTied, family.ties_output || family.architecture.starts_with("gemma")));
  OCTAVO_TRY(TensorMaker maker, TensorMaker::create(family, configs.language, configs.math));
  OCTAVO_TRY(const auto num_layers, configs.language.size_if("num_hidden_layers"));
  TensorLister lister(family, std::move(maker), is_tied, num_layers.value_or(kMostLayers));
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    OCTAVO_TRY_VOID(check_stop(stop, "loading"));
    OCTAVO_TRY_VOID(lister.add(tensor));
  }
  OCTAVO_TRY_VOID(lister.finish(configs.language, configs.math, rank));
  return lister.take();
}

}  // namespace octavo
