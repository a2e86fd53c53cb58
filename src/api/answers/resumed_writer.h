// The answer to a call that goes on with one which broke off: a stream has what its client does not have yet, a whole
// answer all of it. Another writer writes it, from its first token on, and what the client has is left out.
#pragma once

#include <memory>
#include <optional>

#include "api/call/answer_writer.h"
#include "api/call/resumption.h"

namespace octavo {

class ResumedWriter final : public AnswerWriter {
 public:
  /// `resumption` outlives this.
  ResumedWriter(std::unique_ptr<AnswerWriter> inner, const Resumption& resumption, bool is_streamed)
      : inner_(std::move(inner)), resumption_(resumption), is_streamed_(is_streamed) {}

  std::string begin() override;
  std::string on_event(const RequestEvent& event) override;
  bool is_long(const RequestEvent& event) const override { return inner_->is_long(event); }
  std::string progress(std::size_t prompt_index, const PromptProgress& progress) const override {
    return inner_->progress(prompt_index, progress);
  }
  std::string heartbeat(std::string_view text) const override { return inner_->heartbeat(text); }
  /// Some of the tokens are still to be drawn again.
  bool may_be_refused() const override;
  void leave_work() override { inner_->leave_work(); }
  std::size_t work_left() const override { return inner_->work_left(); }
  void work() override { inner_->work(); }
  std::size_t held_bytes() const override { return inner_->held_bytes(); }
  bool done() const override { return inner_->done(); }
  const ApiError* error() const override { return error_ ? &*error_ : inner_->error(); }
  std::string fail(const ApiError& error) override { return inner_->fail(error); }
  std::string finish() override { return inner_->finish(); }

 private:
  bool is_had(const RequestEvent& event);

  const std::unique_ptr<AnswerWriter> inner_;
  const Resumption& resumption_;
  const bool is_streamed_;
  std::size_t num_verified_ = 0;
  std::optional<ApiError> error_ = {};
};

}  // namespace octavo
