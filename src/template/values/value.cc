#include "template/values/value.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "template/values/failure.h"

namespace octavo::jinja {

namespace {

constexpr std::size_t kFewEntries = 8;
constexpr int kMostNestedTuples = 50;  // in the key of a dict
constexpr std::size_t kHashedBytesOfAStep = 256;

std::uint64_t mix(std::uint64_t hash, std::uint64_t more) {
  return (hash ^ (more + 0x9E3779B97F4A7C15 + (hash << 6) + (hash >> 2))) * 0xFF51AFD7ED558CCD;
}

std::uint64_t hash_of_number(const Value& value) {
  if (value.is_integer()) return mix(1, static_cast<std::uint64_t>(value.as_int()));
  const double number = value.as_double();
  if (number == std::floor(number) && std::abs(number) < 9e18)
    return mix(1, static_cast<std::uint64_t>(static_cast<std::int64_t>(number)));
  return mix(2, std::hash<double>{}(number));
}

std::uint64_t hash_nested(Arena& arena, const Value& key, int depth) {
  if (depth > kMostNestedTuples) fail_at({}, "a key has tuples nested more than {} deep", kMostNestedTuples);
  if (key.is(Kind::kText)) {
    arena.charge_steps(key.text().bytes.size() / kHashedBytesOfAStep);
    return std::hash<std::string_view>{}(key.text().bytes);
  }
  if (key.is_number()) return hash_of_number(key);
  if (!key.is(Kind::kTuple)) return static_cast<std::uint64_t>(key.kind());
  std::uint64_t hash = 3;
  arena.charge_steps(key.items().size());
  for (const Value& item : key.items()) hash = mix(hash, hash_nested(arena, item, depth + 1));
  return hash;
}

bool hashable_nested(Arena& arena, const Value& value, int depth) {
  switch (value.kind()) {
    case Kind::kList:
    case Kind::kDict:
    case Kind::kDictView: return false;
    case Kind::kTuple: {
      if (depth > kMostNestedTuples) fail_at({}, "a key has tuples nested more than {} deep", kMostNestedTuples);
      const auto items = value.items();
      arena.charge_steps(items.size());
      return std::all_of(items.begin(), items.end(),
                         [&](const Value& item) { return hashable_nested(arena, item, depth + 1); });
    }
    default: return true;
  }
}

}  // namespace

const Text* character_at(Arena& arena, const Text& text, std::size_t byte) {
  return part_of(arena, text, byte, byte + character_bytes(text.bytes[byte]));
}

Value make_list(Arena& arena, std::span<const Value> items) { return Value::list(arena.make<List>(arena.copy(items))); }

Value make_tuple(Arena& arena, std::span<const Value> items) {
  return Value::tuple(arena.make<List>(arena.copy(items)));
}

bool is_hashable(Arena& arena, const Value& value) { return hashable_nested(arena, value, 0); }

std::uint64_t hash_of(Arena& arena, const Value& key) { return hash_nested(arena, key, 0); }

bool same_key(Arena& arena, const Value& left, const Value& right) {
  if (left.is(Kind::kText) && right.is(Kind::kText)) return left.text().bytes == right.text().bytes;
  if (left.is_integer() && right.is_integer()) return left.as_int() == right.as_int();
  if (left.is_number() && right.is_number()) return left.as_double() == right.as_double();
  if (left.kind() != right.kind()) return false;
  if (left.is(Kind::kNone) || left.is(Kind::kUndefined)) return true;
  if (!left.is(Kind::kTuple) || left.same_object(right)) return left.same_object(right);
  arena.charge_steps(left.items().size());
  return std::equal(left.items().begin(), left.items().end(), right.items().begin(), right.items().end(),
                    [&arena](const Value& a, const Value& b) { return same_key(arena, a, b); });
}

const Entry* find_entry(Arena& arena, const Dict& dict, const Value& key) {
  const std::uint64_t hash = hash_of(arena, key);
  if (dict.by_hash.empty()) {
    const auto found = std::find_if(dict.entries.begin(), dict.entries.end(), [&](const Entry& entry) {
      return entry.hash == hash && same_key(arena, entry.key, key);
    });
    return found == dict.entries.end() ? nullptr : &*found;
  }
  auto place = std::lower_bound(dict.by_hash.begin(), dict.by_hash.end(), hash,
                                [&](std::uint32_t index, std::uint64_t h) { return dict.entries[index].hash < h; });
  for (; place != dict.by_hash.end() && dict.entries[*place].hash == hash; ++place)
    if (same_key(arena, dict.entries[*place].key, key)) return &dict.entries[*place];
  return nullptr;
}

const Entry* find_text(Arena& arena, const Dict& dict, std::string_view key) {
  const Text text{.bytes = key, .spans = {}};
  return find_entry(arena, dict, Value::of(&text));
}

std::size_t DictBuilder::index_of(const Value& key, std::uint64_t hash) {
  if (entries_.size() <= kFewEntries) {
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (entries_[i].hash == hash && same_key(arena_, entries_[i].key, key)) return i;
    return entries_.size();
  }
  if (found_.empty())
    for (std::size_t i = 0; i < entries_.size(); ++i) found_.emplace(entries_[i].hash, i);
  for (auto [place, end] = found_.equal_range(hash); place != end; ++place) {
    arena_.charge_steps(1);  // keys with one hash, made on purpose, are not free
    if (same_key(arena_, entries_[place->second].key, key)) return place->second;
  }
  return entries_.size();
}

void DictBuilder::put(Value key, Value value) {
  const std::uint64_t hash = hash_of(arena_, key);
  const std::size_t index = index_of(key, hash);
  if (index < entries_.size()) {
    entries_[index].value = value;
    return;
  }
  arena_.charge_bytes(sizeof(Entry));
  entries_.push_back({key, value, hash});
  if (!found_.empty()) found_.emplace(hash, index);
}

const Dict* DictBuilder::finish() {
  std::span<std::uint32_t> by_hash;
  if (entries_.size() > kFewEntries) {
    by_hash = arena_.array<std::uint32_t>(entries_.size());
    std::iota(by_hash.begin(), by_hash.end(), 0U);
    std::stable_sort(by_hash.begin(), by_hash.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return entries_[a].hash < entries_[b].hash; });
  }
  return arena_.make<Dict>(arena_.copy(entries_), std::span<const std::uint32_t>(by_hash));
}

}  // namespace octavo::jinja
