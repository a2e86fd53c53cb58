// The one answer of a call as blocks in order: reasoning, text, and calls of tools. APIs whose answers are made of such
// blocks derive from it and say how each is written.
//
// Used by one thread, the I/O thread; the call outlives it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/answers/answer_parts.h"
#include "api/answers/openai_logprobs.h"
#include "api/call/answer_writer.h"
#include "api/call/completion.h"

namespace octavo {

class AnswerBlocks : public AnswerWriter {
 public:
  struct Block {
    enum class Kind : std::uint8_t { kReasoning, kText, kCall };
    Kind kind = Kind::kText;
    std::string text = {};             // a call's arguments as JSON, or a custom tool's input; else the block's text
    std::string id = {}, name = {};    // set for a call
    const ClientTool* tool = nullptr;  // the tool of a call (AnswerPart::tool)
    std::string logprobs = {};         // elements of a JSON array, one for each token of a text, where asked for
    bool is_cut = false;               // the answer reached its longest length in this block

    bool is_custom() const { return tool != nullptr && tool->is_custom; }

    /// The arguments of a call: an object in JSON, which is empty where the call was cut off.
    std::string_view arguments() const;
  };

  /// `id` names the answer. The call has one prompt and one choice; or no prompt, and the answer is empty. `words` and
  /// `form` are for log-probabilities; null `words`: the API has none.
  AnswerBlocks(const CompletionCall& call, std::string id, std::shared_ptr<const ModelText> words = {},
               LogprobForm form = LogprobForm::kChat);

  std::string begin() final;
  std::string on_event(const RequestEvent& event) final;
  std::string progress(std::size_t prompt_index, const PromptProgress& progress) const override;
  std::size_t held_bytes() const final { return held_bytes_; }
  bool done() const final { return (finish_ != FinishReason::kNone && !error_) || call_.prompts.empty(); }
  const ApiError* error() const final { return error_ ? &*error_ : nullptr; }
  std::string fail(const ApiError& error) final;
  std::string finish() final;

 protected:
  const CompletionCall& call() const { return call_; }
  const std::string& id() const { return id_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  FinishReason finish_reason() const { return finish_; }
  const RequestStats& stats() const { return stats_; }
  bool calls_tools() const { return parts_ != nullptr && parts_->num_calls() > 0; }
  /// The stop text that the answer ended at; empty: none.
  std::string_view stop_text() const { return call_.stop_text(stats_.stop_text); }
  /// The log-probabilities of the delta that is written: elements of a JSON array.
  std::string_view delta_logprobs() const { return new_logprobs_; }
  /// The tokens since the last call of this function, where keeps_tokens() says that they are kept, and tags_events()
  /// takes none. Tokens of a stop text and of reasoning are among them, and the token that ended the answer.
  std::vector<TokenId> take_tokens() { return std::exchange(tokens_, {}); }
  const std::vector<TokenId>& tokens() const { return tokens_; }
  /// Notes that `num_bytes` more bytes are held until the answer ends.
  void hold(std::size_t num_bytes) { held_bytes_ += num_bytes; }

  // The functions that write the pieces of a stream. `index` is the index of the last block.
  virtual void write_begin(std::string& out) = 0;
  virtual void begin_block(const Block& block, std::size_t index, std::string& out) = 0;
  virtual void write_delta(const Block& block, std::size_t index, std::string_view delta, std::string& out) = 0;
  virtual void end_block(const Block& block, std::size_t index, std::string& out) = 0;
  virtual void write_end(std::string& out) = 0;
  virtual void write_error(const ApiError& error, std::string& out) = 0;
  /// The whole body of an answer that is not streamed.
  virtual std::string body() = 0;
  /// Whether a stream's blocks are held until its end, because the end shows them again.
  virtual bool keeps_stream() const { return false; }
  virtual bool keeps_tokens() const { return false; }
  /// Whether the stream's events are typed (typed_events.h) and tell the tokens: of the events that a token makes, the
  /// last one has `token_ids`. The token that ends the answer is in the answer's last event.
  virtual bool tags_events() const { return false; }

 private:
  void add(const AnswerPart& part, std::string& out);
  void add_text(Block::Kind kind, std::string_view text, std::string& out);
  void open(Block block, std::string& out);
  void close(std::string& out);
  /// Moves the log-probabilities of tokens since the last block into this one.
  void keep_logprobs(Block& block);
  /// Adds the tokens that no event has told yet to the last event.
  void tag_event(std::string& out);
  /// Writes the log-probabilities of tokens without text at the answer's end.
  void tell_last_logprobs(std::string& out);
  /// Marks the open block as cut where the answer ends at its longest length.
  void mark_cut();

  const CompletionCall& call_;
  const std::string id_;
  std::unique_ptr<AnswerParts> parts_;      // null where no tools may be called
  std::optional<AnswerLogprobs> logprobs_;  // none where they are not asked for
  std::string new_logprobs_ = {};           // the log-probabilities of tokens that no block has yet
  std::vector<TokenId> tokens_ = {};        // the tokens that take_tokens() has not given yet
  std::vector<Block> blocks_ = {};
  bool is_open_ = false;  // the last block is still open
  std::size_t held_bytes_ = 0;
  FinishReason finish_ = FinishReason::kNone;
  RequestStats stats_ = {};
  std::optional<ApiError> error_ = {};
};

}  // namespace octavo
