// The fields that say how tokens are drawn and where an answer ends. Each function takes the path that an API has.
//
// Constants; any thread.
#pragma once

#include <limits>

#include "api/call/api_field.h"

namespace octavo {

inline constexpr std::size_t kMaxGivenStopTexts = 64;
inline constexpr std::size_t kMaxStopBytes = 1024;  // the most bytes of one stop text
inline constexpr std::size_t kMaxStopTokens = 1024;
inline constexpr std::size_t kMaxLogitBias = 1024;
inline constexpr float kMaxTemperature = 100;
inline constexpr std::int64_t kRandomSeed = -1;  // asks for a random seed, as in llama.cpp and vLLM
inline constexpr std::size_t kMaxAllowedTokens = 65536;
inline constexpr double kMaxDeadlineS = 86400;

namespace field {

inline constexpr double kMaxInt = std::numeric_limits<int>::max();

/// A seed: any 64-bit integer, where a negative one is taken modulo 2^64.
JsonResult<std::uint64_t> read_seed(const JsonCursor& given);
/// Takes a seed; kRandomSeed asks for a random one.
void take_seed(FieldReader& reader, const ApiField& field);
void take_top_k(FieldReader& reader, const ApiField& field);
void take_repetition_penalty(FieldReader& reader, const ApiField& field);
void take_repeat_penalty(FieldReader& reader, const ApiField& field);
void take_logit_bias(FieldReader& reader, const ApiField& field);
void take_stop(FieldReader& reader, const ApiField& field);
void take_stop_tokens(FieldReader& reader, const ApiField& field);
void take_num_choices(FieldReader& reader, const ApiField& field);
void take_priority(FieldReader& reader, const ApiField& field);
void take_penalty_window(FieldReader& reader, const ApiField& field);
void take_dry_window(FieldReader& reader, const ApiField& field);
void take_dry_breakers(FieldReader& reader, const ApiField& field);
void take_samplers(FieldReader& reader, const ApiField& field);
void take_allowed_tokens(FieldReader& reader, const ApiField& field);
void take_bad_words(FieldReader& reader, const ApiField& field);
void take_top_n_sigma(FieldReader& reader, const ApiField& field);

template <auto... kMembers>
void into_sampling(FieldReader& reader, const ApiField& field) {
  into<&ApiRequest::settings, &Request::sampling, kMembers...>(reader, field);
}

/// A row for numbers of SamplingParams.
template <auto... kMembers>
constexpr ApiField sampler(std::string_view path, double min, double max, std::string_view otherwise,
                           std::string_view text) {
  return number(path, min, max, otherwise, text, into_sampling<kMembers...>);
}

constexpr ApiField priority() {
  return integer("priority", -kMaxPriority, kMaxPriority, "0",
                 "the lower, the earlier, as in vLLM, and waiting makes up for it; below 0 as far as the server allows",
                 take_priority);
}
constexpr ApiField deadline() {
  return number("deadline_s", 0.001, kMaxDeadlineS, "none",
                "seconds until the request ends with a 408; the header X-Request-Timeout says the same, and the "
                "shorter counts",
                into<&ApiRequest::settings, &Request::deadline_s>);
}
constexpr ApiField temperature(std::string_view path) {
  return sampler<&SamplingParams::temperature>(path, 0, kMaxTemperature, "the model's, else 1",
                                               "how evenly tokens are drawn; 0: the likeliest, always");
}
constexpr ApiField top_k(std::string_view path) {
  return integer(path, -1, kMaxInt, "the model's, else 0",
                 "only so many of the likeliest tokens are drawn from; 0 and -1: all", take_top_k);
}
constexpr ApiField top_p(std::string_view path) {
  return sampler<&SamplingParams::top_p>(path, 0, 1, "the model's, else 1",
                                         "only the likeliest tokens that have this probability together");
}
constexpr ApiField min_p(std::string_view path) {
  return sampler<&SamplingParams::min_p>(path, 0, 1, "the model's, else 0",
                                         "only tokens of at least this part of the likeliest's probability");
}
constexpr ApiField typical_p(std::string_view path) {
  return sampler<&SamplingParams::typical_p>(
      path, 0, 1, "the model's, else 1",
      "only the tokens whose surprise is nearest to the entropy and that have this probability together");
}
constexpr ApiField seed(std::string_view path) {
  return integer(path, static_cast<double>(std::numeric_limits<std::int64_t>::min()),
                 static_cast<double>(std::numeric_limits<std::uint64_t>::max()), "the server's, else a random one",
                 "the same request with the same seed gets the same answer, whatever else runs; -1: a random one",
                 take_seed);
}
constexpr ApiField repetition_penalty(std::string_view path) {
  return number(path, 0.01, 100, "the model's, else 1",
                "divides the scores of tokens that stand in the prompt or the answer; 1: none",
                take_repetition_penalty);
}
constexpr ApiField frequency_penalty(std::string_view path) {
  return sampler<&SamplingParams::frequency_penalty>(
      path, -2, 2, "the model's, else 0", "taken from a token's score for each time that it stands in the answer");
}
constexpr ApiField presence_penalty(std::string_view path) {
  return sampler<&SamplingParams::presence_penalty>(path, -2, 2, "the model's, else 0",
                                                    "taken from a token's score if it stands in the answer");
}
constexpr ApiField penalty_window(std::string_view path) {
  return integer(path, -1, kMaxInt, "the model's, else -1",
                 "the last tokens that penalties look at; -1: all; 0: no penalties", take_penalty_window);
}
constexpr ApiField mirostat(std::string_view path, std::string_view otherwise = "the model's, else 0",
                            std::string_view text = "Mirostat, by its version, in place of all cuts; 0: off") {
  return integer(path, 0, 2, otherwise, text, into_sampling<&SamplingParams::mirostat, &Mirostat::version>);
}
constexpr ApiField mirostat_tau(std::string_view path) {
  return sampler<&SamplingParams::mirostat, &Mirostat::tau>(path, 0, 100, "the model's, else 5",
                                                            "the surprise that Mirostat aims at, in bits");
}
constexpr ApiField mirostat_eta(std::string_view path) {
  return sampler<&SamplingParams::mirostat, &Mirostat::eta>(path, 0, 1, "the model's, else 0.1",
                                                            "how fast Mirostat learns");
}
constexpr ApiField stop(std::string_view path, FieldForm form = FieldForm::kStringOrArray) {
  return {.path = path,
          .form = form,
          .text =
              "texts that end the answer, at most 64 of 1,024 bytes; none is ever shown, whole or in part, and an "
              "empty one stops nothing",
          .take = take_stop};
}

constexpr ApiField logit_bias(std::string_view path) {
  return any(path, "",
             "`{\"ID\": BIAS}`, or llama.cpp's `[[ID, BIAS]]`, at most 1,024: added to the scores of tokens. A text in "
             "the place of an id means each of its tokens. Beyond -100 and 100 counts as that, false as -100, and ids "
             "that the model does not have change nothing",
             take_logit_bias);
}

}  // namespace field

/// The samplers and bounds that OpenAI's API and the ones that extend it know: vLLM's and llama.cpp's.
extern const FieldTable kSamplingFields;
/// The number of answers to a prompt, for APIs that can give several.
extern const FieldTable kChoiceFields;

}  // namespace octavo
