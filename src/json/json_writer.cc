#include "json/json_writer.h"

#include <fmt/format.h>

#include <iterator>

namespace octavo {
namespace {

void append_digits(std::string& out, const fmt::format_int& number) { out.append(number.data(), number.size()); }

}  // namespace

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  *out_ += '"';
  *out_ += name;
  *out_ += "\":";
  return *this;
}

JsonWriter& JsonWriter::escaped_key(std::string_view name) {
  value(name);
  *out_ += ':';
  return *this;
}

void JsonWriter::append(std::int64_t number) { append_digits(*out_, fmt::format_int(number)); }
void JsonWriter::append(std::uint64_t number) { append_digits(*out_, fmt::format_int(number)); }
void JsonWriter::append(double number) { fmt::format_to(std::back_inserter(*out_), "{}", number); }
void JsonWriter::append(float number) { fmt::format_to(std::back_inserter(*out_), "{}", number); }

}  // namespace octavo
