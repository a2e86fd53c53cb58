#include "constraint/schema/schema_report.h"

#include <algorithm>

#include "base/text.h"

namespace octavo {
namespace {

std::string described(const JsonTree::Node& node) {
  switch (node.kind) {
    case JsonTree::Kind::kNull: return "null";
    case JsonTree::Kind::kFalse: return "false";
    case JsonTree::Kind::kTrue: return "true";
    case JsonTree::Kind::kNumber: return fmt::format("the number {}", printable(node.text));
    case JsonTree::Kind::kString: return fmt::format("the text {}", quote(node.text));
    case JsonTree::Kind::kArray: return fmt::format("an array of {}", node.children.size());
    case JsonTree::Kind::kObject: return "an object";
  }
  return "a value";
}

}  // namespace

void SchemaReport::cannot_hold(JsonTree::NodeId keyword, std::string_view why) {
  ++num_found_;
  if (trial_ != nullptr) {
    trial_->failed_ = true;
  } else if (is_strict_ && !failed()) {
    fail_with(fmt::format("{}: {}", tree_.pointer(keyword), why));
  } else if (!is_strict_) {
    warn(keyword, why, "; it is not enforced");
  }
}

void SchemaReport::narrows(JsonTree::NodeId keyword, std::string_view how) {
  ++num_found_;
  if (trial_ == nullptr) {
    warn(keyword, how, "");
  } else if (trial_->narrowed_.size() < kMaxWarnings) {
    trial_->narrowed_.emplace_back(keyword, how);
  }
}

void SchemaReport::Trial::keep() {
  Trial* const inner = std::exchange(report_.trial_, outer_);
  for (const auto& [keyword, how] : narrowed_) report_.narrows(keyword, how);
  report_.trial_ = inner;
}

void SchemaReport::refuse(JsonTree::NodeId keyword, std::string_view expected) {
  if (failed()) return;
  fail_with(fmt::format("{}: found {}, expected {}", tree_.pointer(keyword), described(tree_.at(keyword)), expected));
}

void SchemaReport::fail_with(std::string message) {
  ++num_found_;
  if (!error_) error_ = Error{std::move(message)};
}

void SchemaReport::warn(JsonTree::NodeId keyword, std::string_view what, std::string_view end) {
  if (warnings_.size() >= kMaxWarnings) return;
  std::string message = fmt::format("{}: {}{}", tree_.pointer(keyword), what, end);
  if (std::ranges::find(warnings_, message) != warnings_.end()) return;
  if (warnings_.size() + 1 == kMaxWarnings) message = "more of the schema is not enforced as it stands";
  warnings_.push_back(std::move(message));
}

}  // namespace octavo
