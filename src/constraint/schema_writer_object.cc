// Objects: members in the order of the schema, then those that it does not name.
#include <algorithm>
#include <ranges>

#include "constraint/schema_writer.h"

namespace octavo {
namespace {

constexpr std::uint64_t kStepsOfName = 32;    // each is looked up several times
constexpr std::size_t kMaxNameClasses = 64;   // that patterns tell apart
constexpr std::size_t kMaxCounted = 1 << 14;  // members, times the counts that are told apart

/// Keeps the first of each.
void drop_repeated(std::vector<std::string>& names) {
  std::map<std::string_view, std::size_t> first;
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (first.try_emplace(names[i], i).second) kept.push_back(names[i]);
  names = std::move(kept);
}

}  // namespace

ExpressionId SchemaWriter::object(const SchemaFacts& way) {
  std::vector<std::string> names;
  const auto members = members_of(way, names);
  if (!members) return Grammar::nothing();
  const ExpressionId other =
      is_closed(way, members->size()) ? Grammar::nothing() : other_member(other_members_of(way, names));
  const auto num_required = static_cast<std::uint32_t>(std::ranges::count(*members, true, &Member::is_required));
  const bool is_bounded = way.max_properties < members->size() ||
                          (way.max_properties != SchemaFacts::kNoLimit && other != Grammar::nothing());
  const bool is_counted = way.min_properties > num_required || is_bounded;
  const ExpressionId inner = is_counted ? counted(way, *members, other) : in_order(*members, other);
  return grammar_.sequence({grammar_.literal("{"), parts_.json.space(), inner, grammar_.literal("}")});
}

/// All schemas of the way are looked at together: each alone would leave out what another one names. An object that
/// must have more members than are named stays open, as nothing could fulfil it else.
bool SchemaWriter::is_closed(const SchemaFacts& way, std::size_t num_members) const {
  if (!parts_.closes_objects || way.has_unevaluated || num_members < way.min_properties) return false;
  const auto names_alone = [this](NodeId layer) {
    return !parts_.tree.find(layer, "additionalProperties") && !parts_.tree.find(layer, "patternProperties");
  };
  return !way.object_layers.empty() && std::ranges::all_of(way.object_layers, names_alone);
}

/// `names`: those that no other member may have. No value: a member that must be there cannot be.
std::optional<std::vector<SchemaWriter::Member>> SchemaWriter::members_of(const SchemaFacts& way,
                                                                          std::vector<std::string>& names) {
  for (const NodeId layer : way.object_layers) {
    const auto properties = parts_.tree.find(layer, "properties");
    if (properties)
      for (const NodeId property : parts_.tree.at(*properties).children) names.push_back(parts_.tree.at(property).key);
  }
  for (const MemberTest& test : way.member_tests) names.emplace_back(test.name);
  for (const NameList* list : {&way.required, &way.forbidden})
    names.insert(names.end(), list->names().begin(), list->names().end());
  if (!grammar_.work().add(names.size() * kStepsOfName)) return std::nullopt;
  drop_repeated(names);
  SchemaExpander::MemberSchemas schemas_by_name(parts_.expander, way);
  std::vector<Member> members;
  for (const std::string& name : names) {
    if (parts_.report.failed()) return std::nullopt;
    SchemaSet schemas = schemas_by_name.of(name);
    const bool is_required = way.required.contains(name);
    const bool may_be = !way.forbidden.contains(name) && !is_false(schemas) && may_be_named(way, name);
    if (is_required && !may_be) return std::nullopt;
    if (may_be) members.push_back({.name = name, .schemas = std::move(schemas), .is_required = is_required});
  }
  return members;
}

bool SchemaWriter::may_be_named(const SchemaFacts& way, const std::string& name) {
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

std::vector<SchemaWriter::OtherMembers> SchemaWriter::other_members_of(const SchemaFacts& way,
                                                                       std::span<const std::string> names) {
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
    if (other.names) grammar_.work().add(other.names->num_transitions());
  std::erase_if(others, [](const OtherMembers& other) { return other.names && other.names->is_empty(); });
  return others;
}

/// The texts that fulfil `propertyNames`. No value: any, or they cannot be told.
std::optional<CharacterDfa> SchemaWriter::names_that_fulfil(const SchemaSet& schemas) {
  std::optional<CharacterDfa> all = CharacterDfa::any_text().complement();
  for (SchemaFacts way : parts_.expander.expand(schemas)) {
    if (!way.has(kStringType)) continue;
    std::optional<CharacterDfa> texts;
    if (way.values) {
      std::vector<std::string> values;
      for (const NodeId value : *way.values)
        if (parts_.tree.is(value, JsonTree::Kind::kString) && parts_.validator.holds(schemas, value) != Verdict::kNo)
          values.push_back(parts_.tree.at(value).text);
      texts = CharacterDfa::of_texts(values, grammar_.work());
    } else {
      std::vector<std::string> other_texts;
      for (const NodeId value : way.other_values)
        if (parts_.tree.is(value, JsonTree::Kind::kString)) other_texts.push_back(parts_.tree.at(value).text);
      texts = !way.text_tests.empty() || !other_texts.empty()
                  ? tested_text(way, other_texts)
                  : CharacterDfa::of_lengths(way.min_length, way.max_length);
    }
    // The union is what none of the complements leaves out.
    const auto neither = texts ? parts_.texts.both(all->complement(), texts->complement()) : std::nullopt;
    if (!neither) {
      parts_.report.cannot_hold(schemas.front().node, "the names take too many states");
      return std::nullopt;
    }
    all = neither->complement();
  }
  return all;
}

/// Names by the patterns that they match, of all layers.
std::vector<SchemaWriter::OtherMembers> SchemaWriter::by_patterns(const SchemaFacts& way) {
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
      if (!grammar_.work().add(1 + one.members.schemas.size())) return {};
      if (others && !one.is_matched) one.members.schemas.push_back({.node = *others});
      if (!is_false(one.members.schemas)) classes.push_back(std::move(one.members));
    }
  }
  return classes;
}

ExpressionId SchemaWriter::other_member(std::span<const OtherMembers> others) {
  std::vector<ExpressionId> ways;
  for (const OtherMembers& other : others) {
    const ExpressionId name = other.names ? quoted(*other.names) : parts_.json.string();
    ways.push_back(grammar_.sequence({parts_.json.key(name), value(other.schemas)}));
  }
  if (ways.empty()) return Grammar::nothing();
  return grammar_.named("other member", grammar_.alternatives(std::move(ways)));
}

ExpressionId SchemaWriter::named_member(const Member& member) {
  return grammar_.named("member", grammar_.sequence({parts_.json.key(member.name), value(member.schemas)}));
}

/// Two chains of rules: with something written before, and with nothing.
ExpressionId SchemaWriter::in_order(std::span<const Member> members, ExpressionId other) {
  const ExpressionId end = parts_.json.space();
  ExpressionId behind = end, begun = grammar_.empty();
  if (other != Grammar::nothing()) {
    behind = grammar_.sequence({grammar_.repeat(grammar_.sequence({comma(), other}), 0, Grammar::kAnyNumber), end});
    behind = grammar_.named("members", behind);
    begun = grammar_.optional(grammar_.sequence({other, behind}));
  }
  for (const Member& member : members | std::views::reverse) {
    const ExpressionId written = named_member(member);
    const ExpressionId first = grammar_.sequence({written, behind});
    begun = member.is_required ? first : grammar_.named("members", grammar_.alternatives({first, begun}));
    const ExpressionId next = grammar_.sequence({comma(), written});
    behind =
        grammar_.named("members", grammar_.sequence({member.is_required ? next : grammar_.optional(next), behind}));
  }
  return begun;
}

/// The same, for each number of members so far: the rules from the last member to the first.
ExpressionId SchemaWriter::counted(const SchemaFacts& way, std::span<const Member> members, ExpressionId other) {
  const bool has_limit = way.max_properties != SchemaFacts::kNoLimit;
  const std::size_t num_counts = std::size_t{has_limit ? way.max_properties : way.min_properties} + 1;
  if (num_counts * (members.size() + 1) > kMaxCounted) {
    if (!way.object_layers.empty())
      parts_.report.cannot_hold(way.object_layers.front(), "the numbers of members are too large");
    return in_order(members, other);
  }
  const auto one_more = [&](std::size_t count) { return std::min(count + 1, num_counts - 1); };
  const auto may_take = [&](std::size_t count) { return !has_limit || count < way.max_properties; };
  const auto separated = [&](std::size_t count, ExpressionId member) {
    return count == 0 ? member : grammar_.sequence({comma(), member});
  };
  std::vector<ExpressionId> rest(num_counts);  // by the members before
  for (std::size_t count = num_counts; count-- > 0;) {
    std::vector<ExpressionId> ways;
    const RuleId rule = grammar_.declare("members");
    rest[count] = grammar_.call(rule);
    if (count >= way.min_properties) ways.push_back(count == 0 ? grammar_.empty() : parts_.json.space());
    if (may_take(count) && other != Grammar::nothing())
      ways.push_back(grammar_.sequence({separated(count, other), rest[one_more(count)]}));
    grammar_.define(rule, grammar_.alternatives(std::move(ways)));
  }
  for (const Member& member : members | std::views::reverse) {
    const ExpressionId written = named_member(member);
    std::vector<ExpressionId> before(num_counts);
    for (std::size_t count = num_counts; count-- > 0;) {
      std::vector<ExpressionId> ways;
      if (may_take(count)) ways.push_back(grammar_.sequence({separated(count, written), rest[one_more(count)]}));
      if (!member.is_required) ways.push_back(rest[count]);
      before[count] = grammar_.named("members", grammar_.alternatives(std::move(ways)));
    }
    rest = std::move(before);
  }
  return rest[0];
}

}  // namespace octavo
