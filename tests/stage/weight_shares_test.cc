// Which weights go with a stage's layers.
#include "stage/weight_shares.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "support/tiny_model.h"

namespace octavo::test {
namespace {

/// "here", "there" or "both", by the tensors' names.
std::map<std::string, std::string> shares_of(const TinyModel& model, LayerRange layers, bool output) {
  const MemorySource source = model.source();
  const WeightList list = WeightList::create(source, ModelConfig::load(source).value()).value();
  const WeightShares shares(list, layers, output);
  const auto word = [](WeightShare share) {
    return share.is_here && share.is_there ? "both" : share.is_here ? "here" : share.is_there ? "there" : "nowhere";
  };
  std::map<std::string, std::string> found;
  for (std::size_t i = 0; i < list.matrices.size(); ++i)
    found[std::string(list.matrices[i].source->name)] = word(shares.matrix(i));
  for (std::size_t i = 0; i < list.vectors.size(); ++i)
    found[std::string(list.vectors[i].source->name)] = word(shares.vector(i));
  return found;
}

TEST(WeightShares, ALayersWeightsGoWithIt) {
  auto shares = shares_of({.layers = 3, .tied = false}, {.first = 1, .end = 2}, false);
  for (const auto& [name, share] : shares) {
    SCOPED_TRACE(name);
    EXPECT_EQ(share, name.starts_with("blk.1.") ? "there" : "here");
  }
  EXPECT_EQ(shares.count("blk.1.attn_q.weight"), 1U);
}

TEST(WeightShares, ExpertsGoWithTheirBiasesAndFactors) {
  for (const auto& [name, share] : shares_of({.arch = "gpt-oss", .layers = 2}, {.first = 0, .end = 1}, false)) {
    SCOPED_TRACE(name);
    EXPECT_EQ(share, name.starts_with("blk.0.") ? "there" : "here");
  }
  for (const auto& [name, share] :
       shares_of({.arch = "qwen3moe", .layers = 2, .factors = true}, {.first = 0, .end = 1}, false)) {
    SCOPED_TRACE(name);
    EXPECT_EQ(share, name.starts_with("blk.0.") ? "there" : "here");
  }
}

TEST(WeightShares, AnOutputMatrixThatIsTheEmbeddingIsInBothPlaces) {
  auto tied = shares_of({.layers = 1, .tied = true}, {.first = 0, .end = 1}, true);
  EXPECT_EQ(tied["token_embd.weight"], "both");
  EXPECT_EQ(tied["output_norm.weight"], "both");
  auto own = shares_of({.layers = 1, .tied = false}, {.first = 0, .end = 1}, true);
  EXPECT_EQ(own["token_embd.weight"], "here");
  EXPECT_EQ(own["output.weight"], "there");
  auto left = shares_of({.layers = 1, .tied = false}, {.first = 0, .end = 1}, false);
  EXPECT_EQ(left["output.weight"], "here");
}

}  // namespace
}  // namespace octavo::test
