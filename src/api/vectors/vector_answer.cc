#include "api/vectors/vector_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "api/answers/openai_finish.h"
#include "api/call/context_full.h"
#include "api/prepare/relevance.h"
#include "api/vectors/vector_text.h"
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

void write_usage(std::int64_t num_tokens, JsonWriter json) {
  json.key("usage").object("prompt_tokens", num_tokens, "total_tokens", num_tokens);
}

}  // namespace

std::string RowsAnswer::on_event(const RequestEvent& event) {
  if (event.finish == FinishReason::kNone || error_) return {};
  error_ = error_of(event.finish, event.stats);
  if (error_) return {};
  std::vector<float> floats = vectors_.rows[event.prompt_index]->take();
  if (floats.empty()) {
    error_ = no_memory_for_rows();
    return {};
  }
  num_left_ += floats.size();
  left_.push_back({.index = event.prompt_index, .floats = std::move(floats)});
  while (!leaves_work_ && num_left_ > 0 && !error_) work();
  return {};
}

/// Writes whole rows, at least one.
void RowsAnswer::work() {
  const auto width = to_size(std::max(1, vectors_.width));
  for (std::size_t room = std::max(width, kNumbersOfPiece / width * width); room > 0 && num_left_ > 0 && !error_;) {
    Left& first = left_.front();
    const std::size_t count = std::min(room, first.floats.size() - first.num_taken);
    const std::span<float> floats = std::span(first.floats).subspan(first.num_taken, count);
    const bool is_last = first.num_taken + count == first.floats.size();
    if (std::ranges::all_of(floats, [](float x) { return std::isfinite(x); })) {
      take({.index = first.index, .floats = floats, .is_first = first.num_taken == 0, .is_last = is_last});
    } else {
      error_ = not_finite(vectors_, first.index);
    }
    room -= count;
    num_left_ -= count;
    first.num_taken += count;
    if (!is_last) continue;
    left_.pop_front();
    if (!error_) ++num_done_;
  }
}

std::span<const float> RowsAnswer::shown(std::span<float> vector) const {
  const int dimensions = vectors_.form.dimensions;
  if (dimensions > 0) vector = vector.first(std::min(vector.size(), to_size(dimensions)));
  normalize(vector, vectors_.norm, vectors_.bits);
  return vector;
}

VectorAnswer::VectorAnswer(const CompletionCall& call, std::string_view model, VectorList list)
    : RowsAnswer(call), model_(model), form_(list), waiting_(call.vectors->rows.size()) {}

void VectorAnswer::take(const Piece& piece) {
  Element& element = waiting_[piece.index];
  const std::size_t before = element.text.size();
  JsonWriter json(element.text);
  const bool is_object = form_ == VectorList::kOpenAi || form_ == VectorList::kLlama;
  if (piece.is_first) {
    if (is_object) json.begin_object();
    if (form_ == VectorList::kOpenAi) json.fields("object", "embedding");
    if (is_object) json.fields("index", piece.index).key("embedding");
    if (tells_rows()) json.begin_array();
  }
  const std::vector<VectorKind>& kinds = vectors().form.kinds;
  const std::size_t width = tells_rows() ? to_size(vectors().width) : piece.floats.size();
  for (std::size_t begin = 0; begin < piece.floats.size(); begin += width)
    write_vector(shown(piece.floats.subspan(begin, width)), kinds.empty() ? VectorKind::kFloat : kinds.front(), json);
  if (piece.is_last) {
    if (tells_rows()) json.end_array();
    if (is_object) json.end_object();
    element.is_whole = true;
  }
  waiting_bytes_ += element.text.size() - before;
  move_to_list();
}

void VectorAnswer::move_to_list() {
  for (; next_ < waiting_.size() && waiting_[next_].is_whole; ++next_) {
    std::string& text = waiting_[next_].text;
    JsonWriter(list_).raw(text);
    waiting_bytes_ -= text.size();
    std::string().swap(text);
  }
}

std::string VectorAnswer::finish() {
  std::string out;
  JsonWriter json(out);
  switch (form_) {
    case VectorList::kOpenAi: json.begin_object().fields("object", "list", "model", model_).key("data"); break;
    case VectorList::kOllama: json.begin_object().fields("model", model_).key("embeddings"); break;
    case VectorList::kOllamaOne: json.begin_object().fields("embedding", JsonText{list_.empty() ? "[]" : list_}); break;
    case VectorList::kLlama:
    case VectorList::kTei:
    case VectorList::kTeiRows: list_.insert(0, 1, '['); return std::move(list_) + ']';
  }
  if (form_ != VectorList::kOllamaOne) json.value(JsonElements{list_});
  if (form_ == VectorList::kOpenAi) {
    write_usage(vectors().num_tokens, json);
  } else if (form_ == VectorList::kOllama) {
    const auto passed = std::chrono::steady_clock::now() - begin_;
    json.fields("total_duration", std::chrono::duration_cast<std::chrono::nanoseconds>(passed).count(), "load_duration",
                0, "prompt_eval_count", vectors().num_tokens);
  }
  write_warnings(call().warnings, json);
  json.end_object();
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

void ScoreAnswer::take(const Piece& piece) {
  if (vectors().task == VectorTask::kComparisons) {
    held_bytes_ += piece.floats.size_bytes();
    compared_[piece.index].assign(piece.floats.begin(), piece.floats.end());
    return;
  }
  held_bytes_ += sizeof(double);
  const double logit = relevance_logit(piece.floats);
  scores_[piece.index] = vectors().form.is_raw ? logit : relevance(logit, Math(vectors().bits));
}

std::vector<double> ScoreAnswer::compared() const {
  const std::size_t num_queries = vectors().num_queries;
  std::vector<double> scores;
  for (std::size_t i = num_queries; i < compared_.size(); ++i)
    scores.push_back(cosine(compared_[num_queries == 1 ? 0 : i - num_queries], compared_[i]));
  return scores;
}

void ScoreAnswer::write_ranks(JsonWriter json) const {
  const bool is_plain = vectors().form.is_plain;
  std::vector<std::size_t> best = best_first(scores_);
  best.resize(std::min(best.size(), vectors().form.most_results));
  json.begin_array();
  for (const std::size_t index : best) {
    json.begin_object().fields("index", index, is_plain ? "score" : "relevance_score", scores_[index]);
    if (vectors().form.shows_documents) {
      const std::string document = to_valid_utf8(vectors().documents[index]);
      if (is_plain) {
        json.fields("text", document);
      } else {
        json.key("document").object("text", document);
      }
    }
    json.end_object();
  }
  json.end_array();
}

std::vector<double> ScoreAnswer::scores() const {
  return vectors().task == VectorTask::kComparisons ? compared() : scores_;
}

std::string ScoreAnswer::finish() {
  std::string out;
  JsonWriter json(out);
  if (list_ == ScoreList::kNumbers) {
    json.value(scores());
    return out;
  }
  if (vectors().form.is_plain) {
    write_ranks(json);
    return out;
  }
  json.begin_object().fields("id", id_, "object", "list", "model", model_);
  if (list_ == ScoreList::kRanks) {
    write_ranks(json.key("results"));
    json.key("meta").begin_object().key("api_version").object("version", "2");
    json.key("tokens").object("input_tokens", vectors().num_tokens).end_object();
  } else {
    json.fields("created", created_).key("data").begin_array();
    for (std::size_t index = 0; const double score : scores())
      json.object("index", index++, "object", "score", "score", score);
    json.end_array();
  }
  write_usage(vectors().num_tokens, json);
  write_warnings(call().warnings, json);
  json.end_object();
  return out;
}

std::string tei_error_body(const ApiError& error) {
  return json_object("error", to_valid_utf8(tei_message(error)), "error_type",
                     error.status == 429 || error.status == 503 ? "Overloaded"
                     : error.status >= 500                      ? "Backend"
                                                                : "Validation");
}

}  // namespace octavo
