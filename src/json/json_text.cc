#include "json/json_text.h"

#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>

#include "base/error.h"
#include "json/json_handler.h"
#include "json/json_string.h"
#include "json/lone_surrogates.h"

namespace octavo {

namespace {

namespace json = boost::json;

class Builder : public JsonHandler {
 public:
  explicit Builder(std::size_t& values_left) : left_(values_left) {}

  TemplateValue take() { return std::move(done_); }
  bool had_too_many() const { return too_many_; }

  bool on_object_begin(ErrorCode&) {
    open_.emplace_back(TemplateDict{});
    return true;
  }
  bool on_array_begin(ErrorCode&) {
    open_.emplace_back(TemplateList{});
    return true;
  }
  bool on_object_end(std::size_t, ErrorCode& error) { return close(error); }
  bool on_array_end(std::size_t, ErrorCode& error) { return close(error); }
  bool on_key_part(json::string_view part, std::size_t, ErrorCode&) { return append(part); }
  bool on_key(json::string_view part, std::size_t, ErrorCode& error) {
    append(part);
    std::get<TemplateDict>(open_.back()).emplace_back(std::exchange(text_, {}), TemplateValue());
    return count(error);
  }
  bool on_string_part(json::string_view part, std::size_t, ErrorCode&) { return append(part); }
  bool on_string(json::string_view part, std::size_t, ErrorCode& error) {
    append(part);
    return add(std::exchange(text_, {}), error);
  }
  bool on_int64(std::int64_t number, json::string_view, ErrorCode& error) { return add(number, error); }
  bool on_uint64(std::uint64_t number, json::string_view, ErrorCode& error) {
    return add(static_cast<double>(number), error);
  }
  bool on_double(double number, json::string_view, ErrorCode& error) { return add(number, error); }
  bool on_bool(bool flag, ErrorCode& error) { return add(flag, error); }
  bool on_null(ErrorCode& error) { return add(TemplateValue(), error); }

 private:
  bool append(json::string_view part) {
    text_.append(part.data(), part.size());
    return true;
  }

  bool count(ErrorCode& error) {
    if (left_ > 0) {
      --left_;
      return true;
    }
    too_many_ = true;
    error = json::error::exception;  // anything that ends the parser
    return false;
  }

  bool add(TemplateValue value, ErrorCode& error) {
    if (!count(error)) return false;
    if (open_.empty()) {
      done_ = std::move(value);
    } else if (auto* list = std::get_if<TemplateList>(&open_.back())) {
      list->push_back(std::move(value));
    } else {
      std::get<TemplateDict>(open_.back()).back().second = std::move(value);
    }
    return true;
  }

  bool close(ErrorCode& error) {
    TemplateValue value = std::move(open_.back());
    open_.pop_back();
    return add(std::move(value), error);
  }

  std::size_t& left_;
  std::vector<TemplateValue> open_;  // the lists and dicts that are begun, the innermost last
  std::string text_;                 // the beginning of a text or a key
  TemplateValue done_;
  bool too_many_ = false;
};

void write(const TemplateValue& value, std::string& out);

void write_list(const TemplateList& list, std::string& out) {
  out += '[';
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ", ";
    write(list[i], out);
  }
  out += ']';
}

void write_dict(const TemplateDict& dict, std::string& out) {
  out += '{';
  for (std::size_t i = 0; i < dict.size(); ++i) {
    if (i > 0) out += ", ";
    append_json_string(out, dict[i].first);
    out += ": ";
    write(dict[i].second, out);
  }
  out += '}';
}

void write(const TemplateValue& value, std::string& out) {
  if (const auto* flag = std::get_if<bool>(&value)) {
    out += *flag ? "true" : "false";
  } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    out += fmt::format("{}", *integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    out += json_number(*real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    append_json_string(out, *text);
  } else if (const auto* list = std::get_if<TemplateList>(&value)) {
    write_list(*list, out);
  } else if (const auto* dict = std::get_if<TemplateDict>(&value)) {
    write_dict(*dict, out);
  } else {
    out += "null";
  }
}

}  // namespace

Result<TemplateValue> read_json(std::string_view text, std::size_t& values_left) {
  const std::optional<std::string> mended = without_lone_surrogates(text);
  if (mended) text = *mended;
  json::parse_options options;
  options.max_depth = kMaxJsonDepth;
  json::basic_parser<Builder> parser(options, values_left);
  JsonHandler::ErrorCode error;
  const std::size_t used = read_whole_json(parser, text, error);
  if (parser.handler().had_too_many()) return fail("found more values than are allowed");
  if (error == json::error::too_deep) return fail("found values nested deeper than {} levels", kMaxJsonDepth);
  if (error) return fail("found no JSON: {} near byte {} of {}", error.message(), used, text.size());
  return parser.handler().take();
}

Result<TemplateValue> read_json_object(std::string_view text, std::size_t& values_left) {
  OCTAVO_TRY(TemplateValue value, read_json(text, values_left));
  if (!std::holds_alternative<TemplateDict>(value)) return fail("found a JSON value that is no object");
  return value;
}

std::string write_json(const TemplateValue& value) {
  std::string out;
  write(value, out);
  return out;
}

}  // namespace octavo
