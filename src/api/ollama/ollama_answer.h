// An answer as ollama's API has it: one JSON object, or a line for each piece of it.
// https://github.com/ollama/ollama/blob/main/docs/api.md
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/answers/answer_blocks.h"

namespace octavo {

class OllamaAnswer final : public AnswerBlocks {
 public:
  /// `words`: AnswerBlocks's. `is_chat`: of /api/chat, else of /api/generate.
  OllamaAnswer(const CompletionCall& call, std::string id, std::string model, std::shared_ptr<const ModelText> words,
               bool is_chat);

  /// An empty piece: a line that is no object would end some readers.
  std::string heartbeat(std::string_view text) const override;

 protected:
  void write_begin(std::string&) override {}
  void begin_block(const Block&, std::size_t, std::string&) override {}
  void write_delta(const Block& block, std::size_t index, std::string_view delta, std::string& out) override;
  void end_block(const Block& block, std::size_t index, std::string& out) override;
  void write_end(std::string& out) override;
  void write_error(const ApiError& error, std::string& out) override;
  std::string body() override;
  bool keeps_stream() const override { return call().tools != nullptr; }  // calls are told whole

 private:
  /// The parts that stand in an answer or in a piece of it.
  struct Parts {
    std::string_view content = {}, thinking = {};
    std::string calls = {};          // elements of tool_calls
    std::string_view logprobs = {};  // elements of logprobs
  };

  void write_object(const Parts& parts, bool is_done, std::string& out) const;
  void write_done(JsonWriter json) const;

  const std::string model_;
  const bool is_chat_;
};

/// The answer to a request that let the model go.
std::string ollama_unloaded(std::string_view model, bool is_chat, std::span<const std::string> warnings);
/// {"error": "..."}
std::string ollama_error_body(const ApiError& error);

}  // namespace octavo
