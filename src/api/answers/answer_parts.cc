#include "api/answers/answer_parts.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/hex.h"

namespace octavo {
namespace {

constexpr std::size_t kIdDigits = 24;

bool is_of_id(char c) { return is_letter_or_digit(c) || std::string_view("_-.:").contains(c); }

/// The id of a call: the model's own where clients can give it back, else one that no other call has.
std::string id_of(const ToolCallEvent& event, std::string_view answer) {
  if (!event.id.empty() && std::ranges::all_of(event.id, is_of_id)) return event.id;
  const std::string text = fmt::format("{}\n{}", answer, event.index);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return "call_" + hex_digits(std::as_bytes(std::span(digest).first(kIdDigits / 2)));
}

}  // namespace

void AnswerParts::push(const RequestEvent& event, const Sink& sink) {
  if (!event.reasoning.empty())
    for (const ToolCallEvent& part : parser_.push(event.reasoning, ToolCallParser::Channel::kReasoning))
      tell(part, sink);
  if (!event.text.empty())
    for (const ToolCallEvent& part : parser_.push(event.text, ToolCallParser::Channel::kContent)) tell(part, sink);
}

void AnswerParts::finish(const Sink& sink) {
  for (const ToolCallEvent& part : parser_.finish()) tell(part, sink);
}

void AnswerParts::tell(const ToolCallEvent& event, const Sink& sink) {
  if (event.kind == AnswerPart::Kind::kBegin) return begin(event, sink);
  const bool is_custom = tool_ != nullptr && tool_->is_custom;
  const bool is_call = event.kind == AnswerPart::Kind::kArguments || event.kind == AnswerPart::Kind::kEnd;
  AnswerPart part{.kind = event.kind, .index = event.index, .text = event.text};
  if (!is_call) return sink(part);
  part.tool = tool_;
  if (!is_custom) return sink(part);
  const bool is_end = event.kind == AnswerPart::Kind::kEnd;
  const std::string input = is_end ? input_.finish() : input_.push(event.text);
  part.kind = AnswerPart::Kind::kArguments;
  part.text = input;
  if (!input.empty()) sink(part);
  if (is_end) sink({.kind = AnswerPart::Kind::kEnd, .index = event.index, .tool = tool_});
}

void AnswerParts::begin(const ToolCallEvent& event, const Sink& sink) {
  const auto known = calling_.client_tools.find(event.text);
  tool_ = known == calling_.client_tools.end() ? nullptr : &known->second;
  input_ = {};
  const std::string id = id_of(event, answer_);
  sink({.kind = event.kind,
        .index = event.index,
        .text = tool_ == nullptr ? std::string_view(event.text) : tool_->name,
        .id = id,
        .tool = tool_});
}

}  // namespace octavo
