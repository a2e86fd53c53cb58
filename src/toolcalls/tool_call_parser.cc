#include "toolcalls/tool_call_parser.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::span<const std::string_view> opens_of(const ToolFormat& format) {
  const auto end = std::ranges::find(format.opens, std::string_view());
  return {format.opens.begin(), end};
}

}  // namespace

ToolCallParser::ToolCallParser(const ToolFormat& format, const ToolSet& tools, bool first_only, Sure sure)
    : format_(format),
      first_only_(first_only),
      sure_(sure),
      finder_(opens_of(format)),
      reader_(tools, first_only ? 1 : CallReader::kMaxCalls) {}

std::span<const ToolCallEvent> ToolCallParser::push(std::string_view text, Channel channel) {
  reader_.events().clear();
  if (channel != channel_ && !text.empty()) change_channel(channel);
  for (const char c : text) take(c);
  reader_.flush();
  return reader_.events();
}

std::span<const ToolCallEvent> ToolCallParser::finish() {
  reader_.events().clear();
  is_ending_ = true;
  change_channel(channel_);
  reader_.flush();
  return reader_.events();
}

/// Holds back what may be the beginning of a mark's character, where the end drops a mark that it cuts.
void ToolCallParser::take(char c) {
  if (sure_ == Sure::kNothing) return add(c);
  if (c != kReplacement[replaced_.size() % kReplacement.size()]) release_replaced();
  if (c == kReplacement[replaced_.size() % kReplacement.size()]) {
    replaced_.push_back(c);
  } else {
    add(c);
  }
}

void ToolCallParser::release_replaced() {
  for (const char c : std::exchange(replaced_, {})) add(c);
}

/// Changes the channel: nothing that one channel has begun goes on in the other.
void ToolCallParser::change_channel(Channel channel) {
  release_replaced();
  while (reading_) {
    reader_.finish();
    end_reading(true);
    while (!rescanned_.empty()) step();
  }
  finder_.restart();
  show(std::exchange(held_, {}));
  channel_ = channel;
}

void ToolCallParser::add(char c) {
  rescanned_.push_back(c);
  while (!rescanned_.empty()) step();
}

void ToolCallParser::step() {
  const char c = rescanned_.front();
  rescanned_.pop_front();
  if (!reading_) {
    if (!is_over()) add_text(c);
    return;
  }
  const bool is_taken = reader_.push(c);
  if (!is_taken) rescanned_.push_front(c);
  if (reading_.done()) end_reading(false);
}

// After a call that was read, what its format could still go on with is a mark that the answer's limit has cut.
void ToolCallParser::end_reading(bool is_cut) {
  Reading<bool> reading = std::move(reading_);
  if (reader_.is_in_call()) reader_.end();
  const bool is_read = reading.take();
  if (reader_.num_calls() > 0) follows_call_ = true;
  const CallReader::Held held = reader_.release_held();
  if ((is_cut || is_ending_) && is_sure_) return;
  if (((is_read || is_cut) && held.num_opened == 0) || is_over())
    return;  // marks that open and close around nothing are text
  show(std::string_view(held.bytes).substr(0, held.num_opened));
  rescanned_.insert(rescanned_.begin(), held.bytes.begin() + static_cast<std::ptrdiff_t>(held.num_opened),
                    held.bytes.end());
}

bool ToolCallParser::may_open() const {
  if (channel_ == Channel::kReasoning) return format_.in_reasoning;
  return !format_.at_beginning || !has_content_;
}

bool ToolCallParser::drops_text() const {
  return is_ending_ && channel_ == Channel::kContent && (sure_ == Sure::kAll || is_sure_);
}

/// Whether the mark surely opens a call. A mark of another form than the one that the constraint writes may be text.
bool ToolCallParser::is_sure(std::size_t mark) const {
  if (channel_ == Channel::kReasoning || sure_ == Sure::kNothing) return false;
  const std::string_view form = format_.form.open.empty() ? format_.form.call : format_.form.open;
  return sure_ == Sure::kAll || (!format_.only_known && format_.opens[mark].starts_with(form.front()));
}

void ToolCallParser::add_text(char c) {
  held_.push_back(c);
  const bool may = may_open();
  const int mark = finder_.push(c, [may](std::size_t) { return may; });
  if (mark >= 0) {
    open(to_size(mark));
  } else {
    settle();
  }
}

void ToolCallParser::open(std::size_t mark) {
  const std::size_t before = held_.size() - format_.opens[mark].size();
  if (!std::all_of(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(before), is_white_space)) {
    show(std::string_view(held_).substr(0, before));
    held_.erase(0, before);
  }
  reader_.open(std::exchange(held_, {}), format_.only_known || channel_ == Channel::kReasoning);
  is_sure_ = is_sure(mark);
  reading_ = format_.read(reader_, mark);
  reading_.start();
  if (reading_.done()) end_reading(false);
}

/// Shows all that can neither open a call nor stand in front of one.
void ToolCallParser::settle() {
  for (;;) {
    const std::size_t of_mark = finder_.held();
    std::size_t kept = of_mark;
    while (kept < held_.size() && kept - of_mark < kMaxHeldSpace && is_white_space(held_[held_.size() - kept - 1]))
      ++kept;
    if (kept == held_.size()) return;
    show(std::string_view(held_).substr(0, held_.size() - kept));
    held_.erase(0, held_.size() - kept);
    if (may_open()) return;
    finder_.restart();  // content has begun with the text that was shown
  }
}

void ToolCallParser::show(std::string_view text) {
  if (drops_text()) return;
  if (follows_call_) text = without_leading(text);
  if (text.empty()) return;
  follows_call_ = false;
  const bool is_content = channel_ == Channel::kContent;
  if (is_content) has_content_ = has_content_ || !std::ranges::all_of(text, is_white_space);
  const auto kind = is_content ? ToolCallEvent::Kind::kContent : ToolCallEvent::Kind::kReasoning;
  std::vector<ToolCallEvent>& events = reader_.events();
  if (events.empty() || events.back().kind != kind) events.push_back({.kind = kind});
  events.back().text += text;
}

}  // namespace octavo
