// The warnings that a client gets beside its answer.
//
// A value. A body may ask for as many warnings as it has members, and an answer tells them, a stream more than once: so
// there are a few of them, each of a few words, and how many more there were.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "json/json_writer.h"

namespace octavo {

class Warnings {
 public:
  static constexpr std::size_t kMost = 16;        // the most that are told; of the others only the number
  static constexpr std::size_t kMaxBytes = 1024;  // the most bytes of one, which is cut to them

  // The names that containers have, so that std::span can be made of the warnings.
  using value_type = std::string;
  using const_iterator = std::vector<std::string>::const_iterator;
  using iterator = const_iterator;

  Warnings() = default;
  Warnings(std::initializer_list<std::string> texts);

  void push_back(std::string text);
  /// Adds the warnings of `other` at the end.
  void append(const Warnings& other);

  /// How many warnings were given, told or not.
  std::size_t num_given() const { return num_given_; }
  /// The bytes of the warnings that are told.
  std::size_t num_bytes() const;
  const_iterator begin() const { return told_.begin(); }
  const_iterator end() const { return told_.end(); }
  std::size_t size() const { return told_.size(); }
  bool empty() const { return told_.empty(); }

 private:
  void leave_out(std::size_t count);

  std::vector<std::string> told_ = {};  // the first kMost, then how many more there were
  std::size_t num_given_ = 0;
};

/// The member `warnings` of an answer; nothing where there are none.
inline void write_warnings(std::span<const std::string> warnings, JsonWriter json) {
  if (!warnings.empty()) json.fields("warnings", warnings);
}

}  // namespace octavo
