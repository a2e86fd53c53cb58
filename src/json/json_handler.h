// The parts that all handlers of Boost.JSON's basic_parser have in common, and the reading of a whole text with one.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/basic_parser.hpp>
#include <boost/json/error.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <cstddef>
#include <string_view>

namespace octavo {

/// The base of a handler that counts by itself: the parser has no bounds of its own, and the functions do nothing.
/// Names are basic_parser's.
struct JsonHandler {
  using ErrorCode = boost::system::error_code;

  // NOLINTBEGIN(readability-identifier-naming)
  static constexpr std::size_t max_object_size = boost::json::object::max_size();
  static constexpr std::size_t max_array_size = boost::json::array::max_size();
  static constexpr std::size_t max_key_size = boost::json::string::max_size();
  static constexpr std::size_t max_string_size = boost::json::string::max_size();
  // NOLINTEND(readability-identifier-naming)

  static bool on_document_begin(ErrorCode&) { return true; }
  static bool on_document_end(ErrorCode&) { return true; }
  static bool on_number_part(boost::json::string_view, ErrorCode&) { return true; }
  static bool on_comment_part(boost::json::string_view, ErrorCode&) { return true; }
  static bool on_comment(boost::json::string_view, ErrorCode&) { return true; }
};

/// Reads `text` with a basic_parser, and gives the number of bytes that were read. Bytes behind the value are an
/// error.
template <class Parser>
std::size_t read_whole_json(Parser& parser, std::string_view text, boost::system::error_code& error) {
  const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
  if (!error && used < text.size()) error = boost::json::error::extra_data;
  return used;
}

}  // namespace octavo
