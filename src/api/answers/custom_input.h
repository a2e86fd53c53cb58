// The input of a custom tool, read piece by piece from the arguments of the function that stands for the tool.
//
// A plain value; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace octavo {

class CustomInput {
 public:
  /// Reads more of the arguments, a JSON text, and gives what it adds to the input: the text of the string `input`,
  /// which must come first. Arguments that begin in another way are the input as they stand.
  std::string push(std::string_view arguments);
  /// Ends the arguments and gives the text that was held.
  std::string finish();

 private:
  enum class At : std::uint8_t { kBefore, kText, kEscape, kBehind, kOther };

  void add(char c, std::string& out);
  void add_before(char c, std::string& out);
  void add_text(char c, std::string& out);
  void add_escape(char c, std::string& out);
  /// Appends the characters that the held escapes mean.
  void end_escape(std::string& out);

  At at_ = At::kBefore;
  std::string held_ = {};      // the text before the string, or an escape that is not complete
  std::size_t num_found_ = 0;  // the characters of kBefore that were found
};

}  // namespace octavo
