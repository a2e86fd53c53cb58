#include "server/answer_blocks.h"

#include <algorithm>
#include <utility>

#include "server/json_body.h"
#include "server/openai_finish.h"
#include "server/tool_calling.h"

namespace octavo::server {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

}  // namespace

std::string_view AnswerBlocks::Block::arguments() const {
  return parse_json_object(text, {}) ? std::string_view(text) : "{}";
}

AnswerBlocks::AnswerBlocks(const CompletionCall& call, std::string id) : call_(call), id_(std::move(id)) {
  if (call.tools != nullptr)
    parser_ = std::make_unique<ToolCallParser>(*call.tools->format, call.tools->tools, call.tools->is_single);
}

std::string AnswerBlocks::begin() {
  std::string out;
  write_begin(out);
  return out;
}

std::string AnswerBlocks::on_event(std::size_t, const OwnedEvent& event) {
  std::string out;
  if (error_ || done()) return out;
  const auto add_all = [&](std::string_view text, ToolCallParser::Channel channel) {
    for (const ToolCallEvent& part : parser_->push(text, channel)) add(part, out);
  };
  if (parser_) {
    if (!event.reasoning.empty()) add_all(event.reasoning, ToolCallParser::Channel::kReasoning);
    if (!event.text.empty()) add_all(event.text, ToolCallParser::Channel::kContent);
  } else {
    add_text(Block::Kind::kReasoning, event.reasoning, out);
    add_text(Block::Kind::kText, event.text, out);
  }
  if (event.finish == FinishReason::kNone) return out;
  finish_ = event.finish;
  stats_ = event.stats;
  mark_cut();
  if (parser_) {
    for (const ToolCallEvent& part : parser_->finish()) add(part, out);
  }
  error_ = error_of(event.finish);
  if (error_) {
    if (call_.stream) write_error(*error_, out);
    return out;
  }
  mark_cut();
  close(out);
  return out;
}

void AnswerBlocks::add(const ToolCallEvent& event, std::string& out) {
  switch (event.kind) {
    case ToolCallEvent::Kind::kContent: add_text(Block::Kind::kText, event.text, out); break;
    case ToolCallEvent::Kind::kReasoning: add_text(Block::Kind::kReasoning, event.text, out); break;
    case ToolCallEvent::Kind::kBegin:
      ++num_calls_;
      open({.kind = Block::Kind::kCall, .id = tool_call_id(event, id_), .name = event.text}, out);
      break;
    case ToolCallEvent::Kind::kArguments: add_text(Block::Kind::kCall, event.text, out); break;
    case ToolCallEvent::Kind::kEnd: close(out); break;
  }
}

void AnswerBlocks::add_text(Block::Kind kind, std::string_view text, std::string& out) {
  if (kind == Block::Kind::kReasoning && !call_.reasoning.is_shown) return;
  const bool is_new = !is_open_ || blocks_.back().kind != kind;
  // White space between blocks belongs to none.
  if (is_new && !blocks_.empty()) text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  if (text.empty()) return;
  if (is_new) open({.kind = kind}, out);
  Block& block = blocks_.back();
  if (!call_.stream || keeps_stream()) {
    held_bytes_ += text.size();
    block.text += text;
  }
  if (call_.stream) write_delta(block, blocks_.size() - 1, text, out);
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
  return out;
}

}  // namespace octavo::server
