#include "api/vectors/tei_info.h"

#include <fmt/format.h>

#include "api/call/vector_call.h"
#include "api/prepare/prepare_vectors.h"
#include "base/utf8.h"
#include "octavo/version.h"

namespace octavo {
namespace {

namespace json = boost::json;

/// The labels of scores, by number and by name.
json::object ranker_type(const std::vector<std::string>& labels) {
  json::object by_id, by_label;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::string label = labels[i].empty() ? fmt::format("LABEL_{}", i) : to_valid_utf8(labels[i]);
    by_id[fmt::format("{}", i)] = label;
    by_label[label] = i;
  }
  return {{"reranker", {{"id2label", std::move(by_id)}, {"label2id", std::move(by_label)}}}};
}

json::value model_type(const ModelInfo& info, const RequestPolicy& policy) {
  if (makes_vectors(info, policy)) return {{"embedding", {{"pooling", pooling_name(info.embedding.pooling)}}}};
  return info.embedding.labels.empty() ? json::value() : ranker_type(info.embedding.labels);
}

}  // namespace

bool has_tei_type(const ModelInfo& info, const RequestPolicy& policy) {
  return makes_vectors(info, policy) || !info.embedding.labels.empty();
}

json::object tei_info(std::string_view id, const ModelInfo& info, const RequestPolicy& policy) {
  return {{"model_id", id},
          {"model_sha", nullptr},
          {"model_dtype", "float32"},
          {"model_type", model_type(info, policy)},
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
