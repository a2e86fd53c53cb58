// An answer as Anthropic's Messages API has it: a message of blocks, or events that build one.
// https://docs.anthropic.com/en/api/messages, .../messages-streaming
#pragma once

#include <string>
#include <string_view>

#include "api/answers/answer_blocks.h"

namespace octavo {

class MessagesAnswer final : public AnswerBlocks {
 public:
  MessagesAnswer(const CompletionCall& call, std::string id, const ServedModel& model);

  std::string heartbeat(std::string_view text) const override;

 protected:
  void write_begin(std::string& out) override;
  void begin_block(const Block& block, std::size_t index, std::string& out) override;
  void write_delta(const Block& block, std::size_t index, std::string_view delta, std::string& out) override;
  void end_block(const Block& block, std::size_t index, std::string& out) override;
  void write_end(std::string& out) override;
  void write_error(const ApiError& error, std::string& out) override;
  std::string body() override;
  bool keeps_tokens() const override { return call().return_token_ids; }
  bool tags_events() const override { return call().stream; }

 private:
  void write_head(JsonWriter json) const;
  void write_stop(JsonWriter json) const;

  const std::string model_;
  std::string origin_ = {};  // members
};

/// The body of an error: {"type": "error", "error": {"type", "message"}}.
std::string messages_error_body(const ApiError& error);

}  // namespace octavo
