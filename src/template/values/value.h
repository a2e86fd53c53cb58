// The values of a template's expressions: Python's values, as far as they are data.
//
// A Value is two words; larger parts live in an arena and are immutable, except namespaces and iterators. This header
// computes nothing: see operators.h, iteration.h, attributes.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "template/values/text.h"

namespace octavo::jinja {

class Evaluation;
struct Call;
struct Dict;
struct Iterator;
struct LoopState;
struct Macro;
class Value;

enum class Kind : std::uint8_t {
  kMissing,  // the slot of a name before it is set, and never an expression's value
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kText,
  kList,
  kTuple,
  kDict,
  kRange,
  kDictView,
  kNamespace,
  kFunction,
  kMethod,
  kMacro,
  kLoop,
  kIterator,
  kCycler,
  kJoiner,
};

/// A value that is not there, with the message of using it.
struct Undefined {
  const Text* name = nullptr;           // the name of a variable or an attribute
  std::string_view type_of_owner = {};  // the type of the attribute's owner; empty for a variable
  std::string_view hint = {};           // the whole message, where a better one is known
};

/// The items of a list or a tuple.
struct List {
  std::span<const Value> items;
  bool is_group = false;  // a tuple that `groupby` made: its items are its attributes `grouper` and `list` too
};

struct Range {
  std::int64_t start;
  std::int64_t stop;
  std::int64_t step;
  std::int64_t size;
};

struct DictView {
  enum class What : std::uint8_t { kKeys, kValues, kItems };
  const Dict* dict;
  What what;
};

using Function = Value (*)(Evaluation&, const Call&);

/// A global function or class.
struct NamedFunction {
  std::string_view name;
  Function call;
};

class Value {
 public:
  constexpr Value() = default;
  static constexpr Value none() { return Value(Kind::kNone); }
  static constexpr Value boolean(bool value) { return Value(Kind::kBool, value ? 1 : 0); }
  static constexpr Value integer(std::int64_t value) { return Value(Kind::kInt, value); }
  static constexpr Value real(double value) { return Value(value); }
  static Value of(const Text* text) { return {Kind::kText, text}; }
  static Value of(const Undefined* undefined) { return {Kind::kUndefined, undefined}; }
  static Value of(const Dict* dict) { return {Kind::kDict, dict}; }
  static Value of(const Range* range) { return {Kind::kRange, range}; }
  static Value of(const DictView* view) { return {Kind::kDictView, view}; }
  static Value of(const NamedFunction* function) { return {Kind::kFunction, function}; }
  static Value of(const Macro* macro) { return {Kind::kMacro, macro}; }
  static Value of(LoopState* loop) { return {Kind::kLoop, loop}; }
  static Value of(Iterator* iterator) { return {Kind::kIterator, iterator}; }
  static Value list(const List* items) { return {Kind::kList, items}; }
  static Value tuple(const List* items) { return {Kind::kTuple, items}; }
  template <class T>
  static Value object(Kind kind, const T* object) {
    return {kind, object};
  }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_number() const { return kind_ == Kind::kInt || kind_ == Kind::kFloat || kind_ == Kind::kBool; }
  bool is_integer() const { return kind_ == Kind::kInt || kind_ == Kind::kBool; }
  bool is_sequence() const { return kind_ == Kind::kList || kind_ == Kind::kTuple; }

  bool as_bool() const { return integer_ != 0; }
  std::int64_t as_int() const { return integer_; }
  double as_double() const { return kind_ == Kind::kFloat ? real_ : static_cast<double>(integer_); }
  const Text& text() const { return as<Text>(); }
  std::span<const Value> items() const { return as<List>().items; }
  const Dict& dict() const { return as<Dict>(); }
  template <class T>
  const T& as() const {
    return *static_cast<const T*>(object_);
  }
  /// The value of a kind that changes: namespaces, loops, iterators, cyclers, joiners.
  template <class T>
  T& as_mutable() const {
    return *const_cast<T*>(static_cast<const T*>(object_));
  }
  bool same_object(const Value& other) const { return kind_ == other.kind_ && object_ == other.object_; }

 private:
  constexpr explicit Value(Kind kind, std::int64_t value = 0) : kind_(kind), integer_(value) {}
  constexpr explicit Value(double value) : kind_(Kind::kFloat), real_(value) {}
  Value(Kind kind, const void* object) : kind_(kind), object_(object) {}

  Kind kind_ = Kind::kMissing;
  union {
    std::int64_t integer_ = 0;
    double real_;
    const void* object_;
  };
};

struct Entry {
  Value key;
  Value value;
  std::uint64_t hash = 0;
};

/// Entries in the order in which they were put in.
struct Dict {
  std::span<const Entry> entries;
  std::span<const std::uint32_t> by_hash;  // indexes of entries, by rising hash; empty for few entries
};

/// Puts a dict together: a key that is there keeps its place and gets the new value, as in Python.
class DictBuilder {
 public:
  explicit DictBuilder(Arena& arena) : arena_(arena) {}
  /// The key must be hashable.
  void put(Value key, Value value);
  const Dict* finish();

 private:
  /// The index of the key's entry, or of the next one to be added.
  std::size_t index_of(const Value& key, std::uint64_t hash);

  Arena& arena_;
  std::vector<Entry> entries_;
  std::unordered_multimap<std::uint64_t, std::size_t> found_;  // hash to index, for more than a few entries
};

struct NamespaceEntry {
  const Text* name;
  Value value;
  NamespaceEntry* next;
};

/// The attributes of a `namespace()`, in the order in which they were first set.
struct Namespace {
  NamespaceEntry* first = nullptr;
  NamespaceEntry* last = nullptr;
};

struct NamedValue {
  const Text* name;
  Value value;
};

/// The arguments of a call; the first argument of a filter or a test is the value to which it is applied.
struct Call {
  std::span<const Value> arguments;
  std::span<const NamedValue> named;
};

/// A method of a value of a built-in type.
struct NamedMethod {
  std::string_view name;
  Function call;  // the first argument is the object
};

struct BoundMethod {
  Value object;
  const NamedMethod* method;
};

/// The character that begins at a byte.
const Text* character_at(Arena& arena, const Text& text, std::size_t byte);
Value make_list(Arena& arena, std::span<const Value> items);
Value make_tuple(Arena& arena, std::span<const Value> items);

// Steps are counted for what is looked at of a key: a long text, or tuples that hold a tuple many times over.

/// Whether Python would take the value as a key of a dict.
bool is_hashable(Arena& arena, const Value& value);
/// Equal keys have equal hashes: 1, 1.0 and True are one key. The values must be hashable.
std::uint64_t hash_of(Arena& arena, const Value& key);
bool same_key(Arena& arena, const Value& left, const Value& right);
/// The entry of a key, or null.
const Entry* find_entry(Arena& arena, const Dict& dict, const Value& key);
const Entry* find_text(Arena& arena, const Dict& dict, std::string_view key);

}  // namespace octavo::jinja
