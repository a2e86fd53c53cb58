// The table of sampling_fields.h, and what reads its fields that OpenAI's API does not have: samplers under llama.cpp's
// names, words and tokens under vLLM's.
#include <fmt/format.h>

#include <boost/json/value.hpp>

#include "api/fields/sampling_fields.h"
#include "sampler/sampler.h"
#include "sampler/sampler_order.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxBadWords = 128;
constexpr std::size_t kMaxBadWordBytes = 256;

SamplingParams& sampling_in(FieldReader& reader) { return reader.request.settings.sampling; }

/// Reads an array of at most `most` strings, each of 1 to `most_bytes` bytes; empty where it is wrong.
std::vector<std::string> read_strings(FieldReader& reader, const JsonCursor& given, std::size_t most,
                                      std::size_t most_bytes) {
  std::vector<std::string> strings;
  const json::array* array = given.if_array();
  if (array == nullptr || array->size() > most) {
    reader.refuse(given.wrong_type(fmt::format("an array of at most {} strings", most)));
    return strings;
  }
  for (std::size_t i = 0; i < array->size(); ++i) {
    const json::string* text = (*array)[i].if_string();
    if (text == nullptr || text->empty() || text->size() > most_bytes) {
      reader.refuse(given[i].wrong_type(fmt::format("a string of 1 to {} bytes", most_bytes)));
      return strings;
    }
    strings.emplace_back(*text);
  }
  return strings;
}

/// Takes llama.cpp's number of last tokens: -1 means all of them; for 0, none, `off` is called.
template <class Off>
void take_window(FieldReader& reader, const ApiField& field, int& window, const Off& off) {
  const auto asked = reader.take(reader.at(field.path).integer(-1, static_cast<std::int64_t>(field.max)));
  if (!asked) return;
  if (*asked == 0) off();
  window = *asked < 0 ? 0 : static_cast<int>(*asked);
}

}  // namespace

namespace field {

void take_top_n_sigma(FieldReader& reader, const ApiField& field) {
  into_sampling<&SamplingParams::top_n_sigma>(reader, field);
  float& sigma = sampling_in(reader).top_n_sigma;
  sigma = std::max(sigma, 0.0F);  // -1 is llama.cpp's "off"
}

// The rows of the penalties come before this one, as a window of no tokens switches the penalties off.
void take_penalty_window(FieldReader& reader, const ApiField& field) {
  SamplingParams& sampling = sampling_in(reader);
  take_window(reader, field, sampling.penalty_window, [&sampling] {
    sampling.repetition_penalty = 1;
    sampling.frequency_penalty = sampling.presence_penalty = 0;
  });
}

void take_dry_window(FieldReader& reader, const ApiField& field) {
  Dry& dry = sampling_in(reader).dry;
  take_window(reader, field, dry.window, [&dry] { dry.multiplier = 0; });
}

void take_dry_breakers(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (given.is_given())
    sampling_in(reader).dry.breakers = read_strings(reader, given, kMaxDryBreakers, kMaxDryBreakerBytes);
}

void take_samplers(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (!given.is_given()) return;
  const json::string* text = given.if_string();
  std::vector<std::string> names;
  if (text == nullptr) names = read_strings(reader, given, 2 * kDefaultSamplerOrder.size(), 40);
  // llama.cpp has a sampler with this name for gaps, and extensions for editors ask for it.
  if (std::holds_alternative<Gap>(reader.request.prompt) && std::erase(names, "infill") > 0)
    reader.request.warnings.push_back(
        fmt::format("{}: infill is left out: this server has no sampler of that name", field.path));
  const Result<SamplerOrder> order =
      text != nullptr ? SamplerOrder::parse(std::string_view(*text).substr(0, 1000)) : SamplerOrder::parse(names);
  if (!order) return reader.refuse(given.error(order.error().message));
  order->apply_to(sampling_in(reader));
}

void take_bad_words(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (given.is_given()) reader.request.bad_words = read_strings(reader, given, kMaxBadWords, kMaxBadWordBytes);
}

}  // namespace field

namespace {

using namespace field;  // NOLINT(google-build-using-namespace): the rows below name little else

constexpr ApiField kRows[] = {
    temperature("temperature"),
    top_k("top_k"),
    top_p("top_p"),
    min_p("min_p"),
    seed("seed"),
    repetition_penalty("repetition_penalty"),
    number("repeat_penalty", 0.01, 100, "as `repetition_penalty`", "llama.cpp's name of `repetition_penalty`",
           take_repeat_penalty),
    frequency_penalty("frequency_penalty"),
    presence_penalty("presence_penalty"),
    logit_bias("logit_bias"),
    typical_p("typical_p"),
    number("top_n_sigma", -1, 1000, "the model's, else -1",
           "only tokens whose scores lie within so many standard deviations of the best; 0 and -1: all",
           take_top_n_sigma),
    sampler<&SamplingParams::xtc, &Xtc::probability>(
        "xtc_probability", 0, 1, "the model's, else 0",
        "how often all likely tokens but the least likely of them are left out (XTC)"),
    sampler<&SamplingParams::xtc, &Xtc::threshold>("xtc_threshold", 0, 1, "the model's, else 0.1",
                                                   "the probability from which a token counts as likely for XTC"),
    sampler<&SamplingParams::dynamic_temperature, &DynamicTemperature::range>(
        "dynatemp_range", 0, kMaxTemperature, "the model's, else 0",
        "how far the temperature moves up and down, by the entropy"),
    sampler<&SamplingParams::dynamic_temperature, &DynamicTemperature::exponent>(
        "dynatemp_exponent", 0, 100, "the model's, else 1", "the power to which the entropy moves it"),
    penalty_window("repeat_last_n"),
    sampler<&SamplingParams::dry, &Dry::multiplier>(
        "dry_multiplier", 0, 100, "the model's, else 0",
        "tokens that would continue a repetition lose `dry_multiplier` times `dry_base` to the power of (length - "
        "`dry_allowed_length`) of their scores (DRY); 0: off"),
    sampler<&SamplingParams::dry, &Dry::base>("dry_base", 1, 100, "the model's, else 1.75",
                                              "how fast that grows with the repetition's length"),
    integer("dry_allowed_length", 0, kMaxInt, "the model's, else 2", "shorter repetitions lose nothing",
            into_sampling<&SamplingParams::dry, &Dry::allowed_length>),
    integer("dry_penalty_last_n", -1, kMaxInt, "the model's, else -1",
            "the last tokens that DRY looks at; -1: all; 0: off", take_dry_window),
    strings("dry_sequence_breakers", "the model's, else `[\"\\n\", \":\", \"\\\"\", \"*\"]`",
            "a token that contains one of these texts, at most 16, ends repetitions", take_dry_breakers),
    mirostat("mirostat"),
    mirostat("mirostat_mode", "as `mirostat`", "text-generation-webui's name of `mirostat`"),
    mirostat_tau("mirostat_tau"),
    mirostat_eta("mirostat_eta"),
    string_or_array(
        "samplers", "the model's, else `penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature`",
        "the samplers in their order, by llama.cpp's names, in an array or between semicolons: those that are not "
        "named are left out; penalties and DRY come first",
        take_samplers),
    array("allowed_token_ids", "", "ids of the tokens that are drawn, at most 65,536, and no others",
          take_allowed_tokens),
    strings(
        "bad_words", "",
        "texts, at most 128 of 256 bytes, that are not drawn at the beginning of a text or behind a space, as in vLLM",
        take_bad_words),
    integer("min_tokens", 0, kMaxInt, "0",
            "the answer has so many tokens at least; a stop text that is complete within them is shown",
            into<&ApiRequest::settings, &Request::min_tokens>),
    boolean("ignore_eos", "false", "the answer goes on behind the model's end token",
            into<&ApiRequest::settings, &Request::ignore_eos>),
    stop("stop"),
    array("stop_token_ids", "", "ids of tokens that end the answer, at most 1,024", take_stop_tokens),
    priority(),
    deadline(),
};

constexpr ApiField kChoiceRows[] = {integer(
    "n", 1, kMaxChoices, "1",
    "answers to each prompt, which is computed once; as many at most as the server lets advance in one step, and "
    "1,024 in all",
    take_num_choices)};

}  // namespace

const FieldTable kSamplingFields = kRows;
const FieldTable kChoiceFields = kChoiceRows;

}  // namespace octavo
