#include "api/tei_info.h"

#include <fmt/format.h>

#include "api/vector_call.h"
#include "base/utf8.h"
#include "octavo/version.h"

namespace octavo {
namespace {

namespace json = boost::json;

/// The names of scores, by number.
json::object model_type(const EmbeddingInfo& info) {
  if (info.pooling != Pooling::kRank) return {{"embedding", {{"pooling", pooling_name(info.pooling)}}}};
  json::object by_id, by_label;
  for (std::size_t i = 0; i < info.labels.size(); ++i) {
    const std::string label = info.labels[i].empty() ? fmt::format("LABEL_{}", i) : to_valid_utf8(info.labels[i]);
    by_id[fmt::format("{}", i)] = label;
    by_label[label] = i;
  }
  return {{"reranker", {{"id2label", std::move(by_id)}, {"label2id", std::move(by_label)}}}};
}

}  // namespace

json::object tei_info(const ServedModel& model, const ModelInfo& info) {
  return {{"model_id", model.id},
          {"model_sha", nullptr},
          {"model_dtype", "float32"},
          {"model_type", model_type(info.embedding)},
          {"max_concurrent_requests", kMaxTextsAtOnce},
          {"max_input_length", info.max_context},
          {"max_batch_tokens", kMaxTokensAtOnce},
          {"max_batch_requests", nullptr},
          {"max_client_batch_size", kMaxTexts},
          {"auto_truncate", false},
          {"tokenization_workers", 1},
          {"version", OCTAVO_VERSION_STRING},
          {"sha", nullptr},
          {"docker_label", nullptr}};
}

}  // namespace octavo
