// An answer in the form of ollama's API: one JSON object, or one line for each piece of it.
// https://github.com/ollama/ollama/blob/main/docs/api.md
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/answers/answer_blocks.h"

namespace octavo {

class OllamaAnswer final : public AnswerBlocks {
 public:
  /// `words`: see AnswerBlocks. `is_chat`: the form is that of /api/chat, else of /api/generate.
  OllamaAnswer(const CompletionCall& call, std::string id, std::string model, std::shared_ptr<const ModelText> words,
               bool is_chat);

  /// An empty piece of the answer, since a line that is no object would end some readers.
  std::string heartbeat(std::string_view text) const override;

 protected:
  void write_begin(std::string&) override {}
  void begin_block(const Block&, std::size_t, std::string&) override {}
  void write_delta(const Block& block, std::size_t index, std::string_view delta, std::string& out) override;
  void end_block(const Block& block, std::size_t index, std::string& out) override;
  void write_end(std::string& out) override;
  void write_error(const ApiError& error, std::string& out) override;
  std::string body() override;
  bool keeps_stream() const override { return call().tools != nullptr; }  // calls are written whole

 private:
  /// The parts of an answer, or of a piece of it.
  struct Parts {
    std::string_view content = {}, thinking = {};
    std::string calls = {};          // the elements of tool_calls
    std::string_view logprobs = {};  // the elements of logprobs
  };

  void write_object(const Parts& parts, bool is_done, std::string& out) const;
  void write_done(JsonWriter json) const;

  const std::string model_;
  const bool is_chat_;
};

/// The answer to a request that unloaded the model.
std::string ollama_unloaded(std::string_view model, bool is_chat, std::span<const std::string> warnings);
/// The body of an error: {"error": "..."}.
std::string ollama_error_body(const ApiError& error);

}  // namespace octavo
