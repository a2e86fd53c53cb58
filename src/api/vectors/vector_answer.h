// The answers to calls for vectors of texts, and for scores of pairs of texts. A vector becomes text as soon as the
// engine gives it, in the order of the texts, so that no thread has all of the work at a call's end. The rows of a long
// text are more numbers than the I/O thread may write while others wait for it: they are written in pieces.
//
// Used by one thread at a time: the I/O thread, or one that writes a piece meanwhile. The call outlives it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/call/answer_writer.h"
#include "api/call/completion.h"
#include "api/call/vector_call.h"
#include "json/json_writer.h"

namespace octavo {

/// The numbers in a piece of an answer: one to two milliseconds of work.
inline constexpr std::size_t kNumbersOfPiece = std::size_t{1} << 14;

/// Writes all rows of a call's requests, each as soon as the engine has given it.
class RowsAnswer : public AnswerWriter {
 public:
  explicit RowsAnswer(const CompletionCall& call) : call_(call), vectors_(*call.vectors) {}

  std::string on_event(const RequestEvent& event) final;
  std::string progress(std::size_t, const PromptProgress&) const final { return {}; }
  bool done() const final { return num_done_ == vectors_.rows.size() && !error_; }
  void leave_work() final { leaves_work_ = true; }
  std::size_t work_left() const final { return num_left_; }
  void work() final;
  const ApiError* error() const final { return error_ ? &*error_ : nullptr; }
  /// Never called, as no such call is streamed.
  std::string fail(const ApiError&) final { return {}; }

 protected:
  /// Some rows of one request, whose numbers are finite.
  struct Piece {
    std::size_t index = 0;  // the index of the request
    std::span<float> floats = {};
    bool is_first = true, is_last = true;  // whether these are the first, and the last, rows of the request
  };
  virtual void take(const Piece& piece) = 0;
  /// The floats of a vector as they are shown: as many, and normalized, as the call asks for.
  std::span<const float> shown(std::span<float> vector) const;

  const CompletionCall& call() const { return call_; }
  const VectorCall& vectors() const { return vectors_; }

 private:
  struct Left {
    std::size_t index = 0;
    std::vector<float> floats = {};
    std::size_t num_taken = 0;
  };

  const CompletionCall& call_;
  const VectorCall& vectors_;
  std::deque<Left> left_ = {};  // the requests whose rows are not all taken
  std::size_t num_left_ = 0;    // the floats that are left in them
  bool leaves_work_ = false;
  std::size_t num_done_ = 0;
  std::optional<ApiError> error_ = {};
};

/// The forms of lists of vectors.
enum class VectorList : std::uint8_t { kOpenAi, kLlama, kOllama, kOllamaOne, kTei, kTeiRows };

class VectorAnswer final : public RowsAnswer {
 public:
  VectorAnswer(const CompletionCall& call, std::string_view model, VectorList list);

  std::size_t held_bytes() const override { return list_.size() + waiting_bytes_; }
  std::string finish() override;

 protected:
  void take(const Piece& piece) override;

 private:
  void move_to_list();
  /// Whether each element of the list is a list of rows: one for each token, or one in all.
  bool tells_rows() const { return form_ == VectorList::kLlama || form_ == VectorList::kTeiRows; }

  const std::string model_;
  const VectorList form_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::string list_ = {};  // the text of the list's first elements
  struct Element {
    std::string text = {};
    bool is_whole = false;
  };
  std::vector<Element> waiting_;  // elements that are there before an earlier one, or only in part
  std::size_t next_ = 0;          // the first element that is not in list_
  std::size_t waiting_bytes_ = 0;
};

/// The forms of lists of scores: documents in order of relevance; pairs in their own order, as objects or as numbers.
enum class ScoreList : std::uint8_t { kRanks, kScores, kNumbers };

class ScoreAnswer final : public RowsAnswer {
 public:
  ScoreAnswer(const CompletionCall& call, std::string_view model, std::string_view id, std::int64_t created,
              ScoreList list);

  std::size_t held_bytes() const override { return held_bytes_; }
  std::string finish() override;

 protected:
  void take(const Piece& piece) override;

 private:
  std::vector<double> compared() const;
  void write_ranks(JsonWriter json) const;
  std::vector<double> scores() const;

  const std::string model_, id_;
  const std::int64_t created_;
  const ScoreList list_;
  std::vector<double> scores_ = {};                // the scores of pairs, where the model scores them
  std::vector<std::vector<float>> compared_ = {};  // the vectors to compare, those of queries first
  std::size_t held_bytes_ = 0;
};

/// The body of an error as Hugging Face's server writes it: {"error": "...", "error_type": "Validation"}.
std::string tei_error_body(const ApiError& error);

}  // namespace octavo
