#include "json/json_document.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <optional>

#include "json/json_handler.h"
#include "json/lone_surrogates.h"

namespace octavo {
namespace {

namespace json = boost::json;
using ErrorCode = boost::system::error_code;

// Boost.JSON searches an object of up to so many members from the first to the last, without a table.
constexpr std::size_t kMembersWithoutTable = 18;
constexpr std::size_t kInlineStringBytes = 14;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
// The cost of an allocation beside its bytes: the allocator's own words, and what rounding adds.
constexpr std::size_t kAllocationBytes = 32;
constexpr std::size_t kIndexBytes = 2 * sizeof(std::uint32_t);  // a member's place in its table

JsonError refused(std::string message, std::string_view code) { return {.message = std::move(message), .code = code}; }

/// Counts each thing that is read, and builds it only if it is within the limits.
class BoundedBuilder : public JsonHandler {
 public:
  explicit BoundedBuilder(const JsonLimits& limits) : limits_(limits) { stack_.reset(); }

  json::value release() { return stack_.release(); }
  const std::optional<JsonError>& refusal() const { return refusal_; }

  static bool on_object_begin(ErrorCode&) { return true; }
  static bool on_array_begin(ErrorCode&) { return true; }

  bool on_object_end(std::size_t num_members, ErrorCode& error) {
    if (!count_members(num_members, error)) return false;
    stack_.push_object(num_members);
    return true;
  }
  bool on_array_end(std::size_t num_elements, ErrorCode& error) {
    if (!count(sizeof(json::value) + (num_elements == 0 ? 0 : kAllocationBytes), error)) return false;
    stack_.push_array(num_elements);
    return true;
  }
  bool on_key_part(json::string_view part, std::size_t num_bytes, ErrorCode& error) {
    if (!check_key(num_bytes, error)) return false;
    stack_.push_chars(part);
    return true;
  }
  bool on_key(json::string_view part, std::size_t num_bytes, ErrorCode& error) {
    if (!check_key(num_bytes, error) || !count(num_bytes + kAllocationBytes, error)) return false;
    stack_.push_key(part);
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, ErrorCode&) {
    stack_.push_chars(part);
    return true;
  }
  bool on_string(json::string_view part, std::size_t num_bytes, ErrorCode& error) {
    const std::size_t outside = num_bytes <= kInlineStringBytes ? 0 : num_bytes + kAllocationBytes;
    if (!count(sizeof(json::value) + outside, error)) return false;
    stack_.push_string(part);
    return true;
  }
  bool on_int64(std::int64_t number, json::string_view, ErrorCode& error) {
    if (!count(sizeof(json::value), error)) return false;
    stack_.push_int64(number);
    return true;
  }
  bool on_uint64(std::uint64_t number, json::string_view, ErrorCode& error) {
    if (!count(sizeof(json::value), error)) return false;
    stack_.push_uint64(number);
    return true;
  }
  bool on_double(double number, json::string_view, ErrorCode& error) {
    if (!count(sizeof(json::value), error)) return false;
    stack_.push_double(number);
    return true;
  }
  bool on_bool(bool value, ErrorCode& error) {
    if (!count(sizeof(json::value), error)) return false;
    stack_.push_bool(value);
    return true;
  }
  bool on_null(ErrorCode& error) {
    if (!count(sizeof(json::value), error)) return false;
    stack_.push_null();
    return true;
  }

 private:
  bool refuse(std::string message, std::string_view code, ErrorCode& error) {
    refusal_ = refused(std::move(message), code);
    error = json::error::exception;  // anything that ends the parser
    return false;
  }

  bool check_key(std::size_t num_bytes, ErrorCode& error) {
    if (num_bytes <= limits_.max_key_bytes) return true;
    return refuse(fmt::format("an object's key is longer than {} bytes", limits_.max_key_bytes), "key_too_long", error);
  }

  bool count_members(std::size_t num_members, ErrorCode& error) {
    if (num_members > limits_.max_members)
      return refuse(fmt::format("found an object of {} members, expected at most {}", num_members, limits_.max_members),
                    "too_many_members", error);
    const bool has_table = num_members > kMembersWithoutTable;
    if (has_table) num_table_members_ += num_members;
    if (num_table_members_ > limits_.max_table_members)
      return refuse(fmt::format("found {} members in objects of more than {}, expected at most {}", num_table_members_,
                                kMembersWithoutTable, limits_.max_table_members),
                    "too_many_members", error);
    return count(sizeof(json::value) + (num_members == 0 ? 0 : kAllocationBytes) + num_members * kIndexBytes, error);
  }

  bool count(std::size_t num_bytes, ErrorCode& error) {
    if (++num_values_ > limits_.max_values)
      return refuse(fmt::format("found more than {} values, expected no more", limits_.max_values), "too_many_values",
                    error);
    num_bytes_ += num_bytes;
    if (num_bytes_ <= limits_.max_memory_bytes) return true;
    return refuse(fmt::format("the JSON's values take more than {} bytes of memory", limits_.max_memory_bytes),
                  "too_many_values", error);
  }

  const JsonLimits& limits_;
  json::value_stack stack_;
  std::size_t num_table_members_ = 0;
  std::size_t num_values_ = 0;  // the values and members so far
  std::size_t num_bytes_ = 0;   // the memory of all values so far, in bytes
  std::optional<JsonError> refusal_;
};

}  // namespace

JsonResult<json::object> parse_json_object(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes)
    return std::unexpected(refused(
        fmt::format("found {} bytes of JSON, expected at most {}", text.size(), limits.max_bytes), "too_many_bytes"));
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::optional<std::string> mended = without_lone_surrogates(text);
  if (mended) text = *mended;
  json::parse_options options;
  options.max_depth = limits.max_depth;
  json::basic_parser<BoundedBuilder> parser(options, limits);
  ErrorCode error;
  const std::size_t used = read_whole_json(parser, text, error);
  if (parser.handler().refusal()) return std::unexpected(*parser.handler().refusal());
  if (error == json::error::too_deep)
    return std::unexpected(
        refused(fmt::format("the JSON is nested deeper than {} levels", limits.max_depth), "too_deep"));
  if (error)
    return std::unexpected(refused(
        fmt::format("found no JSON: {} near byte {} of {}", error.message(), used, text.size()), "invalid_json"));
  json::value value = parser.handler().release();
  if (!value.is_object()) return std::unexpected(refused("found no JSON object", "invalid_json"));
  return std::move(value.get_object());
}

}  // namespace octavo
