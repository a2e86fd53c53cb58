#include "constraint/schema/schema_members.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace octavo {
namespace {

constexpr std::uint64_t kStepsOfName = 32;   // each name is looked up several times
constexpr std::size_t kMaxNameClasses = 64;  // classes that patterns tell apart

/// Keeps the first of equal names.
void drop_repeated(std::vector<std::string>& names) {
  std::map<std::string_view, std::size_t> first;
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (first.try_emplace(names[i], i).second) kept.push_back(names[i]);
  names = std::move(kept);
}

}  // namespace

std::optional<ObjectMembers> SchemaMembers::find(const SchemaFacts& way) {
  std::vector<std::string> names = names_of(way);
  if (!parts_.work().add(names.size() * kStepsOfName)) return std::nullopt;
  drop_repeated(names);
  auto named = named_members(way, names);
  if (!named) return std::nullopt;
  ObjectMembers members{.named = std::move(*named)};
  if (!is_closed(way, members.named.size())) members.others = other_members(way, names);
  return members;
}

/// All names that the way's schemas have, in order; some come several times.
std::vector<std::string> SchemaMembers::names_of(const SchemaFacts& way) const {
  std::vector<std::string> names;
  for (const NodeId layer : way.object_layers) {
    const auto properties = parts_.tree.find(layer, "properties");
    if (properties)
      for (const NodeId property : parts_.tree.at(*properties).children) names.push_back(parts_.tree.at(property).key);
  }
  for (const MemberTest& test : way.member_tests) names.emplace_back(test.name);
  for (const NameList* list : {&way.required, &way.forbidden})
    names.insert(names.end(), list->names().begin(), list->names().end());
  return names;
}

std::optional<std::vector<NamedMember>> SchemaMembers::named_members(const SchemaFacts& way,
                                                                     std::span<const std::string> names) {
  SchemaExpander::MemberSchemas schemas_by_name(parts_.expander, way);
  std::vector<NamedMember> members;
  for (const std::string& name : names) {
    if (parts_.report.failed()) return std::nullopt;
    SchemaSet schemas = schemas_by_name.of(name);
    const bool is_required = way.required.contains(name);
    const bool may_be = !way.forbidden.contains(name) && !is_false(parts_.tree, schemas) && may_be_named(way, name);
    if (is_required && !may_be) return std::nullopt;
    if (may_be) members.push_back({.name = name, .schemas = std::move(schemas), .is_required = is_required});
  }
  return members;
}

bool SchemaMembers::may_be_named(const SchemaFacts& way, const std::string& name) {
  if (way.name_schemas.empty()) return true;
  const auto known = name_nodes_.find(name);
  const NodeId node = known != name_nodes_.end()
                          ? known->second
                          : name_nodes_.emplace(name, parts_.tree.add_string(name)).first->second;
  SchemaSet schemas = way.name_schemas;
  const Verdict verdict = parts_.validator.holds(schemas, node);
  if (verdict == Verdict::kUnknown)
    parts_.report.cannot_hold(schemas.front().node, "it cannot be told whether the names fulfil it");
  return verdict != Verdict::kNo;
}

std::vector<OtherMembers> SchemaMembers::other_members(const SchemaFacts& way, std::span<const std::string> names) {
  std::vector<OtherMembers> others = by_patterns(way);
  if (others.empty()) return others;
  std::optional<CharacterDfa> allowed;
  if (!names.empty()) {
    allowed = parts_.texts.all_but(names);
    if (!allowed && !way.object_layers.empty())
      parts_.report.cannot_hold(way.object_layers.front(), "the names of the members take too many states");
  }
  if (!way.name_schemas.empty()) {
    SchemaSet schemas = way.name_schemas;
    make_set(schemas);
    const auto named = names_that_fulfil(schemas);
    if (named) allowed = allowed ? parts_.texts.both(*allowed, *named) : named;
  }
  if (!allowed) return others;
  for (OtherMembers& other : others) {
    auto common = other.names ? parts_.texts.both(*other.names, *allowed) : allowed;
    if (!common) parts_.report.cannot_hold(way.object_layers.front(), "the names of the members take too many states");
    if (common) other.names = std::move(common);
  }
  for (const OtherMembers& other : others)
    if (other.names) parts_.work().add(other.names->num_transitions());
  std::erase_if(others, [](const OtherMembers& other) { return other.names && other.names->is_empty(); });
  return others;
}

/// The texts that fulfil `propertyNames`. No value: any text does, or the texts cannot be told.
std::optional<CharacterDfa> SchemaMembers::names_that_fulfil(const SchemaSet& schemas) {
  std::optional<CharacterDfa> all = CharacterDfa::any_text().complement();
  for (SchemaFacts way : parts_.expander.expand(schemas)) {
    if (!way.has(kStringType)) continue;
    std::optional<CharacterDfa> texts;
    if (way.values) {
      std::vector<std::string> values;
      for (const NodeId value : *way.values)
        if (parts_.tree.is(value, JsonTree::Kind::kString) && parts_.validator.holds(schemas, value) != Verdict::kNo)
          values.push_back(parts_.tree.at(value).text);
      texts = CharacterDfa::of_texts(values, parts_.work());
    } else {
      std::vector<std::string> other_texts;
      for (const NodeId value : way.other_values)
        if (parts_.tree.is(value, JsonTree::Kind::kString)) other_texts.push_back(parts_.tree.at(value).text);
      texts = !way.text_tests.empty() || !other_texts.empty()
                  ? strings_.tested_texts(way, other_texts)
                  : CharacterDfa::of_lengths(way.min_length, way.max_length);
    }
    // The union is the complement of what both complements share.
    const auto neither = texts ? parts_.texts.both(all->complement(), texts->complement()) : std::nullopt;
    if (!neither) {
      parts_.report.cannot_hold(schemas.front().node, "the names take too many states");
      return std::nullopt;
    }
    all = neither->complement();
  }
  return all;
}

/// The other members of all layers, by the patterns that their names match.
std::vector<OtherMembers> SchemaMembers::by_patterns(const SchemaFacts& way) {
  std::vector<OtherMembers> classes(1);
  for (const NodeId layer : way.object_layers) {
    const auto patterns = parts_.tree.find(layer, "patternProperties"),
               others = parts_.tree.find(layer, "additionalProperties");
    struct Class {
      OtherMembers members;
      bool is_matched = false;
    };
    std::vector<Class> split;
    split.reserve(classes.size());
    for (OtherMembers& members : classes) split.push_back({.members = std::move(members)});
    for (const NodeId pattern : patterns ? parts_.tree.at(*patterns).children : std::vector<NodeId>()) {
      const CharacterDfa* names = parts_.texts.of_names(pattern);
      if (names == nullptr) {
        parts_.report.cannot_hold(pattern, parts_.texts.why_not());
        for (Class& one : split) one.is_matched = true;
        continue;
      }
      std::vector<Class> further;
      for (Class& one : split) {
        const auto narrowed = [&](const CharacterDfa& to) {
          return one.members.names ? parts_.texts.both(*one.members.names, to) : std::optional(to);
        };
        auto inside = narrowed(*names), outside = narrowed(names->complement());
        if (!inside || !outside || further.size() > kMaxNameClasses) {
          parts_.report.cannot_hold(pattern, "the patterns of names take too many states");
          one.is_matched = true;
          further.push_back(std::move(one));
          continue;
        }
        Class matched{.members = {.names = std::move(inside), .schemas = one.members.schemas}, .is_matched = true};
        matched.members.schemas.push_back({.node = pattern});
        if (!matched.members.names->is_empty()) further.push_back(std::move(matched));
        one.members.names = std::move(outside);
        if (!one.members.names->is_empty()) further.push_back(std::move(one));
      }
      split = std::move(further);
    }
    classes.clear();
    for (Class& one : split) {
      if (!parts_.work().add(1 + one.members.schemas.size())) return {};
      if (others && !one.is_matched) one.members.schemas.push_back({.node = *others});
      if (!is_false(parts_.tree, one.members.schemas)) classes.push_back(std::move(one.members));
    }
  }
  return classes;
}

/// Whether no other members are allowed. All schemas of the way are looked at together: each alone would exclude what
/// another one names. An object that must have more members than are named stays open, since else nothing could fulfil
/// it.
bool SchemaMembers::is_closed(const SchemaFacts& way, std::size_t num_members) const {
  if (!parts_.closes_objects || way.has_unevaluated || num_members < way.min_properties) return false;
  const auto names_alone = [this](NodeId layer) {
    return !parts_.tree.find(layer, "additionalProperties") && !parts_.tree.find(layer, "patternProperties");
  };
  return !way.object_layers.empty() && std::ranges::all_of(way.object_layers, names_alone);
}

}  // namespace octavo
