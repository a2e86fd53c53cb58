// A conversation of `octavo chat`, and the prompt that each of its answers continues.
//
// Answers are kept as the tokens that were drawn. The prompt of the next turn is the last prompt, these tokens, and
// what the chat template writes after an answer; so the prefix cache has all but the new part, whatever tokens the
// answer's text would become. The whole is rendered anew where the template writes earlier turns in a new way (it drops
// old reasoning, it tells the time), or where a token reaches across the end of an answer. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "octavo/model_text.h"

namespace octavo::cli {

/// A question and its answer.
struct ChatTurn {
  std::string question = {};
  std::vector<PictureInput> pictures = {};  // pictures before the question
  bool is_answered = false;
  std::string answer = {};
  std::string reasoning = {};  // reasoning before the answer, or beside it
  /// The tokens of the answer, without one that only ended it; nothing: only the text is known.
  std::optional<std::vector<TokenId>> drawn = {};
};

class Conversation {
 public:
  explicit Conversation(std::shared_ptr<const ModelText> words) : words_(std::move(words)) {}

  const std::string& system() const { return system_; }
  std::span<const ChatTurn> turns() const { return turns_; }
  /// How many tokens the last prompt and its answer have.
  std::size_t num_tokens() const;

  /// Sets the system message of all turns; empty: none.
  void set_system(std::string text);
  void ask(std::string question, std::vector<PictureInput> pictures = {});
  void set_answer(std::string text, std::optional<std::vector<TokenId>> drawn, std::string reasoning = {});
  /// Removes the last turn's answer, and the second function the last turn. There must be one.
  void drop_answer();
  void drop_turn();
  /// Replaces all turns.
  void replace_turns(std::vector<ChatTurn> turns);

  /// The prompt for the last turn's answer. Errors: what the chat template refuses.
  Result<ChatPrompt> prompt();

 private:
  /// The lengths of a turn's prompt; prompts of later turns begin with it.
  struct Mark {
    std::size_t num_bytes = 0;
    std::size_t num_tokens = 0;  // 0: the prompt was rendered anew since
  };

  void forget_prompts();
  void take_pictures(std::vector<PromptPicture> rendered, std::size_t kept, std::size_t now);
  Result<void> extend_to(std::size_t turn);
  std::vector<ChatMessage> messages_before(std::size_t turn) const;
  std::optional<std::size_t> end_of_answer(const ChatTurn& turn, std::span<const TokenId> rendered,
                                           std::string_view text) const;

  std::shared_ptr<const ModelText> words_;
  std::string system_;
  std::vector<ChatTurn> turns_;
  std::vector<Mark> marks_;  // one for each turn whose prompt is known
  std::string text_;         // the text of the last of these prompts, as the chat template writes it
  int generation_prompt_tokens_ = 0;
  bool ends_in_reasoning_ = false;
  std::vector<TokenId> tokens_;  // the tokens of that prompt, with answers as they were drawn
  std::vector<PromptPicture> pictures_;
  std::vector<std::string> warnings_;
};

}  // namespace octavo::cli
