#include "api/answers/answer_blocks.h"

#include <algorithm>

#include "api/answers/openai_finish.h"
#include "api/answers/typed_events.h"
#include "base/ascii.h"
#include "json/json_document.h"
#include "json/json_writer.h"

namespace octavo {
std::string_view AnswerBlocks::Block::arguments() const {
  return parse_json_object(text, {}) ? std::string_view(text) : "{}";
}

AnswerBlocks::AnswerBlocks(const CompletionCall& call, std::string id, std::shared_ptr<const ModelText> words,
                           LogprobForm form)
    : call_(call), id_(std::move(id)) {
  if (call.tools != nullptr) parts_ = std::make_unique<AnswerParts>(*call.tools, id_);
  if (words && call.num_logprobs >= 0) logprobs_.emplace(std::move(words), form, call.prompts.front().last_token);
}

std::string AnswerBlocks::begin() {
  std::string out;
  write_begin(out);
  return out;
}

std::string AnswerBlocks::on_event(const RequestEvent& event) {
  std::string out;
  if (error_ || done()) return out;
  if (logprobs_) {
    logprobs_->add(event);
    logprobs_->take_entries(new_logprobs_);
    if (event.is_reasoning) new_logprobs_.clear();
  }
  if (event.token >= 0 && keeps_tokens()) {
    tokens_.push_back(event.token);
    held_bytes_ += sizeof(TokenId);
  }
  const auto add_part = [this, &out](const AnswerPart& part) { add(part, out); };
  if (parts_) {
    parts_->push(event, add_part);
  } else {
    add_text(Block::Kind::kReasoning, event.reasoning, out);
    add_text(Block::Kind::kText, event.text, out);
  }
  if (event.finish == FinishReason::kNone) {
    tag_event(out);
    return out;
  }
  finish_ = event.finish;
  stats_ = event.stats;
  mark_cut();
  if (parts_) parts_->finish(add_part);
  error_ = error_of(event.finish, event.stats);
  if (error_) {
    if (call_.stream) write_error(*error_, out);
    return out;
  }
  mark_cut();
  tell_last_logprobs(out);
  close(out);
  return out;
}

void AnswerBlocks::add(const AnswerPart& part, std::string& out) {
  switch (part.kind) {
    case AnswerPart::Kind::kContent: add_text(Block::Kind::kText, part.text, out); break;
    case AnswerPart::Kind::kReasoning: add_text(Block::Kind::kReasoning, part.text, out); break;
    case AnswerPart::Kind::kBegin:
      open({.kind = Block::Kind::kCall, .id = std::string(part.id), .name = std::string(part.text), .tool = part.tool},
           out);
      break;
    case AnswerPart::Kind::kArguments: add_text(Block::Kind::kCall, part.text, out); break;
    case AnswerPart::Kind::kEnd:
      new_logprobs_.clear();
      close(out);
      break;
  }
}

void AnswerBlocks::add_text(Block::Kind kind, std::string_view text, std::string& out) {
  if (kind != Block::Kind::kText && !text.empty()) new_logprobs_.clear();
  if (kind == Block::Kind::kReasoning && !call_.reasoning.is_shown) return;
  const bool is_new = !is_open_ || blocks_.back().kind != kind;
  // White space between two blocks belongs to neither.
  if (is_new && !blocks_.empty()) text = without_leading(text);
  if (text.empty()) return;
  if (is_new) open({.kind = kind}, out);
  Block& block = blocks_.back();
  if (!call_.stream || keeps_stream()) {
    held_bytes_ += text.size();
    block.text += text;
  }
  if (call_.stream) write_delta(block, blocks_.size() - 1, text, out);
  keep_logprobs(block);
}

// Tokens come before the text that they spell: that text may begin a call, or be white space that belongs to no block.
void AnswerBlocks::keep_logprobs(Block& block) {
  if (new_logprobs_.empty()) return;
  held_bytes_ += new_logprobs_.size();
  JsonWriter(block.logprobs).raw(std::exchange(new_logprobs_, {}));
}

void AnswerBlocks::tell_last_logprobs(std::string& out) {
  if (new_logprobs_.empty() || !is_open_ || blocks_.back().kind != Block::Kind::kText) return;
  if (call_.stream) write_delta(blocks_.back(), blocks_.size() - 1, {}, out);
  keep_logprobs(blocks_.back());
}

void AnswerBlocks::open(Block block, std::string& out) {
  close(out);
  held_bytes_ += sizeof(Block) + block.id.size() + block.name.size();
  blocks_.push_back(std::move(block));
  is_open_ = true;
  if (call_.stream) begin_block(blocks_.back(), blocks_.size() - 1, out);
}

void AnswerBlocks::mark_cut() {
  if (is_open_) blocks_.back().is_cut = finish_ != FinishReason::kStop;
}

void AnswerBlocks::close(std::string& out) {
  if (!std::exchange(is_open_, false) || !call_.stream) return;
  end_block(blocks_.back(), blocks_.size() - 1, out);
}

void AnswerBlocks::tag_event(std::string& out) {
  if (out.empty() || tokens_.empty() || !tags_events()) return;
  reopen_typed_event(out).fields("token_ids", take_tokens());
  end_typed_event(out);
}

std::string AnswerBlocks::progress(std::size_t, const PromptProgress&) const { return {}; }

std::string AnswerBlocks::fail(const ApiError& error) {
  error_ = error;
  std::string out;
  write_error(error, out);
  return out;
}

std::string AnswerBlocks::finish() {
  if (!call_.stream) return body();
  std::string out;
  write_end(out);
  tag_event(out);
  return out;
}

}  // namespace octavo
