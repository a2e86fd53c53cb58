#include "model/weights.h"

#include <algorithm>
#include <array>

#include "base/to_size.h"
#include "model/weight_loader.h"

namespace octavo {

Result<Weights> Weights::load(const ModelSource& source, const ModelConfig& config, bool repack, ThreadPool& pool,
                              const RepackProgress& progress, const LoadManner& manner) {
  const MatrixTypes& types = manner.types;
  if (!repack && !types.empty()) return fail("weights that stay in the file cannot be made other types");
  Weights weights;
  WeightLoader loader(source, config, types);
  OCTAVO_TRY_VOID(loader.list(weights));
  OCTAVO_TRY(const ContentHash vectors, loader.load_vectors(weights, manner.stop));
  OCTAVO_TRY(const ContentHash matrices, repack ? loader.pack_matrices(weights, pool, progress, manner)
                                                : loader.map_matrices(weights, manner.stop));
  std::vector<ContentHash> parts;
  for (const std::span<const std::byte> head : source.heads()) parts.push_back(hash_of(head));
  parts.insert(parts.end(), {vectors, matrices});
  for (const auto& [name, type] : types) {
    parts.push_back(hash_of(std::as_bytes(std::span(name))));
    parts.push_back(hash_of(std::as_bytes(std::span(&type, 1))));
  }
  weights.content_hash_ = hash_of(std::as_bytes(std::span(parts)));
  if (config.tied_output) weights.output = weights.embedding;
  return weights;
}

std::uint64_t Weights::bytes_per_token() const {
  const bool tied = output.panels == embedding.panels && output.file == embedding.file;
  const auto unread_rows = [](const WeightMatrix& w) {
    return w.rows == 0 ? 0 : w.bytes() - w.bytes() / static_cast<std::uint64_t>(w.rows);
  };
  std::uint64_t unread = unread_rows(per_layer.table);
  if (!tied) unread += unread_rows(embedding);
  for (const LayerWeights& layer : layers)
    if (const auto* experts = std::get_if<ExpertsFfnWeights>(&layer.feed_forward))
      unread += to_size(experts->gate.count - experts->num_chosen) * experts->bytes_of_one();
  return total_bytes() - unread;
}

PanelScratch Weights::make_scratch(int num_threads) const {
  return mapped_bytes_ == 0 ? PanelScratch() : PanelScratch(largest_panel_bytes_, num_threads);
}

}  // namespace octavo
