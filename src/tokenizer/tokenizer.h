// Text to token ids and back: the facade over vocabularies of byte-level BPE, SentencePiece, WordPiece and Unigram.
//
// The engine owns it; it is immutable after load() and independent of the model's source, so any thread may use it. Ids
// are those of Hugging Face `tokenizers` with the settings of the vocabulary's makers (docs/tokenizers.md;
// tools/tokenizer_truth.py compares them), or llama.cpp's where a text is not UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "octavo/model_text.h"
#include "source/model_source.h"
#include "tokenizer/prompt_fragments.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/text/text_frame.h"
#include "tokenizer/words/special_tokens.h"
#include "tokenizer/words/vocab.h"

namespace octavo {

struct TokenizerJson;

class Tokenizer {
 public:
  /// The most bytes of a text. Offsets of tokens and bytes are 32-bit; a space that becomes U+2581 grows threefold, and
  /// so does an ill-formed byte.
  static constexpr std::size_t kMaxTextBytes = std::size_t{std::numeric_limits<std::int32_t>::max()} / 3 - 1;
  static constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();  // no limit on the tokens

  /// Reads the vocabulary from tokenizer.* metadata (works on vocabulary-only files). Errors name the key; an unknown
  /// tokenizer model or pre-tokenizer is named together with those that are supported. Words that are missing or of an
  /// unknown kind are kNoWords; other errors say that the file is wrong.
  /// The tokens of chat templates are reserved for them (template_tokens.h): those of the file's own, and of
  /// `chat_template`, which is used instead. `words` are used instead of the file's own, if not null; a file without
  /// words of its own may have a tokenizer.json under "tokenizer.huggingface.json".
  /// It ends with an error, between two of its parts, once a stop is asked for.
  static Result<Tokenizer> load(const ModelSource& source, std::string_view chat_template = {},
                                const TokenizerJson* words = nullptr, const std::stop_token& stop = {});
  /// Loads words without a model. Then only the post_processor may name EOS.
  static Result<Tokenizer> load(const TokenizerJson& words);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  int vocab_size() const;

  /// The ids of `text`, which may hold any bytes. See TokenizeOptions for BOS/EOS and control tokens. Errors: text of 2
  /// GiB or more; more tokens than options.max_tokens (kContextOverflow); a limit of the pattern matcher, which bounded
  /// texts do not reach. Byte-level vocabularies know only characters: a byte that is part of none counts as U+FFFD.
  Result<std::vector<TokenId>> encode(std::string_view text, const TokenizeOptions& options) const;

  /// The tokens of a text as an encoder reads it, with the tokens around it: BERT's `[CLS] text [SEP]`, XLM-RoBERTa's
  /// `<s> text </s>`, or the BOS and EOS that the file asks for. Errors: those of encode(); a limit without room for
  /// these.
  Result<FramedText> encode_framed(std::string_view text, const FrameOptions& options) const;
  /// The tokens of two texts, of which a cross-encoder judges the second by the first (a query and a document): BERT's
  /// `[CLS] first [SEP] second [SEP]`, XLM-RoBERTa's `<s> first </s></s> second </s>`, or as the post_processor of the
  /// tokenizer.json says. Where they must be cut, the longer one is cut until both are equally long, then both are.
  /// Errors: those of encode_framed(); a vocabulary without a form for two texts (has_pairs()).
  Result<FramedText> encode_pair(std::string_view first, std::string_view second, const FrameOptions& options) const;
  /// Does encode_pair() in two parts, so that the first text can stand before several others. `first` is what
  /// encode_first() has made with the same options, or with more room.
  Result<std::vector<TokenId>> encode_first(std::string_view first, const FrameOptions& options) const;
  Result<FramedText> encode_second(const std::vector<TokenId>& first, std::string_view second,
                                   const FrameOptions& options) const;
  /// Whether the vocabulary's makers have a form for two texts.
  bool has_pairs() const;

  /// The raw bytes of one token: control tokens give their text, byte tokens their byte. `id` must be in the
  /// vocabulary.
  std::string_view token_bytes(TokenId id) const;
  /// The bytes of a token that follows `previous`: at the start of a text and after a control token, the space that an
  /// SPM vocabulary puts before the first word, and WordPiece before each, is left out.
  std::string_view bytes_after(std::optional<TokenId> previous, TokenId id) const;
  /// Whether a token is never shown in an answer (control tokens such as BOS, the unknown token).
  bool is_control(TokenId id) const;
  /// The bytes of all tokens; the space that SPM adds in front is removed, as its vocabulary asks. A byte-level
  /// vocabulary gives back any text of whole characters for whose bytes it has tokens; SPM writes U+2581 of the text as
  /// a space.
  std::string decode(std::span<const TokenId> ids) const;

  /// Whether a token ends an answer: EOS, the end-of-turn tokens that the file names or llama.cpp knows by their text,
  /// and those that were added.
  bool is_end_of_generation(TokenId id) const;
  /// All end tokens, ascending, with their sources.
  std::span<const EndToken> end_tokens() const;
  /// Adds an end token and its source, while the tokenizer is loaded.
  void add_end_token(TokenId id, std::string_view source);
  std::optional<TokenId> bos() const;
  /// The tokens before a text: BOS, or none, as the file says.
  std::span<const TokenId> text_prefix() const;
  std::optional<TokenId> eos() const;

  // These functions are for prompts that are put together (src/chat).
  const Vocab& vocab() const;
  /// All special tokens, for text that a template writes.
  const SpecialTokens& template_tokens() const;
  /// Whether the texts surely have more than `max_tokens` tokens.
  bool are_too_long(std::span<const std::string_view> texts, std::size_t max_tokens) const;
  /// The ids of a prompt's parts, without BOS: special tokens come only from a template's text. Errors: those of
  /// encode(); together the parts may have at most kMaxTextBytes.
  Result<std::vector<TokenId>> encode_prompt(std::span<const PromptPart> parts, std::size_t max_tokens = kAnyNumber,
                                             RequestWork* work = nullptr) const;
  /// Puts text_prefix() before ids that do not begin with it.
  void add_prefix_unless_there(std::vector<TokenId>& ids) const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  /// The number of tokens of two texts that there is room for. Errors: there is no form for two; there is no room.
  Result<std::size_t> room_of_pair(const FrameOptions& options) const;
  static Result<Tokenizer> load_json(const TokenizerJson& words, const ModelSource* model,
                                     std::string_view chat_template, const std::stop_token& stop);
  std::unique_ptr<Impl> impl_;
};

}  // namespace octavo
