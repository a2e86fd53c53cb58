#include "engine/load/embedding_info.h"

#include "base/to_size.h"

namespace octavo {

EmbeddingInfo embedding_info(const ModelConfig& config, std::optional<Pooling> pooling) {
  EmbeddingInfo info{.generates = !config.is_encoder,
                     .pooling = config.is_encoder ? Pooling::kMean : Pooling::kLast,
                     .width = config.head.width,
                     .labels = config.head.labels,
                     .names_pooling = config.pooling.has_value()};
  info.labels.resize(to_size(config.head.num_scores));
  if (config.head.num_scores > 0 && config.is_encoder) info.pooling = Pooling::kRank;
  if (config.pooling) info.pooling = *config.pooling;
  if (pooling) info.pooling = *pooling;
  return info;
}

}  // namespace octavo
