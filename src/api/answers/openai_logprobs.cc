#include "api/answers/openai_logprobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/call/prompt_logprobs.h"
#include "base/utf8.h"

namespace octavo {
namespace {

/// The number that is written: OpenAI's -9999 for whatever is less likely, and for NaN.
float told(float logprob) {
  constexpr float kUnlikely = -9999;
  return logprob > kUnlikely ? logprob : kUnlikely;
}

/// The text that a token adds after the one before: at the start of a text, a word may lose its leading space.
std::string text_behind(TokenId previous, TokenId token, const ModelText& words) {
  if (previous < 0) return words.detokenize({&token, 1});
  const TokenId both[] = {previous, token};
  return words.detokenize(both).substr(words.detokenize({&previous, 1}).size());
}

}  // namespace

std::string token_name(std::string_view bytes, bool is_chat) {
  std::string name;
  bool is_text = true;
  for (std::size_t i = 0; i < bytes.size();) {
    const Utf8Step step = next_utf8_step(bytes.substr(i));
    if (step.kind == Utf8Step::Kind::kCharacter) {
      name.append(bytes, i, step.length);
    } else {
      is_text = false;
      for (const char c : bytes.substr(i, step.length)) {
        fmt::format_to(std::back_inserter(name), "\\x{:02x}", static_cast<unsigned char>(c));
      }
    }
    i += step.length;
  }
  return is_text || is_chat ? name : "bytes:" + name;
}

void CharacterCount::add(std::string_view bytes) {
  if (!begun_.empty()) --value_;
  const std::string text = begun_ + std::string(bytes);
  begun_.clear();
  for (std::size_t i = 0; i < text.size(); ++value_) {
    const Utf8Step step = next_utf8_step(std::string_view(text).substr(i));
    if (step.kind == Utf8Step::Kind::kIncomplete) begun_ = text.substr(i);
    i += step.length;
  }
}

std::string prompt_logprobs_json(const CallPrompt& prompt, int num_top, const ModelText& words) {
  std::string out;
  JsonWriter json(out);
  json.begin_array();
  for (std::size_t i = 0; i < prompt.tokens.size(); ++i) {
    if (!prompt.logprobs->has(i)) {
      json.value(nullptr);
      continue;
    }
    json.begin_object();
    const auto write = [&](TokenId token, float logprob, int rank) {
      json.key(fmt::format_int(token).c_str())
          .object("logprob", told(logprob), "rank", rank, "decoded_token",
                  to_valid_utf8(text_behind(prompt.tokens[i - 1], token, words)));
    };
    write(prompt.tokens[i], prompt.logprobs->logprob(i), prompt.logprobs->rank(i));
    int rank = 0;
    for (const TokenLogprob& other : prompt.logprobs->top(i, num_top)) {
      ++rank;
      if (other.token != prompt.tokens[i]) write(other.token, other.logprob, rank);
    }
    json.end_object();
  }
  json.end_array();
  return out;
}

std::string AnswerLogprobs::text_after(TokenId previous, TokenId token) const {
  return text_behind(previous, token, *words_);
}

std::string AnswerLogprobs::name_of(TokenId token, std::string_view text) const {
  if (names_ == TokenNaming::kIds) return fmt::format("token_id:{}", token);
  return token_name(text, form_ != LogprobForm::kCompletion);
}

void AnswerLogprobs::add_prompt(const CallPrompt& prompt, int num_top) {
  const std::size_t num_bytes = words_->detokenize(prompt.tokens).size();
  // Tokens that the text does not spell, such as BOS, take no room in it.
  const std::size_t unspelled = num_bytes - std::min(num_bytes, prompt.text.size());
  std::size_t begin = 0;
  for (std::size_t i = 0; i < prompt.tokens.size(); ++i) {
    Entry entry{.previous = i == 0 ? -1 : prompt.tokens[i - 1],
                .token = prompt.tokens[i],
                .text = {},
                .logprob = {},
                .top = {},
                .offset = num_characters_.value()};
    entry.text = text_after(entry.previous, entry.token);
    if (i > 0) {
      const std::span<const TokenLogprob> top = prompt.logprobs->top(i, num_top);
      entry.logprob = prompt.logprobs->logprob(i);
      entry.top.assign(top.begin(), top.end());
    }
    const std::size_t hidden = std::min(entry.text.size(), unspelled - std::min(unspelled, begin));
    num_characters_.add(std::string_view(entry.text).substr(hidden));
    begin += entry.text.size();
    write(entry);
  }
  num_characters_.cut();
}

void AnswerLogprobs::add(const RequestEvent& event) {
  if (event.token >= 0) push(event);
  num_shown_ += event.bytes.size() + event.other_bytes;
  const bool ended = event.finish != FinishReason::kNone;
  const bool cut = event.finish == FinishReason::kStop;
  while (!pending_.empty()) {
    const Entry& entry = pending_.front();
    const bool shown = cut ? entry.begin < num_shown_ : ended || entry.end <= num_shown_;
    if (!shown) break;
    write(entry);
    pending_.pop_front();
  }
}

void AnswerLogprobs::push(const RequestEvent& event) {
  Entry entry{.previous = previous_,
              .token = event.token,
              .text = text_after(previous_, event.token),
              .logprob = event.logprob,
              .top = event.top_logprobs,
              .offset = num_characters_.value(),
              .begin = num_bytes_};
  if (event.is_text) {
    num_bytes_ += entry.text.size();
    num_characters_.add(entry.text);
  }
  entry.end = num_bytes_;
  previous_ = event.token;
  pending_.push_back(std::move(entry));
}

void AnswerLogprobs::write(const Entry& entry) {
  ++num_written_;
  if (form_ == LogprobForm::kCompletion) {
    write_completion(entry);
  } else {
    write_chat(entry);
  }
}

void AnswerLogprobs::write_token(TokenId token, std::string_view text, float logprob) {
  const std::span bytes(reinterpret_cast<const unsigned char*>(text.data()), text.size());
  JsonWriter json(content_);
  if (form_ == LogprobForm::kLlama) json.fields("id", token);
  json.fields("token", name_of(token, text), "logprob", told(logprob), "bytes", bytes);
}

void AnswerLogprobs::write_chat(const Entry& entry) {
  JsonWriter json(content_);
  json.begin_object();
  write_token(entry.token, entry.text, entry.logprob.value_or(0));
  json.key("top_logprobs").begin_array();
  for (const TokenLogprob& other : entry.top) {
    json.begin_object();
    write_token(other.token, text_after(entry.previous, other.token), other.logprob);
    json.end_object();
  }
  json.end_array().end_object();
}

void AnswerLogprobs::write_completion(const Entry& entry) {
  JsonWriter(tokens_).value(name_of(entry.token, entry.text));
  JsonWriter(offsets_).value(entry.offset);
  if (entry.logprob) {
    JsonWriter(logprobs_).value(told(*entry.logprob));
    write_alternatives(entry);
  } else {
    JsonWriter(logprobs_).value(nullptr);
    JsonWriter(top_).value(nullptr);
  }
}

// An object of alternatives by their text: of two tokens with one text the likelier counts. The drawn token is in it.
void AnswerLogprobs::write_alternatives(const Entry& entry) {
  JsonWriter json(top_);
  std::vector<std::string> names;
  const auto write = [&](std::string name, float logprob) {
    if (std::ranges::find(names, name) != names.end()) return;
    json.escaped_key(name).value(told(logprob));
    names.push_back(std::move(name));
  };
  json.begin_object();
  for (const TokenLogprob& other : entry.top)
    write(name_of(other.token, text_after(entry.previous, other.token)), other.logprob);
  write(name_of(entry.token, entry.text), *entry.logprob);
  json.end_object();
}

void AnswerLogprobs::take_entries(std::string& out) {
  JsonWriter(out).raw(content_);
  content_.clear();
  num_written_ = 0;
}

void AnswerLogprobs::take(JsonWriter json) {
  if (form_ == LogprobForm::kChat) {
    json.object("content", JsonElements{content_}, "refusal", nullptr);
  } else {
    json.object("text_offset", JsonElements{offsets_}, "token_logprobs", JsonElements{logprobs_}, "tokens",
                JsonElements{tokens_}, "top_logprobs", JsonElements{top_});
  }
  for (std::string* elements : {&content_, &tokens_, &logprobs_, &top_, &offsets_}) elements->clear();
  num_written_ = 0;
}

}  // namespace octavo
