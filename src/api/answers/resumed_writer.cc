#include "api/answers/resumed_writer.h"

#include <fmt/format.h>

#include "api/answers/openai_finish.h"

namespace octavo {
namespace {

ApiError differs(std::size_t at, TokenId found, TokenId given) {
  std::string message =
      fmt::format("resume_from.token_ids[{}]: found {}, but this request's answer {}", at, given,
                  found < 0 ? std::string("has ended before it") : fmt::format("has {} there", found));
  return {.status = 409, .message = std::move(message), .param = "resume_from.token_ids", .code = "answer_differs"};
}

}  // namespace

std::string ResumedWriter::begin() {
  std::string bytes = inner_->begin();
  if (!resumption_.tokens.empty()) bytes.clear();
  return bytes;
}

bool ResumedWriter::may_be_refused() const {
  return resumption_.verifies && !error_ && num_verified_ < resumption_.tokens.size() && inner_->error() == nullptr;
}

/// The client has what the event shows. With a token that is another one than the client's the answer ends.
bool ResumedWriter::is_had(const RequestEvent& event) {
  if (!may_be_refused()) return event.is_resumed;
  const TokenId given = resumption_.tokens[num_verified_];
  if (event.token == given && event.finish == FinishReason::kNone) {
    ++num_verified_;
    return true;
  }
  if (error_of(event.finish, event.stats)) return false;  // which the other writer tells
  error_ = differs(num_verified_, event.token == given ? -1 : event.token, given);
  return true;
}

std::string ResumedWriter::on_event(const RequestEvent& event) {
  if (error_) return {};
  const bool is_had = this->is_had(event);
  if (error_) return is_streamed_ ? inner_->fail(*error_) : std::string();
  std::string bytes = inner_->on_event(event);
  if (is_had && inner_->error() == nullptr) bytes.clear();
  return bytes;
}

}  // namespace octavo
