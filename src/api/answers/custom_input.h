// The input of a custom tool, out of the arguments of the function that stands for it, as they come.
//
// A plain value; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace octavo {

class CustomInput {
 public:
  /// Continues the arguments, a text in JSON. Gives what it adds to the input: the text of the string `input`, which
  /// comes first. Arguments that begin otherwise are the input as they stand.
  std::string push(std::string_view arguments);
  /// Nothing follows. Gives what was held.
  std::string finish();

 private:
  enum class At : std::uint8_t { kBefore, kText, kEscape, kBehind, kOther };

  void add(char c, std::string& out);
  void add_before(char c, std::string& out);
  void add_text(char c, std::string& out);
  void add_escape(char c, std::string& out);
  /// The characters that the escapes mean.
  void end_escape(std::string& out);

  At at_ = At::kBefore;
  std::string held_ = {};      // in front of the string, or an escape
  std::size_t num_found_ = 0;  // of what stands in front of the string, white space apart
};

}  // namespace octavo
