#include "cli/chat/conversation.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/to_size.h"
#include "cli/picture_file.h"

namespace octavo::cli {
namespace {

/// How many tokens spell the first `num_bytes` bytes; nothing: a token reaches across that place.
std::optional<std::size_t> tokens_of_bytes(const ModelText& words, std::span<const TokenId> tokens,
                                           std::size_t num_bytes) {
  std::size_t low = 0, high = tokens.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (words.detokenize(tokens.first(middle)).size() < num_bytes) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (words.detokenize(tokens.first(low)).size() != num_bytes) return std::nullopt;
  return low;
}

}  // namespace

std::size_t Conversation::num_tokens() const {
  if (turns_.empty() || !turns_.back().drawn) return tokens_.size();
  return tokens_.size() + turns_.back().drawn->size();
}

void Conversation::set_system(std::string text) {
  system_ = std::move(text);
  forget_prompts();
}

void Conversation::ask(std::string question, std::vector<PictureInput> pictures) {
  turns_.push_back({.question = std::move(question), .pictures = std::move(pictures)});
}

void Conversation::set_answer(std::string text, std::optional<std::vector<TokenId>> drawn, std::string reasoning) {
  ChatTurn& turn = turns_.back();
  turn.is_answered = true;
  turn.answer = std::move(text);
  turn.drawn = std::move(drawn);
  turn.reasoning = std::move(reasoning);
}

void Conversation::drop_answer() {
  ChatTurn& last = turns_.back();
  last = {.question = std::move(last.question), .pictures = std::move(last.pictures)};
}

void Conversation::drop_turn() {
  turns_.pop_back();
  if (marks_.size() <= turns_.size()) return;
  marks_.pop_back();
  if (marks_.empty() || marks_.back().num_tokens == 0) return forget_prompts();
  text_.resize(marks_.back().num_bytes);
  tokens_.resize(marks_.back().num_tokens);
  std::erase_if(pictures_, [this](const PromptPicture& picture) { return to_size(picture.first) >= tokens_.size(); });
}

void Conversation::replace_turns(std::vector<ChatTurn> turns) {
  turns_ = std::move(turns);
  forget_prompts();
}

Result<ChatPrompt> Conversation::prompt() {
  while (marks_.size() < turns_.size()) OCTAVO_TRY_VOID(extend_to(marks_.size()));
  return ChatPrompt{.tokens = tokens_,
                    .generation_prompt_tokens = generation_prompt_tokens_,
                    .ends_in_reasoning = ends_in_reasoning_,
                    .pictures = pictures_,
                    .warnings = warnings_};
}

void Conversation::forget_prompts() {
  marks_.clear();
  text_.clear();
  tokens_.clear();
  pictures_.clear();
}

/// Takes the pictures of a rendered prompt from its token `kept` on, which is token `now` of this prompt. Earlier
/// pictures are known.
void Conversation::take_pictures(std::vector<PromptPicture> rendered, std::size_t kept, std::size_t now) {
  for (PromptPicture& picture : rendered) {
    if (to_size(picture.first) < kept) continue;
    picture.first += static_cast<std::int32_t>(now) - static_cast<std::int32_t>(kept);
    pictures_.push_back(std::move(picture));
  }
}

/// Extends the prompt of the turn before to that of `turn`.
Result<void> Conversation::extend_to(std::size_t turn) {
  OCTAVO_TRY(ChatPrompt prompt, words_->chat_prompt(messages_before(turn), {}));
  const std::vector<TokenId>& rendered = prompt.tokens;
  std::string text = words_->detokenize(rendered);
  const ChatTurn* before = turn == 0 ? nullptr : &turns_[turn - 1];
  const std::optional<std::size_t> kept =
      before != nullptr && before->drawn ? end_of_answer(*before, rendered, text) : std::nullopt;
  if (kept) {
    tokens_.insert(tokens_.end(), before->drawn->begin(), before->drawn->end());
    take_pictures(std::move(prompt.pictures), *kept, tokens_.size());
    tokens_.insert(tokens_.end(), rendered.begin() + static_cast<std::ptrdiff_t>(*kept), rendered.end());
  } else {
    tokens_ = rendered;
    pictures_ = std::move(prompt.pictures);
    std::ranges::fill(marks_, Mark{});
  }
  text_ = std::move(text);
  warnings_ = std::move(prompt.warnings);
  generation_prompt_tokens_ = prompt.generation_prompt_tokens;
  ends_in_reasoning_ = prompt.ends_in_reasoning;
  marks_.push_back({.num_bytes = text_.size(), .num_tokens = tokens_.size()});
  return {};
}

/// The messages before the answer of `turn`.
std::vector<ChatMessage> Conversation::messages_before(std::size_t turn) const {
  std::vector<ChatMessage> messages;
  messages.reserve(2 * turn + 2);
  if (!system_.empty()) messages.push_back({.role = "system", .content = system_});
  for (std::size_t i = 0; i < turn; ++i) {
    messages.push_back(user_message(turns_[i].question, turns_[i].pictures));
    messages.push_back({.role = "assistant", .content = turns_[i].answer, .reasoning = turns_[i].reasoning});
  }
  messages.push_back(user_message(turns_[turn].question, turns_[turn].pictures));
  return messages;
}

/// The index of the first token of `rendered`, whose text is `text`, after the answer of `turn`; nothing where the text
/// does not begin with the earlier prompt and the answer.
std::optional<std::size_t> Conversation::end_of_answer(const ChatTurn& turn, std::span<const TokenId> rendered,
                                                       std::string_view text) const {
  if (!text.starts_with(text_)) return std::nullopt;
  const std::string_view rest = text.substr(text_.size());
  // With reasoning, all that was drawn must be in the text, with its marks.
  const std::string answer = turn.reasoning.empty() ? turn.answer : words_->detokenize(*turn.drawn);
  // A tokenizer may normalize a text, and a template may trim it, so the tokens are compared as well.
  const auto plain = words_->tokenize(answer, {.add_special = false, .parse_special = false});
  const std::string normalized = plain ? words_->detokenize(*plain) : answer;
  const std::array<std::string_view, 4> forms = {answer, normalized, without_trailing(normalized), trimmed(normalized)};
  for (const std::string_view form : forms) {
    if (!rest.starts_with(form)) continue;
    if (const auto end = tokens_of_bytes(*words_, rendered, text_.size() + form.size())) return end;
  }
  return std::nullopt;
}

}  // namespace octavo::cli
