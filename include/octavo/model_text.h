// A model's texts: what it reads as a token, and how it reads a conversation.
//
//     std::shared_ptr<const octavo::ModelText> text = engine->text();
//     auto tokens = text->tokenize("Once upon a time", {});
//
// Immutable but for what it remembers of constraints, so any thread may call it. It stays as it is when its engine is
// gone.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octavo/chat.h"
#include "octavo/constraint.h"
#include "octavo/embedding.h"
#include "octavo/model_info.h"
#include "octavo/request_work.h"
#include "octavo/result.h"
#include "octavo/sampling.h"
#include "octavo/token.h"

namespace octavo {

struct TokenizeOptions {
  bool add_special = true;    // BOS/EOS as the file says, unless the text already begins with BOS
  bool parse_special = true;  // control tokens written in the text become those tokens
  /// A text of more tokens is refused as kContextOverflow, at the cost of one with max_tokens. 0: any number.
  std::size_t max_tokens = 0;
  RequestWork* work = nullptr;  // the request's, which counts the text and can stop the call; null: none
};

/// The prompt of a conversation, ending where the assistant begins.
struct ChatPrompt {
  std::vector<TokenId> tokens = {};
  int generation_prompt_tokens = 0;  // tokens at the end of the prompt that only ask for an answer, as the template
                                     // writes them behind the last message
  bool ends_in_reasoning = false;    // whether the template has written an opening mark: ReasoningParams::begins_inside
  std::vector<PromptPicture> pictures = {};  // in their order, as for Request::pictures
  std::vector<std::string> warnings = {};    // about pictures that were made much smaller
};

/// A text with a gap, which the model is to fill.
struct InfillText {
  struct File {
    std::string name = {}, text = {};
  };
  std::string prefix = {}, suffix = {};  // the text before the gap, and the text after it
  std::vector<File> files = {};          // other files of the project, the nearest ones last
  RequestWork* work = nullptr;           // as in TokenizeOptions
};

struct InfillPrompt {
  std::vector<TokenId> tokens = {};
  int files_left_out = 0;  // how many of the first files found no room
};

class ModelText {
 public:
  virtual ~ModelText() = default;
  ModelText(const ModelText&) = delete;
  ModelText& operator=(const ModelText&) = delete;

  virtual const ModelInfo& info() const = 0;

  /// The tokens of a text. Errors: too many tokens (TokenizeOptions); a vocabulary that is missing or of an unknown
  /// kind (kNoWords); those of `work`, here and below.
  virtual Result<std::vector<TokenId>> tokenize(std::string_view text, const TokenizeOptions& options) const = 0;
  /// The bytes of the tokens. Control tokens give their text; ids outside the vocabulary give nothing.
  virtual std::string detokenize(std::span<const TokenId> tokens) const = 0;
  /// A token as the vocabulary writes it, where a space may be "\u0120" or "\u2581"; empty: there is no such token.
  virtual std::string vocabulary_text(TokenId token) const = 0;
  /// The prompt of a conversation, which is brought into the template's shape where possible, with what a request must
  /// know about it beside its tokens. Errors: a template that is missing or wrong, refuses the conversation or writes
  /// no text; more tokens than max_tokens; kNoWords; bytes that are no picture (kInvalidPicture), or a picture beyond a
  /// limit (kPictureTooLarge).
  virtual Result<ChatPrompt> chat_prompt(std::span<const ChatMessage> messages,
                                         const ChatTemplateOptions& options) const = 0;
  /// The prompt of a text with pictures in it, each of which is written with the family's marks. Errors: the model
  /// reads only texts; a text that has such a mark itself; those of tokenize(), and chat_prompt()'s about pictures.
  virtual Result<ChatPrompt> picture_prompt(std::span<const ContentPart> parts,
                                            const TokenizeOptions& options) const = 0;
  /// The tokens of chat_prompt() alone.
  Result<std::vector<TokenId>> apply_chat_template(std::span<const ChatMessage> messages,
                                                   const ChatTemplateOptions& options = {}) const {
    Result<ChatPrompt> prompt = chat_prompt(messages, options);
    if (!prompt) return std::unexpected(std::move(prompt.error()));
    return std::move(prompt->tokens);
  }
  /// The text of a conversation's prompt before it becomes tokens, without BOS unless the template writes BOS. Control
  /// tokens of the template cannot be told from the same text in a message.
  virtual Result<std::string> render_chat_template(std::span<const ChatMessage> messages,
                                                   const ChatTemplateOptions& options) const = 0;
  /// The prompt of a gap that the model is to fill, of at most `max_tokens` tokens: the first files are left out where
  /// room is short. Errors: ModelInfo::fills_gaps is not set (kNoWords); more tokens than max_tokens
  /// (kContextOverflow).
  virtual Result<InfillPrompt> infill_prompt(const InfillText& text, std::size_t max_tokens) const = 0;
  /// A text as the model reads it to make vectors, after the words of the prompt that is asked for. Errors: a text that
  /// is longer than it may be and must not be cut (kContextOverflow); a prompt that the model does not have; kNoWords.
  virtual Result<EmbeddingPrompt> embedding_prompt(std::string_view text,
                                                   const EmbeddingPromptOptions& options) const = 0;
  /// A query and a document as the model's ranking head reads them, the query first. Where the file has a template for
  /// them, both are in it, and the document loses its end where it may be cut; otherwise they are a pair of texts, of
  /// which the longer one does; in a vocabulary without a form for pairs, one text follows the other, and the document
  /// is cut. Errors: as above; the model has no ranking head (kOther).
  virtual Result<EmbeddingPrompt> rank_prompt(std::string_view query, std::string_view document,
                                              const EmbeddingPromptOptions& options) const = 0;
  /// A constraint for requests to this model's engine; a source that is remembered is not compiled again. Errors: a
  /// source that cannot be read or is too large, with the place; kNoWords; a compilation of more counted steps than the
  /// bound, which the error names; a stop that was asked for (kStopped). The compilation looks at `stop` many times a
  /// second.
  virtual Result<std::shared_ptr<const Constraint>> compile_constraint(const ConstraintSource& source,
                                                                       const std::stop_token& stop = {}) const = 0;
  /// Finds the tokens that end DRY's repetitions under these parameters, by a look at the whole vocabulary.
  /// Engine::submit() looks itself unless somebody holds the result of a call with the same breakers. Null: there is
  /// nothing to find.
  virtual std::shared_ptr<const void> find_dry_breakers(const SamplingParams& params) const = 0;
  /// `defaults` with the sampling settings that the model asks for: those of EngineOptions::generation_config, then
  /// general.sampling.* of its file.
  virtual SamplingParams default_sampling(SamplingParams defaults) const = 0;

 protected:
  ModelText() = default;
};

}  // namespace octavo
