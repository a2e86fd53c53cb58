// An answer as OpenAI's Responses API has it: a response of items, or events that build one.
// https://platform.openai.com/docs/api-reference/responses/object, .../responses-streaming
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/answers/answer_blocks.h"
#include "api/responses/responses_request.h"
#include "json/json_writer.h"

namespace octavo {

class ResponsesAnswer final : public AnswerBlocks {
 public:
  /// The call has CompletionCall::response. `created`: seconds since 1970.
  ResponsesAnswer(const CompletionCall& call, std::shared_ptr<const ModelText> words, const ServedModel& model,
                  std::int64_t created);

 protected:
  void write_begin(std::string& out) override;
  void begin_block(const Block& block, std::size_t index, std::string& out) override;
  void write_delta(const Block& block, std::size_t index, std::string_view delta, std::string& out) override;
  void end_block(const Block& block, std::size_t index, std::string& out) override;
  void write_end(std::string& out) override;
  void write_error(const ApiError& error, std::string& out) override;
  /// The JSON of the response, which a stream's last event has, too. Keeps the response if its call asks for that.
  std::string body() override;
  bool keeps_stream() const override { return true; }
  bool keeps_tokens() const override { return call().return_token_ids; }
  bool tags_events() const override { return call().stream; }

 private:
  enum class Status : std::uint8_t { kInProgress, kCompleted, kIncomplete, kFailed };

  JsonWriter begin_event(std::string& out, std::string_view name);
  /// Begins an event about a block, or about the only part of its content.
  JsonWriter begin_block_event(std::string& out, std::string_view name, const Block& block, std::size_t index);
  JsonWriter begin_part_event(std::string& out, std::string_view name, const Block& block, std::size_t index);
  std::string item_id(const Block& block, std::size_t index) const;
  void write_item(const Block& block, std::size_t index, bool is_begun, JsonWriter json) const;
  void write_head(Status status, const ApiError* error, JsonWriter json) const;
  void write_tail(Status status, JsonWriter json) const;
  void write_whole(std::string_view event, Status status, const ApiError* error, std::string& out);
  Status end_status() const;
  /// The response without its input.
  StoredResponse complete() const;

  const ResponseCall& response_;
  const std::string model_;
  const std::int64_t created_;
  std::string origin_ = {};           // members
  std::int64_t sequence_number_ = 0;  // the number of the next event
};

/// The events of a response that fails before anything is computed. `id`: 16 hexadecimal digits.
std::string refused_response_stream(const ApiError& error, std::string_view model, std::string_view id,
                                    std::int64_t created);

}  // namespace octavo
