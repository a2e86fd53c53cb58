#include "api/call/api_field.h"

#include <fmt/format.h>

#include <boost/json/value.hpp>

#include "api/call/completion.h"
#include "base/random_bytes.h"

namespace octavo {
namespace {

namespace json = boost::json;

void refuse_unless_neutral(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (given.is_given() && !asks_for_nothing(*given.value(), field.neutral))
    reader.refuse(given.error(field.text, "unsupported_parameter"));
}

void warn_unless_neutral(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (given.is_given() && !asks_for_nothing(*given.value(), field.neutral))
    reader.request.warnings.push_back(fmt::format("{}: it is ignored: {}", field.path, field.text));
}

}  // namespace

void check_boolean(FieldReader& reader, const ApiField& field) { reader.take(reader.at(field.path).boolean()); }
void check_integer(FieldReader& reader, const ApiField& field) {
  reader.take(reader.at(field.path).integer_from(static_cast<std::int64_t>(field.min)));
}
void check_string(FieldReader& reader, const ApiField& field) { reader.take(reader.at(field.path).string()); }
void check_object(FieldReader& reader, const ApiField& field) { reader.take(reader.at(field.path).object()); }

bool asks_for_nothing(const json::value& value, double neutral) {
  if (const bool* flag = value.if_bool()) return !*flag;
  if (const json::string* text = value.if_string()) return text->empty();
  if (const json::array* array = value.if_array()) return array->empty();
  if (const json::object* object = value.if_object()) return object->empty();
  return value.is_number() && value.to_number<double>() == neutral;
}

std::uint64_t drawn_seed() { return random_seed() >> 11; }

ApiRequest request_of(const ServedModel& model) {
  ApiRequest request;
  request.settings.sampling = model.sampling_defaults;
  request.settings.sampling.seed = model.policy.seed ? *model.policy.seed : drawn_seed();
  request.is_seeded = model.policy.seed.has_value();
  request.settings.reasoning.mode = model.policy.reasoning_mode;
  request.length.otherwise = model.policy.max_tokens;
  request.closes_objects = model.policy.closes_objects;
  return request;
}

ApiResult<ApiRequest> read_request(ApiRequest request, const json::object& body, const ApiContext& context,
                                   ApiFields fields) {
  FieldReader reader(body, context, request);
  reader.read(fields);
  if (reader.failed()) return std::unexpected(*reader.error());
  return request;
}

JsonCursor FieldReader::at(std::string_view path) const {
  const std::size_t dot = path.find('.');
  JsonCursor place = JsonCursor(body)[path.substr(0, dot)];
  for (std::size_t begin = dot; begin != std::string_view::npos && place.is_given();) {
    const std::size_t end = path.find('.', begin + 1);
    place = place[path.substr(begin + 1, end == std::string_view::npos ? end : end - begin - 1)];
    begin = end;
  }
  return place;
}

void FieldReader::read(ApiFields tables) {
  for (const FieldTable table : tables) {
    for (const ApiField& field : table) {
      if (failed()) return;
      if (!field.is_needed && !body.contains(field.path.substr(0, field.path.find('.')))) continue;
      if (field.take != nullptr) {
        field.take(*this, field);
      } else if (field.use == FieldUse::kRefused) {
        refuse_unless_neutral(*this, field);
      } else if (field.use == FieldUse::kIgnored) {
        warn_unless_neutral(*this, field);
      }
    }
  }
}

}  // namespace octavo
