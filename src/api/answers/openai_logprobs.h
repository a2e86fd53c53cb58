// Log-probabilities of one answer in the forms of /v1/chat/completions, of /v1/completions, and of llama.cpp's
// /completion.
//
// A token is reported when all of its text has been shown, so that what a stop text holds back or cuts off does not
// show up here. One object an answer, used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/call/completion.h"
#include "octavo/model_text.h"
#include "octavo/request.h"

namespace octavo {

/// The spelling of a token in log-probabilities. Bytes that are no whole character are written as \xNN; in a completion
/// such a token begins with "bytes:" too, as OpenAI writes it.
std::string token_name(std::string_view bytes, bool is_chat);

/// Counts the characters of a text that comes in pieces, as the client gets it: bytes that are no character count as
/// the U+FFFD that stands for them.
class CharacterCount {
 public:
  void add(std::string_view bytes);
  /// Ends the last character: the next bytes are decoded on their own, not as its rest.
  void cut() { begun_.clear(); }
  /// The number of characters that have begun.
  std::size_t value() const { return value_; }

 private:
  std::string begun_;  // a character's first bytes, counted already; at most 3
  std::size_t value_ = 0;
};

enum class LogprobForm : std::uint8_t {
  kChat,        // the form of OpenAI's chats, which ollama took over
  kCompletion,  // the form of OpenAI's completions
  kLlama,       // the form of chats, with the id of each token
};

/// How log-probabilities name tokens.
enum class TokenNaming : std::uint8_t {
  kTexts,  // token_name()
  kIds,    // "token_id:123", as vLLM has it
};

/// The member `prompt_logprobs` of vLLM: an array of null for the first token, then for each other one an object by
/// token ids, with the token itself and at most `num_top` of the likeliest.
std::string prompt_logprobs_json(const CallPrompt& prompt, int num_top, const ModelText& words);

class AnswerLogprobs {
 public:
  /// `previous` is the prompt's last token.
  AnswerLogprobs(std::shared_ptr<const ModelText> words, LogprobForm form, TokenId previous,
                 TokenNaming names = TokenNaming::kTexts)
      : words_(std::move(words)), form_(form), names_(names), previous_(previous) {}

  /// Adds the echoed prompt, before all events, with `num_top` alternatives for each token; completions only.
  void add_prompt(const CallPrompt& prompt, int num_top);
  void add(const RequestEvent& event);
  /// Whether there is nothing to report.
  bool empty() const { return num_written_ == 0; }
  /// The bytes of what waits to be reported.
  std::size_t held_bytes() const {
    return content_.size() + tokens_.size() + logprobs_.size() + top_.size() + offsets_.size();
  }
  /// Appends the JSON object of what is to be reported since the last call.
  void take(JsonWriter json);
  /// Appends the elements of the array, in all forms but that of completions, with a comma before them where `out` has
  /// elements already.
  void take_entries(std::string& out);

 private:
  struct Entry {
    TokenId previous;  // the token before it; -1: none
    TokenId token;
    std::string text;
    std::optional<float> logprob;  // none: the first token of a text
    std::vector<TokenLogprob> top;
    std::size_t offset = 0;  // the characters that begin before it
    std::size_t begin = 0;   // the bytes of the answer before it
    std::size_t end = 0;     // the bytes of the answer up to its end
  };

  std::string text_after(TokenId previous, TokenId token) const;
  std::string name_of(TokenId token, std::string_view text) const;
  void push(const RequestEvent& event);
  void write(const Entry& entry);
  void write_chat(const Entry& entry);
  void write_token(TokenId token, std::string_view text, float logprob);
  void write_completion(const Entry& entry);
  void write_alternatives(const Entry& entry);

  std::shared_ptr<const ModelText> words_;
  LogprobForm form_;
  TokenNaming names_;
  TokenId previous_;
  std::size_t num_bytes_ = 0;      // the bytes of the answer's tokens so far
  std::size_t num_shown_ = 0;      // the bytes of the answer that the client has got
  CharacterCount num_characters_;  // counts the characters of both the echoed prompt and the answer
  std::deque<Entry> pending_;
  std::size_t num_written_ = 0;
  std::string content_;                            // the elements of the one array
  std::string tokens_, logprobs_, top_, offsets_;  // for completions: the elements of each array
};

}  // namespace octavo
