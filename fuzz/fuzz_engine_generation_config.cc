// Any bytes as a generation_config.json. It is refused in words, or its settings are such as a request may have.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "engine/load/generation_config.h"
#include "sampler/sampler.h"

namespace {

using namespace octavo;

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const std::string& text) {
  constexpr int kNumTokens = 1000;
  const Result<SamplingDefaults> config = parse_generation_config(text, kNumTokens);
  if (!config) return require(!config.error().message.empty());
  require(check_sampling_params(config->over({})).has_value());
  const auto is_token = [](TokenId token) { return token >= 0 && token < kNumTokens; };
  for (const TokenId token : config->end_tokens) require(is_token(token));
  for (const TokenId token : config->suppressed) require(is_token(token));
  for (const std::vector<TokenId>& word : config->bad_words) {
    require(!word.empty());
    for (const TokenId token : word) require(is_token(token));
  }
  config->described();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  check(input);
  check(R"({"top_k":20,"eos_token_id":[1,)" + input);
  return 0;
}
