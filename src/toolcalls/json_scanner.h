// Finds where a JSON value ends, byte by byte, and whether it is one (RFC 8259).
//
// A plain value; one thread. Bytes of 0x80 and above are taken in strings as they come: that text is UTF-8 is seen to
// elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace octavo {

class JsonScanner {
 public:
  static constexpr std::size_t kMaxDepth = 128;  // the most arrays and objects within each other

  enum class Status : std::uint8_t {
    kMore,   // the value goes on
    kDone,   // the value ends with this byte
    kEnded,  // the value, a number, has ended in front of this byte
    kBad,    // this byte cannot stand here, or opens too deep a level
  };

  /// Adds a byte. Nothing may be added to a value that has ended or is bad. White space in front of a value is bad.
  Status push(char c);
  /// Whether the bytes so far are a complete number.
  bool is_whole_number() const { return depth_.empty() && at_ == At::kNumber && number_is_whole(); }

 private:
  enum class At : std::uint8_t {
    kValue,
    kFirstItem,
    kFirstKey,
    kKey,
    kColon,
    kBehindValue,
    kString,
    kEscape,
    kHex,
    kWord,
    kNumber,
  };
  enum class Number : std::uint8_t { kMinus, kZero, kWhole, kPoint, kFraction, kExponent, kSign, kPower };

  Status begin_value(char c);
  Status begin_key(char c);
  Status end_value();
  Status close(char c);
  Status in_string(char c);
  Status in_number(char c);
  bool next_of_number(char c);
  Status behind_value(char c);
  bool number_is_whole() const {
    return number_ == Number::kZero || number_ == Number::kWhole || number_ == Number::kFraction ||
           number_ == Number::kPower;
  }

  At at_ = At::kValue;
  Number number_ = Number::kMinus;
  bool is_key_ = false;           // whether the string at hand is a key
  int num_hex_ = 0;               // hexadecimal digits that are still to come
  std::string_view word_ = {};    // the bytes of true, false or null that are still to come
  std::vector<bool> depth_ = {};  // [open values] whether it is an object
};

/// The kinds of values as JSON Schema names them, a bit each.
enum JsonType : std::uint8_t {
  kJsonString = 1,
  kJsonNumber = 2,  // and integers
  kJsonBoolean = 4,
  kJsonNull = 8,
  kJsonObject = 16,
  kJsonArray = 32,
  kAnyJson = 63,
};

/// The kind of a text that is one JSON value with white space around it; 0: the text is none.
std::uint8_t json_type_of(std::string_view text);

}  // namespace octavo
