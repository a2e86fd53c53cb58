#include "api/prepare/shorter_vectors.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"

namespace octavo {
namespace {

struct Family {
  std::string_view architecture;  // empty: any
  std::string_view name;          // a part of the model's name, as dashed_name() writes it; empty: any
  int fewest;
};

constexpr Family kFamilies[] = {
    {"gemma-embedding", "", 128},
    {"jina-bert-v3", "", 32},
    {"nomic-bert-moe", "", 256},
    {"nomic-bert", "v1.5", 64},
    {"", "qwen3-embedding", 32},
    {"", "qwen3-vl-embedding", 64},
    {"", "embeddinggemma", 128},
    {"", "nomic-embed-text-v1.5", 64},
    {"", "nomic-embed-text-v2", 256},
    {"", "jina-embeddings-v3", 32},
    {"", "jina-embeddings-v4", 128},
    {"", "mxbai-embed-large", 64},
    {"", "mxbai-embed-xsmall", 64},
    {"", "arctic-embed-m-v1.5", 256},
    {"", "arctic-embed-m-v2.0", 256},
    {"", "arctic-embed-l-v2.0", 256},
    {"", "stella-en", 256},
    {"", "nv-embedqa-1b-v2", 384},
    {"", "nemotron-embed-1b-v2", 384},
};

}  // namespace

std::optional<int> fewest_dimensions(const ModelInfo& info) {
  const std::string name = dashed_name(info.name);
  const auto is_of = [&](const Family& family) {
    return (family.architecture.empty() || family.architecture == info.architecture) && name.contains(family.name);
  };
  const auto* const found = std::ranges::find_if(kFamilies, is_of);
  if (found == std::end(kFamilies)) return std::nullopt;
  return std::min(found->fewest, info.embedding.width);
}

}  // namespace octavo
