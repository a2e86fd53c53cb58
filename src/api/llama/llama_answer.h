// An answer as llama.cpp's server gives it at /completion and /infill: one object, or one for each piece of a stream.
// https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
#pragma once

#include <string>
#include <string_view>

#include "api/answers/answer_blocks.h"

namespace octavo {

class LlamaAnswer final : public AnswerBlocks {
 public:
  /// `words`: see AnswerBlocks.
  LlamaAnswer(const CompletionCall& call, std::string id, std::string model, std::shared_ptr<const ModelText> words);

 protected:
  void write_begin(std::string&) override {}
  void begin_block(const Block&, std::size_t, std::string&) override {}
  void write_delta(const Block& block, std::size_t index, std::string_view delta, std::string& out) override;
  void end_block(const Block&, std::size_t, std::string&) override {}
  void write_end(std::string& out) override;
  void write_error(const ApiError& error, std::string& out) override;
  std::string body() override;
  /// In a stream they are sent without being asked for, as by llama.cpp.
  bool keeps_tokens() const override { return call().stream || call().return_token_ids; }

 private:
  JsonWriter begin_object(std::string_view content, std::string& out);
  /// Writes the last object, with `content` as its content. `probabilities`: elements of an array.
  void write_last(std::string_view content, std::string_view probabilities, std::string& out);

  const std::string model_;
};

}  // namespace octavo
