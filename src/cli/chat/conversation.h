// A conversation of `octavo chat`, and the prompt that each of its answers continues.
//
// Answers are kept as the tokens that were drawn. The prompt of the next turn is the prompt before, these tokens, and
// what the chat template puts behind an answer; so all but the new part is found in the prefix cache, whatever tokens
// the text of an answer would become. Where the template writes earlier turns differently than before (it drops old
// reasoning, it tells the time), or a token reaches over the end of an answer, the whole is rendered anew. One thread.
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
  std::vector<PictureInput> pictures = {};  // that stand before the question
  bool is_answered = false;
  std::string answer = {};
  std::string reasoning = {};  // that came before the answer, or beside it
  /// Tokens of the answer, without one that only ended it; nothing: only the text is known.
  std::optional<std::vector<TokenId>> drawn = {};
};

class Conversation {
 public:
  explicit Conversation(std::shared_ptr<const ModelText> words) : words_(std::move(words)) {}

  const std::string& system() const { return system_; }
  std::span<const ChatTurn> turns() const { return turns_; }
  /// Tokens of the last prompt and of the answer to it.
  std::size_t num_tokens() const;

  /// The system message, of all turns; empty: none.
  void set_system(std::string text);
  void ask(std::string question, std::vector<PictureInput> pictures = {});
  void set_answer(std::string text, std::optional<std::vector<TokenId>> drawn, std::string reasoning = {});
  /// Takes the last turn's answer back, or the last turn. There must be one.
  void drop_answer();
  void drop_turn();
  /// All turns are forgotten, or replaced.
  void replace_turns(std::vector<ChatTurn> turns);

  /// The prompt of the last turn's answer. Errors: what the chat template refuses.
  Result<ChatPrompt> prompt();

 private:
  /// Lengths of a turn's prompt; prompts of later turns begin with it.
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
  std::vector<Mark> marks_;  // of the turns whose prompts are known
  std::string text_;         // of the last one's prompt, as the chat template writes it
  int generation_prompt_tokens_ = 0;
  bool ends_in_reasoning_ = false;
  std::vector<TokenId> tokens_;  // of that prompt, answers as they were drawn
  std::vector<PromptPicture> pictures_;
  std::vector<std::string> warnings_;
};

}  // namespace octavo::cli
