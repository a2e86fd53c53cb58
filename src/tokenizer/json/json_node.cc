#include "tokenizer/json/json_node.h"

#include <algorithm>

#include "base/text.h"

namespace octavo {

namespace {

std::string described(const boost::json::value& value) {
  if (const auto* text = value.if_string()) return quote(*text);
  if (const auto* number = value.if_int64()) return fmt::format("{}", *number);
  if (const auto* flag = value.if_bool()) return *flag ? "true" : "false";
  if (value.is_null()) return "null";
  if (value.is_array()) return "an array";
  return value.is_object() ? "an object" : "a number";
}

}  // namespace

JsonNode JsonNode::child(const boost::json::value& value, std::string path) const {
  JsonNode node(value, file_);
  node.path_ = std::move(path);
  return node;
}

std::unexpected<Error> JsonNode::refuse(std::string_view found, std::string_view expected) const {
  return fail("{}: {}{}found {}, expected {}", file_, path_, path_.empty() ? "" : ": ", found, expected);
}

std::unexpected<Error> JsonNode::expect(std::string_view expected) const {
  return refuse(described(*value_), expected);
}

Result<std::optional<JsonNode>> JsonNode::find(std::string_view name) const {
  const auto* object = value_->if_object();
  if (object == nullptr) return expect("an object");
  const auto* member = object->if_contains(name);
  if (member == nullptr || member->is_null()) return std::nullopt;
  return child(*member, fmt::format("{}{}{}", path_, path_.empty() ? "" : ".", name));
}

Result<JsonNode> JsonNode::field(std::string_view name) const {
  OCTAVO_TRY(auto member, find(name));
  if (!member) return refuse("no member", fmt::format("{}", quote(name)));
  return std::move(*member);
}

Result<void> JsonNode::expect_only(std::initializer_list<std::string_view> names) const {
  const auto* object = value_->if_object();
  if (object == nullptr) return expect("an object");
  for (const auto& member : *object) {
    const std::string_view name = member.key();
    if (std::ranges::find(names, name) != names.end()) continue;
    return refuse(fmt::format("the member {}", quote(name)), "none but those that are known");
  }
  return {};
}

Result<std::vector<JsonNode>> JsonNode::items() const {
  const auto* array = value_->if_array();
  if (array == nullptr) return expect("an array");
  std::vector<JsonNode> nodes;
  nodes.reserve(array->size());
  for (const auto& value : *array) nodes.push_back(child(value, fmt::format("{}[{}]", path_, nodes.size())));
  return nodes;
}

Result<std::vector<JsonNode>> JsonNode::parts(std::string_view name) const {
  OCTAVO_TRY(const std::string_view type, this->type());
  if (type != "Sequence") return std::vector{*this};
  OCTAVO_TRY_VOID(expect_only({"type", name}));
  OCTAVO_TRY(const JsonNode list, field(name));
  OCTAVO_TRY(const auto items, list.items());
  std::vector<JsonNode> parts;
  for (const JsonNode& item : items) {
    OCTAVO_TRY(auto inner, item.parts(name));
    for (JsonNode& part : inner) parts.push_back(std::move(part));
  }
  return parts;
}

Result<std::vector<JsonNode>> JsonNode::parts_of(std::string_view member, std::string_view name) const {
  OCTAVO_TRY(const auto node, find(member));
  if (!node) return std::vector<JsonNode>{};
  return node->parts(name);
}

Result<std::string_view> JsonNode::text() const {
  const auto* text = value_->if_string();
  if (text == nullptr) return expect("a text");
  return std::string_view(*text);
}

Result<bool> JsonNode::flag() const {
  const auto* flag = value_->if_bool();
  if (flag == nullptr) return expect("true or false");
  return *flag;
}

Result<std::uint32_t> JsonNode::number(std::uint32_t max) const {
  const auto* number = value_->if_int64();
  if (number == nullptr || *number < 0 || *number > max) return expect(fmt::format("a number from 0 to {}", max));
  return static_cast<std::uint32_t>(*number);
}

Result<std::string_view> JsonNode::type() const {
  OCTAVO_TRY(const JsonNode type, field("type"));
  return type.text();
}

Result<bool> JsonNode::flag_of(std::string_view name) const {
  OCTAVO_TRY(const auto member, find(name));
  if (!member) return false;
  return member->flag();
}

Result<std::string_view> JsonNode::text_of(std::string_view name) const {
  OCTAVO_TRY(const auto member, find(name));
  if (!member) return std::string_view();
  return member->text();
}

}  // namespace octavo
