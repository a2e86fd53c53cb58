// Log-probabilities of one answer in the shapes of /v1/chat/completions, of /v1/completions, and of llama.cpp's
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

/// Characters of a text that comes in pieces, as a client gets it: bytes that are no character count as the U+FFFD for
/// them.
class CharacterCount {
 public:
  void add(std::string_view bytes);
  /// The next bytes are decoded on their own, not as the rest of a character that was begun.
  void cut() { begun_.clear(); }
  /// The number of characters that have begun.
  std::size_t value() const { return value_; }

 private:
  std::string begun_;  // a character's first bytes, counted already; at most 3
  std::size_t value_ = 0;
};

enum class LogprobForm : std::uint8_t {
  kChat,        // OpenAI's, which ollama took
  kCompletion,  // OpenAI's first
  kLlama,       // a chat's, with the id of each token
};

/// How log-probabilities name tokens.
enum class TokenNaming : std::uint8_t {
  kTexts,  // token_name()
  kIds,    // "token_id:123", as vLLM has it
};

/// vLLM's `prompt_logprobs`: an array of null, then an object by ids for each token behind the first, with its own and
/// at most `num_top` likeliest.
std::string prompt_logprobs_json(const CallPrompt& prompt, int num_top, const ModelText& words);

class AnswerLogprobs {
 public:
  /// `previous` is the prompt's last token.
  AnswerLogprobs(std::shared_ptr<const ModelText> words, LogprobForm form, TokenId previous,
                 TokenNaming names = TokenNaming::kTexts)
      : words_(std::move(words)), form_(form), names_(names), previous_(previous) {}

  /// The echoed prompt, before all events, with so many alternatives beside each token; completions only.
  void add_prompt(const CallPrompt& prompt, int num_top);
  void add(const RequestEvent& event);
  /// There is nothing to report.
  bool empty() const { return num_written_ == 0; }
  /// Bytes of what is to be reported.
  std::size_t held_bytes() const {
    return content_.size() + tokens_.size() + logprobs_.size() + top_.size() + offsets_.size();
  }
  /// Appends the JSON object of what is to be reported since the last call.
  void take(JsonWriter json);
  /// Appends, in all forms but a completion's, the elements of its array, with a comma in front where something stands
  /// there.
  void take_entries(std::string& out);

 private:
  struct Entry {
    TokenId previous;  // the token before it; -1: none
    TokenId token;
    std::string text;
    std::optional<float> logprob;  // none for a text's first token
    std::vector<TokenLogprob> top;
    std::size_t offset = 0;  // characters that begin before it
    std::size_t begin = 0;   // bytes of the answer before it
    std::size_t end = 0;     // bytes of the answer up to its end
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
  std::size_t num_bytes_ = 0;      // of the answer's tokens so far
  std::size_t num_shown_ = 0;      // of these, given to the client
  CharacterCount num_characters_;  // of these, and of the echoed prompt
  std::deque<Entry> pending_;
  std::size_t num_written_ = 0;
  std::string content_;                            // elements of the one array
  std::string tokens_, logprobs_, top_, offsets_;  // completions: elements of each array
};

}  // namespace octavo
