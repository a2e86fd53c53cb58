// A value of a JSON text with its path in the text, which errors name.
//
// Nodes are views into the parsed text, which outlives them, while a tokenizer.json is read; any thread.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace octavo {

class JsonNode {
 public:
  /// `file` is the beginning of errors.
  JsonNode(const boost::json::value& value, std::string file) : value_(&value), file_(std::move(file)) {}

  bool is_null() const { return value_->is_null(); }
  bool is_object() const { return value_->is_object(); }

  /// The member of an object. Errors: no object; no such member.
  Result<JsonNode> field(std::string_view name) const;
  /// The member, or no value where it is missing or null.
  Result<std::optional<JsonNode>> find(std::string_view name) const;
  /// Error: the value is no object, or has another member.
  Result<void> expect_only(std::initializer_list<std::string_view> names) const;
  /// Error: the value is no array.
  Result<std::vector<JsonNode>> items() const;

  /// This value, or the parts of a Sequence, whose member `name` lists them. The JSON's depth bounds the walk.
  Result<std::vector<JsonNode>> parts(std::string_view name) const;
  /// The parts of a member; none if the member is missing.
  Result<std::vector<JsonNode>> parts_of(std::string_view member, std::string_view name) const;

  Result<std::string_view> text() const;
  Result<bool> flag() const;
  /// A whole number from 0 to `max`. Error: the value is another one.
  Result<std::uint32_t> number(std::uint32_t max) const;
  /// The member "type" of an object.
  Result<std::string_view> type() const;

  /// Members; absent ones are false, or "".
  Result<bool> flag_of(std::string_view name) const;
  Result<std::string_view> text_of(std::string_view name) const;

  /// The error "FILE: PATH: found ..., expected ...".
  std::unexpected<Error> refuse(std::string_view found, std::string_view expected) const;
  /// The error with the value in words.
  std::unexpected<Error> expect(std::string_view expected) const;

 private:
  JsonNode child(const boost::json::value& value, std::string path) const;

  const boost::json::value* value_;
  std::string file_;
  std::string path_ = {};  // the path, such as "model.merges[3]"; empty: the whole
};

}  // namespace octavo
