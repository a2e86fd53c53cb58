#include "api/call/settings_fingerprint.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>

#include "base/hex.h"

namespace octavo {
namespace {

constexpr std::size_t kShownBytes = 8;

/// Values as a text of which different ones have different texts: each text with its length before it.
class Text {
 public:
  template <class Value>
  void add(const Value& value) {
    if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
      const std::string_view text = value;
      text_ += fmt::format("{}:{};", text.size(), text);
    } else {
      text_ += fmt::format("{};", value);
    }
  }
  void add(const TemplateValue& value) {
    add(value.index());
    if (const auto* const truth = std::get_if<bool>(&value)) add(*truth);
    if (const auto* const whole = std::get_if<std::int64_t>(&value)) add(*whole);
    if (const auto* const real = std::get_if<double>(&value)) add(*real);
    if (const auto* const text = std::get_if<std::string>(&value)) add(*text);
    if (const auto* const list = std::get_if<TemplateList>(&value)) {
      add(list->size());
      for (const TemplateValue& element : *list) add(element);
    }
    if (const auto* const names = std::get_if<TemplateDict>(&value)) add(*names);
  }
  void add(const TemplateDict& names) {
    add(names.size());
    for (const auto& [name, value] : names) {
      add(name);
      add(value);
    }
  }
  template <class... Values>
  void add_all(const Values&... values) {
    (add(values), ...);
  }

  std::string digest() const {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256(reinterpret_cast<const unsigned char*>(text_.data()), text_.size(), digest.data());
    return hex_digits(std::as_bytes(std::span(digest).first(kShownBytes)));
  }

 private:
  std::string text_;
};

void add_sampling(Text& text, const SamplingParams& params) {
  text.add_all(params.temperature, params.top_k, params.top_p, params.min_p, params.repetition_penalty,
               params.frequency_penalty, params.presence_penalty, params.penalty_window, params.top_n_sigma,
               params.typical_p, params.dynamic_temperature.range, params.dynamic_temperature.exponent,
               params.xtc.probability, params.xtc.threshold, params.dry.multiplier, params.dry.base,
               params.dry.allowed_length, params.dry.window, params.mirostat.version, params.mirostat.tau,
               params.mirostat.eta);
  for (const std::string& breaker : params.dry.breakers) text.add(breaker);
  for (const SamplerStep step : params.order) text.add(static_cast<int>(step));
}

}  // namespace

std::string settings_fingerprint(const ServedModel& model, const ModelInfo& info) {
  const RequestPolicy& policy = model.policy;
  Text text;
  text.add_all(info.chat_template, policy.max_tokens, policy.reasoning_budget, static_cast<int>(policy.reasoning_mode),
               policy.image_placeholder, policy.closes_objects, info.max_context);
  text.add(policy.template_names);
  for (const EndToken& end : info.end_tokens) text.add(end.id);
  add_sampling(text, model.sampling_defaults);
  return "set_" + text.digest();
}

}  // namespace octavo
