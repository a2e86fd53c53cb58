#include "constraint/schema/json_tree.h"

#include <algorithm>
#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <ranges>

#include "base/text.h"
#include "constraint/schema/decimal.h"
#include "json/json_handler.h"

namespace octavo {

namespace json = boost::json;

/// Adds each value as it is read. The handler of Boost.JSON's parser.
class JsonTreeBuilder : public JsonHandler {
 public:
  using Kind = JsonTree::Kind;

  explicit JsonTreeBuilder(JsonTree& tree) : nodes_(tree.nodes_) {}

  const std::string& refusal() const { return refusal_; }

  bool on_object_begin(ErrorCode& error) { return begin(Kind::kObject, error); }
  bool on_array_begin(ErrorCode& error) { return begin(Kind::kArray, error); }
  bool on_object_end(std::size_t, ErrorCode& error) {
    JsonTree::Node& object = nodes_[open_.back()];
    open_.pop_back();
    object.by_key = object.children;
    const auto key_of = [this](JsonTree::NodeId id) -> const std::string& { return nodes_[id].key; };
    std::ranges::sort(object.by_key, {}, key_of);
    const auto twice = std::ranges::adjacent_find(object.by_key, {}, key_of);
    return twice == object.by_key.end() || refuse(fmt::format("found the key {} twice", quote(key_of(*twice))), error);
  }
  bool on_array_end(std::size_t, ErrorCode&) {
    open_.pop_back();
    return true;
  }
  bool on_key_part(json::string_view part, std::size_t, ErrorCode&) { return take(part); }
  bool on_key(json::string_view part, std::size_t, ErrorCode&) {
    take(part);
    key_ = std::move(text_);
    text_.clear();
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, ErrorCode&) { return take(part); }
  bool on_string(json::string_view part, std::size_t, ErrorCode& error) {
    return take(part) && add(Kind::kString, error);
  }
  bool on_number_part(json::string_view part, ErrorCode&) { return take(part); }
  bool on_int64(std::int64_t, json::string_view part, ErrorCode& error) {
    return take(part) && add(Kind::kNumber, error);
  }
  bool on_uint64(std::uint64_t, json::string_view part, ErrorCode& error) {
    return take(part) && add(Kind::kNumber, error);
  }
  bool on_double(double, json::string_view part, ErrorCode& error) { return take(part) && add(Kind::kNumber, error); }
  bool on_bool(bool value, ErrorCode& error) { return add(value ? Kind::kTrue : Kind::kFalse, error); }
  bool on_null(ErrorCode& error) { return add(Kind::kNull, error); }

 private:
  bool take(json::string_view part) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool refuse(std::string message, ErrorCode& error) {
    refusal_ = std::move(message);
    error = json::error::exception;  // anything that ends the parser
    return false;
  }
  bool begin(Kind kind, ErrorCode& error) {
    if (!add(kind, error)) return false;
    open_.push_back(static_cast<JsonTree::NodeId>(nodes_.size() - 1));
    return true;
  }
  bool add(Kind kind, ErrorCode& error) {
    if (nodes_.size() == JsonTree::kLimits.max_values)
      return refuse(fmt::format("found more than {} values", JsonTree::kLimits.max_values), error);
    JsonTree::Node node{.kind = kind, .key = std::move(key_), .text = std::move(text_)};
    key_.clear();
    text_.clear();
    if (!open_.empty()) {
      node.parent = open_.back();
      node.index = static_cast<std::uint32_t>(nodes_[node.parent].children.size());
      nodes_[node.parent].children.push_back(static_cast<JsonTree::NodeId>(nodes_.size()));
    }
    nodes_.push_back(std::move(node));
    return true;
  }

  std::deque<JsonTree::Node>& nodes_;
  std::vector<JsonTree::NodeId> open_;
  std::string key_, text_;
  std::string refusal_;
};

Result<JsonTree> JsonTree::parse(std::string_view text) {
  if (text.size() > kLimits.max_bytes)
    return fail("found {} bytes of JSON, expected at most {}", text.size(), kLimits.max_bytes);
  JsonTree tree;
  json::parse_options options;
  options.max_depth = kLimits.max_depth;
  json::basic_parser<JsonTreeBuilder> parser(options, tree);
  JsonHandler::ErrorCode error;
  const std::size_t used = read_whole_json(parser, text, error);
  if (!parser.handler().refusal().empty()) return fail("{}", parser.handler().refusal());
  if (error == json::error::too_deep) return fail("found JSON nested deeper than {} levels", kLimits.max_depth);
  if (error) return fail("found no JSON: {} near byte {} of {}", error.message(), used, text.size());
  return tree;
}

std::optional<JsonTree::NodeId> JsonTree::find(NodeId object, std::string_view key) const {
  const std::vector<NodeId>& by_key = nodes_[object].by_key;
  const auto key_of = [this](NodeId id) { return std::string_view(nodes_[id].key); };
  const auto found = std::ranges::lower_bound(by_key, key, {}, key_of);
  if (found == by_key.end() || key_of(*found) != key) return std::nullopt;
  return *found;
}

std::string JsonTree::pointer(NodeId id) const {
  std::vector<NodeId> path;
  for (; id != kRoot; id = nodes_[id].parent) path.push_back(id);
  std::string pointer = "#";
  for (const NodeId step : path | std::views::reverse) {
    if (pointer.size() > kMaxShownBytes) break;  // printable() shows no more
    pointer += '/';
    if (!is(nodes_[step].parent, Kind::kObject)) {
      pointer += std::to_string(nodes_[step].index);
      continue;
    }
    for (const char c : std::string_view(nodes_[step].key).substr(0, kMaxShownBytes + 1))
      pointer += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return printable(pointer);
}

std::optional<JsonTree::NodeId> JsonTree::follow(NodeId from, std::string_view pointer) const {
  while (pointer.starts_with('/')) {
    const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
    std::string key;
    for (std::size_t i = 1; i < end; ++i) {
      const bool is_escaped = pointer[i] == '~' && i + 1 < end;
      key += !is_escaped ? pointer[i] : pointer[++i] == '1' ? '/' : '~';
    }
    pointer.remove_prefix(end);
    if (is(from, Kind::kArray)) {
      std::size_t index = nodes_[from].children.size();
      const auto [rest, error] = std::from_chars(key.data(), key.data() + key.size(), index);
      if (error != std::errc() || rest != key.data() + key.size() || index >= nodes_[from].children.size())
        return std::nullopt;
      from = nodes_[from].children[index];
    } else {
      const auto member = find(from, key);
      if (!member) return std::nullopt;
      from = *member;
    }
  }
  if (!pointer.empty()) return std::nullopt;
  return from;
}

JsonTree::NodeId JsonTree::add_string(std::string_view text) {
  nodes_.push_back({.kind = Kind::kString, .text = std::string(text)});
  return static_cast<NodeId>(nodes_.size() - 1);
}

void JsonTree::remove_members(NodeId object, const std::function<bool(NodeId)>& is_out) {
  std::erase_if(nodes_[object].children, is_out);
  std::erase_if(nodes_[object].by_key, is_out);
}

bool JsonTree::equal(NodeId a, NodeId b, CompileWork& work) const {
  const Node &left = nodes_[a], &right = nodes_[b];
  if (a == b) return true;
  if (!work.add()) return false;
  if (left.kind != right.kind || left.children.size() != right.children.size()) return false;
  switch (left.kind) {
    case Kind::kString: return left.text == right.text;
    case Kind::kNumber: {
      work.add((left.text.size() + right.text.size()) / 4);
      const auto x = Decimal::parse(left.text), y = Decimal::parse(right.text);
      return x && y ? *x == *y : left.text == right.text;
    }
    case Kind::kArray:
    case Kind::kObject: return equal_children(a, b, work);
    default: return true;
  }
}

bool JsonTree::equal_children(NodeId a, NodeId b, CompileWork& work) const {
  const bool is_object = is(a, Kind::kObject);
  const std::vector<NodeId>& left = is_object ? nodes_[a].by_key : nodes_[a].children;
  const std::vector<NodeId>& right = is_object ? nodes_[b].by_key : nodes_[b].children;
  work.add(left.size());
  for (std::size_t i = 0; i < left.size(); ++i)
    if (nodes_[left[i]].key != nodes_[right[i]].key && is_object) return false;
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!equal(left[i], right[i], work)) return false;
  return true;
}

}  // namespace octavo
