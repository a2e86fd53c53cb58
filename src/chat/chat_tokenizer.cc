#include "chat/chat_tokenizer.h"

#include <algorithm>
#include <ctime>
#include <iterator>

#include "base/error.h"
#include "base/stop_check.h"
#include "chat/conversation.h"
#include "chat/template_end.h"
#include "tokenizer/prompt_fragments.h"
#include "tokenizer/template_tokens.h"
#include "tokenizer/text_encoder.h"

namespace octavo {

namespace {

/// The local time, which a template may write into its prompt.
std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  return local;
}

}  // namespace

Result<ChatTokenizer> ChatTokenizer::load(const ModelSource& source, std::string_view chat_template,
                                          const TokenizerJson* words, const std::stop_token& stop,
                                          const PictureMarks& marks) {
  // The tokens of pictures are reserved like the template's own, whether it writes them or not.
  const std::string reserved = std::string(marks.place) + std::string(marks.spelled) + std::string(chat_template);
  OCTAVO_TRY(Tokenizer tokenizer, Tokenizer::load(source, reserved, words, stop));
  OCTAVO_TRY_VOID(check_stop(stop, "loading"));
  const std::string_view text =
      chat_template.empty() ? source.get_string(kTemplateKey).value_or(std::string_view()) : chat_template;
  ChatTokenizer chat(std::move(tokenizer), ChatTemplate::load(source, chat_template, marks), std::string(text));
  chat.marks_ = marks;
  OCTAVO_TRY_VOID(chat.find_reasoning());
  chat.find_end();
  OCTAVO_TRY(chat.infill_, InfillMarks::find(source, chat.tokenizer_.vocab()));
  return chat;
}

/// Finds the marks around reasoning. The closing mark stands after text, so its tokens are those after a line break: at
/// a text's beginning an SPM vocabulary would write a space.
Result<void> ChatTokenizer::find_reasoning() {
  const Vocab& vocab = tokenizer_.vocab();
  reasoning_ = ReasoningMarks::find(template_text_, vocab, tokenizer_.template_tokens());
  if (!reasoning_) return {};
  const std::string text = reasoning_->closing_text(), behind_break = "\n" + text;
  for (const std::string& whole : {behind_break, text}) {
    const PromptPart part = {.text = whole, .is_template = true};
    OCTAVO_TRY(const auto ids, tokenizer_.encode_prompt({&part, 1}));
    std::string spelled;
    for (std::size_t i = ids.size(); i > 0; --i) {
      spelled.insert(0, vocab.bytes(ids[i - 1]));
      if (spelled != text) continue;
      reasoning_->set_closing_tokens({ids.begin() + static_cast<std::ptrdiff_t>(i - 1), ids.end()});
      return {};
    }
  }
  return {};
}

void ChatTokenizer::find_end() {
  if (!template_) return;
  const auto end = end_by_template(*template_, named_tokens(), tokenizer_.template_tokens(), tokenizer_.vocab());
  if (end) tokenizer_.add_end_token(*end, "chat template");
}

NamedTokens ChatTokenizer::named_tokens() const {
  const Vocab& vocab = tokenizer_.vocab();
  NamedTokens tokens;
  if (vocab.bos()) tokens.bos = vocab.text(*vocab.bos());
  if (vocab.eos()) tokens.eos = vocab.text(*vocab.eos());
  return tokens;
}

Result<std::vector<PromptPart>> ChatTokenizer::render(std::span<const ChatMessage> messages,
                                                      const ChatTemplateOptions& options) const {
  if (!template_) return std::unexpected(template_.error());
  if (messages.empty()) return fail("a conversation needs at least one message");
  return template_->render(messages, named_tokens(), options, local_time());
}

Result<std::string> ChatTokenizer::render_chat_template(std::span<const ChatMessage> messages,
                                                        const ChatTemplateOptions& options) const {
  OCTAVO_TRY(const std::vector<PromptPart> parts, render(messages, options));
  std::string text;
  for (const PromptPart& part : parts) text += part.text;
  return text;
}

void ChatTokenizer::spell_pictures(std::vector<PromptPart>& parts) const {
  if (marks_.spelled.empty()) return;
  for (PromptPart& part : parts)
    for (std::size_t at = 0; part.is_template && (at = part.text.find(marks_.placeholder, at)) != std::string::npos;
         at += marks_.spelled.size())
      part.text.replace(at, marks_.placeholder.size(), marks_.spelled);
}

/// The number of tokens that the template writes after the last message, about: where its text and the message's form a
/// word together, the word counts for the message.
Result<int> ChatTokenizer::count_generation_prompt(std::span<const PromptPart> parts) const {
  if (parts.empty() || !parts.back().is_template) return 0;
  OCTAVO_TRY(const auto ids, tokenizer_.encode_prompt(parts.last(1)));
  return static_cast<int>(ids.size());
}

Result<ChatPrompt> ChatTokenizer::chat_prompt(std::span<const ChatMessage> messages,
                                              const ChatTemplateOptions& options) const {
  const std::size_t max_tokens = options.max_tokens == 0 ? Tokenizer::kAnyNumber : options.max_tokens;
  if (messages.size() > max_tokens) return too_many_tokens(max_tokens);  // each has at least one token
  // Templates may leave out what assistants say, such as their reasoning, but nothing of the other messages.
  std::vector<std::string_view> contents;
  for (const ChatMessage& message : messages) {
    if (message.role == "assistant") continue;
    contents.emplace_back(message.content);
    std::ranges::transform(message.parts, std::back_inserter(contents), text_of);
  }
  if (tokenizer_.are_too_long(contents, max_tokens)) return too_many_tokens(max_tokens);
  OCTAVO_TRY(std::vector<PromptPart> parts, render(messages, options));
  spell_pictures(parts);
  contents.clear();
  for (const PromptPart& part : parts)
    if (!part.is_template) contents.emplace_back(part.text);
  if (tokenizer_.are_too_long(contents, max_tokens)) return too_many_tokens(max_tokens);
  const std::size_t num_bytes = prompt_bytes(parts);
  if (num_bytes > Tokenizer::kMaxTextBytes) {
    return fail("the conversation has {} bytes; at most {} can be tokenized at once", num_bytes,
                Tokenizer::kMaxTextBytes);
  }
  OCTAVO_TRY(std::vector<TokenId> ids, tokenizer_.encode_prompt(parts, max_tokens, options.work));
  tokenizer_.add_prefix_unless_there(ids);
  if (ids.empty()) return fail("the chat template makes no text of this conversation, expected at least one token");
  if (ids.size() > max_tokens) return too_many_tokens(max_tokens);
  OCTAVO_TRY(int asking, count_generation_prompt(parts));
  asking = std::min(asking, static_cast<int>(ids.size()));
  return ChatPrompt{.tokens = std::move(ids),
                    .generation_prompt_tokens = asking,
                    .ends_in_reasoning = reasoning_ && reasoning_->end_inside(parts)};
}

}  // namespace octavo
