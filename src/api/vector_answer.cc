#include "api/vector_answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "api/context_full.h"
#include "api/json_writer.h"
#include "api/openai_finish.h"
#include "api/relevance.h"
#include "api/vector_text.h"
#include "base/to_size.h"
#include "base/utf8.h"
#include "octavo/embedding.h"

namespace octavo {
namespace {

ApiError no_memory_for_rows() {
  return {.status = 500,
          .message = "The server had no memory left for the model's numbers.",
          .type = "server_error",
          .code = "internal_error"};
}

ApiError not_finite(const VectorCall& vectors, std::size_t index) {
  return {.status = 500,
          .message = fmt::format("The model's numbers for text {} of {} are not finite.", index, vectors.field),
          .type = "server_error",
          .code = "not_finite"};
}

void append_usage(std::string& out, std::int64_t num_tokens) {
  fmt::format_to(std::back_inserter(out), R"("usage":{{"prompt_tokens":{0},"total_tokens":{0}}})", num_tokens);
}

}  // namespace

std::string RowsAnswer::on_event(const RequestEvent& event) {
  if (event.finish == FinishReason::kNone || error_) return {};
  error_ = error_of(event.finish, event.stats);
  if (error_) return {};
  std::vector<float> floats = vectors_.rows[event.prompt_index]->take();
  if (floats.empty()) {
    error_ = no_memory_for_rows();
  } else if (!std::ranges::all_of(floats, [](float x) { return std::isfinite(x); })) {
    error_ = not_finite(vectors_, event.prompt_index);
  } else {
    take(event.prompt_index, std::move(floats));
    ++num_done_;
  }
  return {};
}

std::span<const float> RowsAnswer::shown(std::span<float> vector) const {
  const int dimensions = vectors_.form.dimensions;
  if (dimensions > 0) vector = vector.first(std::min(vector.size(), to_size(dimensions)));
  normalize(vector, vectors_.norm, vectors_.bits);
  return vector;
}

VectorAnswer::VectorAnswer(const CompletionCall& call, std::string_view model, VectorList list)
    : RowsAnswer(call), model_(model), form_(list), waiting_(call.vectors->rows.size()) {}

void VectorAnswer::append_vector(std::string& out, std::span<float> vector) const {
  const std::vector<VectorKind>& kinds = vectors().form.kinds;
  octavo::append_vector(out, shown(vector), kinds.empty() ? VectorKind::kFloat : kinds.front());
}

/// A list of the rows of a text.
void VectorAnswer::append_rows(std::string& out, std::span<float> floats) const {
  const std::size_t width = to_size(vectors().width);
  out += '[';
  for (std::size_t begin = 0; begin < floats.size(); begin += width) {
    if (begin > 0) out += ',';
    append_vector(out, floats.subspan(begin, width));
  }
  out += ']';
}

std::string VectorAnswer::element(std::size_t index, std::span<float> floats) const {
  std::string out;
  if (form_ == VectorList::kOpenAi) {
    fmt::format_to(std::back_inserter(out), R"({{"object":"embedding","index":{},"embedding":)", index);
    append_vector(out, floats);
    out += '}';
  } else if (form_ == VectorList::kLlama) {
    fmt::format_to(std::back_inserter(out), R"({{"index":{},"embedding":)", index);
    append_rows(out, floats);
    out += '}';
  } else if (form_ == VectorList::kTeiRows) {
    append_rows(out, floats);
  } else {
    append_vector(out, floats);
  }
  return out;
}

void VectorAnswer::take(std::size_t index, std::vector<float> floats) {
  waiting_[index] = element(index, floats);
  waiting_bytes_ += waiting_[index].size();
  for (; next_ < waiting_.size() && !waiting_[next_].empty(); ++next_) {
    if (next_ > 0) list_ += ',';
    list_ += waiting_[next_];
    waiting_bytes_ -= waiting_[next_].size();
    std::string().swap(waiting_[next_]);
  }
}

std::string VectorAnswer::finish() {
  std::string out;
  switch (form_) {
    case VectorList::kOpenAi: out = R"({"object":"list",)"; break;
    case VectorList::kOllama: out = "{"; break;
    case VectorList::kOllamaOne: out = R"({"embedding":)" + (list_.empty() ? "[]" : std::move(list_)); break;
    case VectorList::kLlama:
    case VectorList::kTei:
    case VectorList::kTeiRows: list_.insert(0, 1, '['); return std::move(list_) + ']';
  }
  if (form_ != VectorList::kOllamaOne) {
    append_json_field(out, "model", model_);
    out += form_ == VectorList::kOpenAi ? R"(,"data":[)" : R"(,"embeddings":[)";
    out += list_;
    out += ']';
  }
  if (form_ == VectorList::kOpenAi) {
    out += ',';
    append_usage(out, vectors().num_tokens);
  } else if (form_ == VectorList::kOllama) {
    const auto passed = std::chrono::steady_clock::now() - begin_;
    fmt::format_to(std::back_inserter(out), R"(,"total_duration":{},"load_duration":0,"prompt_eval_count":{})",
                   std::chrono::duration_cast<std::chrono::nanoseconds>(passed).count(), vectors().num_tokens);
  }
  append_warnings(out, call().warnings);
  out += '}';
  return out;
}

ScoreAnswer::ScoreAnswer(const CompletionCall& call, std::string_view model, std::string_view id, std::int64_t created,
                         ScoreList list)
    : RowsAnswer(call), model_(model), id_(id), created_(created), list_(list) {
  if (vectors().task == VectorTask::kComparisons) {
    compared_.resize(vectors().rows.size());
  } else {
    scores_.resize(vectors().rows.size());
  }
}

void ScoreAnswer::take(std::size_t index, std::vector<float> floats) {
  if (vectors().task == VectorTask::kComparisons) {
    held_bytes_ += floats.size() * sizeof(float);
    compared_[index] = std::move(floats);
    return;
  }
  held_bytes_ += sizeof(double);
  const double logit = relevance_logit(floats);
  scores_[index] = vectors().form.is_raw ? logit : relevance(logit, Math(vectors().bits));
}

std::vector<double> ScoreAnswer::compared() const {
  const std::size_t num_queries = vectors().num_queries;
  std::vector<double> scores;
  for (std::size_t i = num_queries; i < compared_.size(); ++i)
    scores.push_back(cosine(compared_[num_queries == 1 ? 0 : i - num_queries], compared_[i]));
  return scores;
}

void ScoreAnswer::append_ranks(std::string& out) const {
  const bool is_plain = vectors().form.is_plain;
  std::vector<std::size_t> best = best_first(scores_);
  best.resize(std::min(best.size(), vectors().form.most_results));
  out += '[';
  for (const std::size_t index : best) {
    if (!out.ends_with('[')) out += ',';
    fmt::format_to(std::back_inserter(out), R"({{"index":{},"{}":{})", index, is_plain ? "score" : "relevance_score",
                   scores_[index]);
    if (vectors().form.shows_documents) {
      out += is_plain ? "," : R"(,"document":{)";
      append_json_field(out, "text", to_valid_utf8(vectors().documents[index]));
      if (!is_plain) out += '}';
    }
    out += '}';
  }
  out += ']';
}

std::vector<double> ScoreAnswer::scores() const {
  return vectors().task == VectorTask::kComparisons ? compared() : scores_;
}

std::string ScoreAnswer::finish() {
  std::string out;
  if (list_ == ScoreList::kNumbers) return fmt::format("[{}]", fmt::join(scores(), ","));
  if (vectors().form.is_plain) {
    append_ranks(out);
    return out;
  }
  out = "{";
  append_json_field(out, "id", id_);
  out += R"(,"object":"list",)";
  append_json_field(out, "model", model_);
  if (list_ == ScoreList::kRanks) {
    out += R"(,"results":)";
    append_ranks(out);
    fmt::format_to(std::back_inserter(out),
                   R"(,"meta":{{"api_version":{{"version":"2"}},"tokens":{{"input_tokens":{}}}}},)",
                   vectors().num_tokens);
  } else {
    const std::vector<double> told = scores();
    fmt::format_to(std::back_inserter(out), R"(,"created":{},"data":[)", created_);
    for (std::size_t i = 0; i < told.size(); ++i)
      fmt::format_to(std::back_inserter(out), R"({}{{"index":{},"object":"score","score":{}}})", i == 0 ? "" : ",", i,
                     told[i]);
    out += "],";
  }
  append_usage(out, vectors().num_tokens);
  append_warnings(out, call().warnings);
  out += '}';
  return out;
}

std::string tei_error_body(const ApiError& error) {
  std::string out = "{";
  append_json_field(out, "error", to_valid_utf8(tei_message(error)));
  out += ',';
  append_json_field(out, "error_type",
                    error.status == 429 || error.status == 503 ? "Overloaded"
                    : error.status >= 500                      ? "Backend"
                                                               : "Validation");
  out += '}';
  return out;
}

}  // namespace octavo
