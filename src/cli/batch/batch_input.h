// Reads the lines of a batch's file one by one, in bounded memory. One thread.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

namespace octavo::cli {

struct BatchInputLine {
  std::string text = {};     // without its line break; empty where it is too long
  std::uint64_t number = 0;  // counted from 1, blank lines included
  std::uint64_t end = 0;     // the bytes of the file up to its end
  bool is_too_long = false;
};

class BatchInput {
 public:
  /// Reads lines of up to `max_bytes`.
  BatchInput(std::istream& in, std::size_t max_bytes) : in_(in), max_bytes_(max_bytes) {}

  /// The next line that is not blank. False: there is none. Throws std::ios_base::failure where a file cannot be read.
  bool next(BatchInputLine& line);

 private:
  bool read_line(BatchInputLine& line);

  std::istream& in_;
  const std::size_t max_bytes_;
  std::uint64_t num_lines_ = 0, num_bytes_ = 0;
};

}  // namespace octavo::cli
