// Text to token ids and back: the facade over byte-level BPE and SentencePiece vocabularies.
//
// Owned by the engine, immutable after load() and independent of the model's source, so any thread may use it. Ids are
// those of Hugging Face `tokenizers` set up as the makers of the vocabulary did (docs/tokenizers.md;
// tools/tokenizer_truth.py compares them). Where a text is not UTF-8, llama.cpp is followed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "octavo/engine.h"
#include "source/model_source.h"
#include "tokenizer/reasoning_marks.h"
#include "tokenizer/stream_decoder.h"

namespace octavo {

struct TokenizerJson;
struct ToolFormat;

struct InfillMarks;

class Tokenizer {
 public:
  /// Reads the vocabulary from tokenizer.* metadata (works on vocabulary-only files). Errors name the key; an unknown
  /// tokenizer model or pre-tokenizer is named together with those that are supported. Words that are missing or of an
  /// unknown kind are kNoWords; other errors say that the file is wrong.
  /// `chat_template` is one to use instead of the file's own; empty: that one. `words` are used instead of the file's
  /// own, if not null; a file without words of its own may have a tokenizer.json under "tokenizer.huggingface.json".
  /// It ends with an error, between two of its parts, once a stop is asked for.
  static Result<Tokenizer> load(const ModelSource& source, std::string_view chat_template = {},
                                const TokenizerJson* words = nullptr, const std::stop_token& stop = {});
  /// Words alone. Without a model nobody says which token is EOS, if post_processor writes none.
  static Result<Tokenizer> load(const TokenizerJson& words);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  int vocab_size() const;

  /// Ids of `text`, which may hold any bytes. See TokenizeOptions for BOS/EOS and control tokens. Errors: text of 2 GiB
  /// or more; more tokens than options.max_tokens (kContextOverflow); a limit of the pattern matcher, which bounded
  /// texts do not meet.
  /// Byte-level vocabularies know characters only: a byte that is part of none counts as U+FFFD.
  Result<std::vector<TokenId>> encode(std::string_view text, const TokenizeOptions& options) const;

  /// The raw bytes of one token: control tokens give their text, byte tokens their byte. `id` must be in the
  /// vocabulary.
  std::string_view token_bytes(TokenId id) const;
  /// The same for a token that follows `previous`: at the start of a text and after a control token the space that an
  /// SPM vocabulary puts before the first word is left out.
  std::string_view bytes_after(std::optional<TokenId> previous, TokenId id) const;
  /// True for tokens that are never shown in an answer (control tokens such as BOS, the unknown token).
  bool is_control(TokenId id) const;
  /// Concatenated bytes; SPM's added leading space is removed, as its vocabulary asks. A byte-level vocabulary gives
  /// back any text of whole characters that it has all bytes of; SPM writes U+2581 of the text as a space.
  std::string decode(std::span<const TokenId> ids) const;

  /// End-of-generation tokens: EOS, the end-of-turn tokens that the file names or llama.cpp knows by their text, and
  /// where none of these ends the assistant's turn in the chat template, the token that does.
  bool is_end_of_generation(TokenId id) const;
  /// All of them, ascending, and what says so.
  std::span<const EndToken> end_tokens() const;
  std::optional<TokenId> bos() const;
  /// Put before a text that is one: BOS, or nothing, as the file says.
  std::span<const TokenId> text_prefix() const;
  std::optional<TokenId> eos() const;

  /// Prompt of a conversation by the chat template; content is never parsed for control tokens. Errors: no message; a
  /// template that is missing or wrong, or refuses the conversation; more tokens than options.max_tokens
  /// (kContextOverflow), if that is not 0.
  Result<std::vector<TokenId>> apply_chat_template(std::span<const ChatMessage> messages,
                                                   const ChatTemplateOptions& options = {}) const;
  /// The text that becomes these tokens, without regard to max_tokens.
  Result<std::string> render_chat_template(std::span<const ChatMessage> messages,
                                           const ChatTemplateOptions& options = {}) const;
  /// The same, and whether it ends behind a mark that opens reasoning.
  Result<ChatPrompt> chat_prompt(std::span<const ChatMessage> messages, const ChatTemplateOptions& options = {}) const;

  /// The marks around reasoning in this model's answers; null: none that are known.
  const ReasoningMarks* reasoning() const;
  /// The way in which this model's answers call tools; null: it has no chat template.
  const ToolFormat* tool_format() const;
  /// Whether tools are described in the system message, since the chat template has no place for them.
  bool describes_tools() const;
  /// The chat template in Jinja; empty: none.
  std::string_view chat_template() const;
  /// The tokens around a gap in a text; null: the model fills none.
  const InfillMarks* infill_marks() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  static Result<Tokenizer> load_json(const TokenizerJson& words, const ModelSource* model,
                                     std::string_view chat_template, const std::stop_token& stop);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace octavo
