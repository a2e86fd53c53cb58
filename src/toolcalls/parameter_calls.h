// Calls whose arguments stand one by one between marks, as in XML: each is a text, which the tool's schema makes a
// string or another value.
//
// Coroutines of one CallReader; one thread.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "toolcalls/call_reader.h"

namespace octavo {

/// Writes an object, member by member.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_(out) {}

  /// Begins a member, whose value is to be appended.
  void key(std::string_view name);
  /// Ends the object.
  void close();

 private:
  std::string& out_;
  bool has_members_ = false;
};

/// The marks of a family. Names and keys end at one of the bytes `name_ends` and `key_ends`.
struct ParameterStyle {
  std::string_view name_ends, behind_name;
  std::string_view before_key, key_ends, behind_key;
  std::string_view before_value = {}, behind_value;
  std::string_view before_quoted = {}, behind_quoted = {};  // marks of a value whose text may have behind_value
  std::string_view behind_call;
  /// Texts behind the name of a parameter, one of which must stand there: the first marks a string, the second another
  /// value. Empty: the schema decides.
  std::array<std::string_view, 2> kinds = {};
  bool trims_lines = false;  // one line feed at each end of a value belongs to the marks
};

/// Takes a call behind the mark in front of its name.
Reading<bool> read_parameter_call(CallReader& in, const ParameterStyle& style);
/// Takes calls behind the first of `marks` each, up to one of the others. False: none of them is there, or a call is
/// not whole.
Reading<bool> read_parameter_calls(CallReader& in, std::span<const std::string_view> marks,
                                   const ParameterStyle& style);

/// Takes a value of any of the `types` (bits of JsonType) up to `mark` and appends it to `out` in JSON. Text that is no
/// value of these types, as JSON or Python write it, becomes a string. `begun`: the text's first bytes, which were
/// taken already. False: there was no mark.
Reading<bool> read_parameter_value(CallReader& in, std::string_view mark, std::uint8_t types, bool trims_lines,
                                   std::string& out, std::string_view begun = {});

}  // namespace octavo
