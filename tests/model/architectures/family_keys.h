// The keys that all families of dense models read, in a source in memory; a family's test adds its own.
#pragma once

#include <string>

#include "model/config.h"
#include "support/memory_source.h"

namespace octavo::test {

/// Width 64, 4 heads of 16, 2 KV heads, 96 hidden units, 80 words; no key that files may leave out.
inline MemorySource family_keys(const std::string& architecture, std::uint32_t layers = 2,
                                const char* epsilon = "attention.layer_norm_rms_epsilon", std::uint64_t words = 80) {
  MemorySource source;
  const auto key = [&](const char* suffix) { return architecture + "." + suffix; };
  source.add("general.architecture", architecture);
  source.add(key("block_count"), layers).add(key("embedding_length"), 64U).add(key("context_length"), 512U);
  source.add(key("feed_forward_length"), 96U).add(key("attention.head_count"), 4U);
  source.add(key("attention.head_count_kv"), 2U).add(key(epsilon), 1e-5F);
  source.add_tensor("token_embd.weight", {64, words}, DType::kF32, std::string(64 * words * sizeof(float), '\0'));
  // A file that names more layers than it has tensors is refused.
  for (std::uint32_t i = 0; i < layers; ++i)
    source.add_tensor("blk." + std::to_string(i) + ".attn_norm.weight", {64}, DType::kF32, std::string(256, '\0'));
  return source;
}

inline std::string error_of(const MemorySource& source) {
  const Result<ModelConfig> config = ModelConfig::load(source);
  return config ? "no error" : config.error().message;
}

}  // namespace octavo::test
