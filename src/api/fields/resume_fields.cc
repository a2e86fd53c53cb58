#include "api/fields/resume_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <iterator>
#include <utility>

#include "api/call/completion.h"
#include "api/call/token_ids.h"
#include "api/fields/sampling_fields.h"
#include "base/ascii.h"
#include "base/error.h"

namespace octavo {
namespace {

/// `by`: that which began the answer, in words.
ApiError fingerprint_differs(const JsonCursor& given, std::string_view found, std::string_view expected,
                             std::string_view by) {
  ApiError error = to_api_error(given.wrong(fmt::format("\"{}\"", found), fmt::format("\"{}\"", expected)));
  error.status = 409;
  error.message += fmt::format(": the answer was begun by {}, and would go on with other words", by);
  error.code = "fingerprint_differs";
  return error;
}

/// Error: the answer was begun by another model or build, or by a server with other settings.
ApiResult<void> check_fingerprints(const JsonCursor& given, const ServedModel& model) {
  const JsonCursor of_model = given["system_fingerprint"], of_settings = given["settings_fingerprint"];
  OCTAVO_TRY(const std::string_view found, to_api_result(of_model.needed_string()));
  if (found != model.fingerprint)
    return std::unexpected(
        fingerprint_differs(of_model, found, model.fingerprint, "another build, model or instruction set"));
  OCTAVO_TRY(const auto settings, to_api_result(of_settings.string()));
  if (settings && *settings != model.settings)
    return std::unexpected(fingerprint_differs(of_settings, *settings, model.settings,
                                               "a server with another chat template, other defaults or limits"));
  return {};
}

constexpr std::string_view kMembers[] = {"token_ids", "seed",  "system_fingerprint", "settings_fingerprint",
                                         "id",        "verify"};
constexpr std::size_t kMaxIdBytes = 64;

/// The id of the answer that broke off; empty: none is given. It becomes a part of other ids.
ApiResult<std::string> read_id(const JsonCursor& given) {
  OCTAVO_TRY(const auto id, to_api_result(given.string()));
  if (!id) return std::string();
  const bool is_one = !id->empty() && id->size() <= kMaxIdBytes &&
                      std::ranges::all_of(*id, [](char c) { return is_letter_or_digit(c) || c == '_' || c == '-'; });
  if (is_one) return std::string(*id);
  return refused(
      given.wrong_value(fmt::format("an answer's id: 1 to {} letters, digits, underscores and hyphens", kMaxIdBytes)));
}

ApiResult<Resumption> read_resumption(FieldReader& reader, const JsonCursor& given) {
  OCTAVO_TRY(const boost::json::object* members, to_api_result(given.needed_object()));
  for (const auto& member : *members)
    if (std::ranges::find(kMembers, std::string_view(member.key())) == std::end(kMembers))
      return refused(
          given[std::string_view(member.key())].error("found a member of that name, expected token_ids, seed, "
                                                      "system_fingerprint, settings_fingerprint, id or verify",
                                                      "unsupported_parameter"));
  OCTAVO_TRY_VOID(check_fingerprints(given, reader.context.model));
  OCTAVO_TRY(reader.request.settings.sampling.seed, to_api_result(field::read_seed(given["seed"])));
  reader.request.is_seeded = true;
  Resumption resumption;
  OCTAVO_TRY(resumption.verifies, to_api_result(given["verify"].boolean_or(false)));
  OCTAVO_TRY(resumption.id, read_id(given["id"]));
  const JsonCursor ids = given["token_ids"];
  OCTAVO_TRY(const boost::json::array* array, to_api_result(ids.needed_array("an array of token ids")));
  OCTAVO_TRY(resumption.tokens, read_token_ids(ids, *array, reader.context.words.info().num_tokens));
  return resumption;
}

void take_resumption(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (!given.is_given()) return;
  auto resumption = read_resumption(reader, given);
  if (!resumption) return reader.refuse(std::move(resumption.error()));
  reader.request.resumption = std::move(*resumption);
}

constexpr ApiField kRows[] = {
    field::object("resume_from", "",
                  "an answer that broke off goes on: `{\"token_ids\": [...], \"seed\": ..., \"system_fingerprint\": "
                  "..., \"settings_fingerprint\": ..., \"id\": ...}`, which its events told, beside the same request; "
                  "`\"verify\": true` draws the given "
                  "tokens again and compares",
                  take_resumption),
};

}  // namespace

const FieldTable kResumeFields = kRows;

}  // namespace octavo
