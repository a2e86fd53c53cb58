#include "capi/model_facts.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/utf8.h"

namespace octavo::capi {

std::string describe(const ModelInfo& info) {
  boost::json::array ends, labels, prompts;
  for (const EndToken& token : info.end_tokens)
    ends.push_back(
        boost::json::object{{"id", token.id}, {"text", to_valid_utf8(token.text)}, {"source", token.source}});
  for (const std::string& label : info.embedding.labels) labels.emplace_back(to_valid_utf8(label));
  for (const NamedPrompt& prompt : info.embedding.prompts) prompts.emplace_back(to_valid_utf8(prompt.name));
  const boost::json::object told{
      {"name", to_valid_utf8(info.name)},
      {"file", to_valid_utf8(info.file_name)},
      {"architecture", to_valid_utf8(info.architecture)},
      {"fingerprint", info.fingerprint},
      {"vocab_size", info.vocab_size},
      {"num_tokens", info.num_tokens},
      {"num_layers", info.num_layers},
      {"max_context", info.max_context},
      {"weight_bytes", info.weight_bytes},
      {"kv_memory_bytes", info.kv_memory_bytes},
      {"kv_bytes_per_token", info.kv_bytes_per_token},
      {"num_threads", info.num_threads},
      {"device", info.device},
      {"isa", info.isa},
      {"bits", bits_name(info.bits)},
      {"end_tokens", std::move(ends)},
      {"chat_template", to_valid_utf8(info.chat_template)},
      {"generates", info.embedding.generates},
      {"vector_width", info.embedding.width},
      {"scores", std::move(labels)},
      {"prompts", std::move(prompts)},
  };
  return boost::json::serialize(told);
}

octavo_counts counts_of(const EngineStats& stats, const ModelInfo& info) {
  return {.size = 0,
          .steps = stats.steps,
          .prompt_tokens = stats.prompt_tokens,
          .cached_tokens = stats.cached_tokens,
          .generated_tokens = stats.generated_tokens,
          .finished = stats.finished,
          .preemptions = stats.preemptions,
          .drafted_tokens = stats.drafted_tokens,
          .accepted_draft_tokens = stats.accepted_draft_tokens,
          .kv_bytes = stats.kv.resident_bytes,
          .kv_budget_bytes = info.kv_memory_bytes,
          .running = stats.running,
          .waiting = stats.waiting,
          .pinned_bytes = stats.pinned_bytes};
}

}  // namespace octavo::capi
