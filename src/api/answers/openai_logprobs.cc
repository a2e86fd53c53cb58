#include "api/answers/openai_logprobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/call/json_writer.h"
#include "api/call/prompt_logprobs.h"
#include "base/utf8.h"

namespace octavo {
namespace {

void append_bytes(std::string& out, std::string_view bytes) {
  out += "\"bytes\":[";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ",", static_cast<unsigned char>(bytes[i]));
  }
  out += ']';
}

void separate(std::string& elements) {
  if (!elements.empty()) elements += ',';
}

/// A word may lose its leading space at the start of a text, so the text of a token is what it adds to the one before.
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
  std::string out = "[null";
  for (std::size_t i = 1; i < prompt.tokens.size(); ++i) {
    out += ",{";
    const auto append = [&](TokenId token, float logprob, int rank) {
      if (!out.ends_with('{')) out += ',';
      fmt::format_to(std::back_inserter(out), R"("{}":{{"logprob":)", token);
      append_json_logprob(out, logprob);
      fmt::format_to(std::back_inserter(out), R"(,"rank":{},"decoded_token":)", rank);
      append_json_string(out, to_valid_utf8(text_behind(prompt.tokens[i - 1], token, words)));
      out += '}';
    };
    append(prompt.tokens[i], prompt.logprobs->logprob(i), prompt.logprobs->rank(i));
    int rank = 0;
    for (const TokenLogprob& other : prompt.logprobs->top(i, num_top)) {
      ++rank;
      if (other.token != prompt.tokens[i]) append(other.token, other.logprob, rank);
    }
    out += '}';
  }
  return out + "]";
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

void AnswerLogprobs::append_token(TokenId token, std::string_view text, float logprob) {
  if (form_ == LogprobForm::kLlama) fmt::format_to(std::back_inserter(content_), "\"id\":{},", token);
  append_json_field(content_, "token", name_of(token, text));
  content_ += ",\"logprob\":";
  append_json_logprob(content_, logprob);
  content_ += ',';
  append_bytes(content_, text);
}

void AnswerLogprobs::write_chat(const Entry& entry) {
  separate(content_);
  content_ += '{';
  append_token(entry.token, entry.text, entry.logprob.value_or(0));
  content_ += ",\"top_logprobs\":[";
  for (std::size_t i = 0; i < entry.top.size(); ++i) {
    content_ += i == 0 ? "{" : ",{";
    append_token(entry.top[i].token, text_after(entry.previous, entry.top[i].token), entry.top[i].logprob);
    content_ += '}';
  }
  content_ += "]}";
}

void AnswerLogprobs::write_completion(const Entry& entry) {
  for (std::string* elements : {&tokens_, &logprobs_, &top_, &offsets_}) separate(*elements);
  append_json_string(tokens_, name_of(entry.token, entry.text));
  offsets_ += std::to_string(entry.offset);
  if (entry.logprob) {
    append_json_logprob(logprobs_, *entry.logprob);
    append_alternatives(entry);
  } else {
    logprobs_ += "null";
    top_ += "null";
  }
}

// An object by name, so two tokens that read alike are one: the likelier. The drawn token is always among them.
void AnswerLogprobs::append_alternatives(const Entry& entry) {
  std::vector<std::string> names;
  const auto append = [&](std::string name, float logprob) {
    if (std::ranges::find(names, name) != names.end()) return;
    if (!names.empty()) top_ += ',';
    append_json_string(top_, name);
    top_ += ':';
    append_json_logprob(top_, logprob);
    names.push_back(std::move(name));
  };
  top_ += '{';
  for (const TokenLogprob& other : entry.top) {
    append(name_of(other.token, text_after(entry.previous, other.token)), other.logprob);
  }
  append(name_of(entry.token, entry.text), *entry.logprob);
  top_ += '}';
}

void AnswerLogprobs::take_entries(std::string& out) {
  if (!content_.empty()) separate(out);
  out += content_;
  content_.clear();
  num_written_ = 0;
}

void AnswerLogprobs::take(std::string& out) {
  if (form_ == LogprobForm::kChat) {
    out += "{\"content\":[";
    out += content_;
    out += "],\"refusal\":null}";
  } else {
    const std::pair<std::string_view, const std::string&> arrays[] = {{"{\"text_offset\":[", offsets_},
                                                                      {"],\"token_logprobs\":[", logprobs_},
                                                                      {"],\"tokens\":[", tokens_},
                                                                      {"],\"top_logprobs\":[", top_}};
    for (const auto& [begin, elements] : arrays) {
      out += begin;
      out += elements;
    }
    out += "]}";
  }
  for (std::string* elements : {&content_, &tokens_, &logprobs_, &top_, &offsets_}) elements->clear();
  num_written_ = 0;
}

}  // namespace octavo
