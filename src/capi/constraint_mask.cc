#include "capi/constraint_mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"
#include "capi/work_stop.h"
#include "json/json_document.h"

namespace octavo::capi {
namespace {

constexpr std::array<std::pair<std::string_view, ConstraintKind>, 5> kKinds = {{
    {"regex", ConstraintKind::kRegex},
    {"grammar", ConstraintKind::kGrammar},
    {"json_object", ConstraintKind::kJsonObject},
    {"choice", ConstraintKind::kChoice},
    {"json_schema", ConstraintKind::kJsonSchema},
}};

CallError wrong(std::string message) { return CallError::of(OCTAVO_INVALID, std::move(message)); }

/// The texts of a JSON array of texts.
CallResult<std::vector<std::string>> read_choices(std::string_view text) {
  const auto parsed = parse_json_object(fmt::format("{{\"choice\": {}}}", text), {});
  const boost::json::array* array = parsed ? parsed->at("choice").if_array() : nullptr;
  std::vector<std::string> choices;
  if (array != nullptr)
    for (const boost::json::value& choice : *array)
      if (const boost::json::string* one = choice.if_string()) choices.emplace_back(*one);
  if (array == nullptr || choices.size() != array->size())
    return std::unexpected(wrong("text: found something else, expected a JSON array of texts"));
  return choices;
}

CallResult<ConstraintSource> read_source(std::string_view kind, std::string_view text) {
  const auto* const found = std::ranges::find(kKinds, kind, &std::pair<std::string_view, ConstraintKind>::first);
  if (found == kKinds.end())
    return std::unexpected(
        wrong(fmt::format("kind: found '{}', expected regex, grammar, json_schema, json_object or choice", kind)));
  ConstraintSource source{.kind = found->second};
  if (source.kind != ConstraintKind::kChoice) {
    source.text = text;
    return source;
  }
  OCTAVO_TRY(source.choices, read_choices(text));
  return source;
}

}  // namespace

CallResult<std::shared_ptr<ConstraintMask>> ConstraintMask::compile(std::shared_ptr<LoadedModel> model,
                                                                    std::string_view kind, std::string_view text) {
  const auto source = read_source(kind, text);
  if (!source) return std::unexpected(source.error());
  const StopOfCall stop(model->stop_token());
  auto compiled = model->engine().text()->compile_constraint(*source, stop.token());
  if (!compiled) return std::unexpected(stop.tell(compiled.error()));
  auto constraint = std::dynamic_pointer_cast<const CompiledConstraint>(std::move(*compiled));
  return std::shared_ptr<ConstraintMask>(new ConstraintMask(std::move(model), std::move(constraint)));
}

ConstraintMask::ConstraintMask(std::shared_ptr<LoadedModel> model, std::shared_ptr<const CompiledConstraint> constraint)
    : model_(std::move(model)), constraint_(std::move(constraint)) {
  state_.begin(constraint_, {});
}

CallResult<void> ConstraintMask::move_behind(std::span<const TokenId> tokens) {
  const bool goes_on = tokens.size() >= tokens_.size() && std::ranges::equal(tokens.first(tokens_.size()), tokens_);
  if (!goes_on) {
    state_.begin(constraint_, {});
    tokens_.clear();
  }
  for (const TokenId token : tokens.subspan(tokens_.size())) {
    if (token < 0 || token >= model_->engine().info().vocab_size || !state_.accept(token)) {
      const CallError error = wrong(
          fmt::format("tokens: found {} at {}, expected one that the constraint allows there", token, tokens_.size()));
      state_.begin(constraint_, {});
      tokens_.clear();
      return std::unexpected(error);
    }
    tokens_.push_back(token);
  }
  return {};
}

CallResult<void> ConstraintMask::allow(std::span<const TokenId> tokens, std::span<std::uint32_t> words) {
  const std::size_t needed = (to_size(model_->engine().info().vocab_size) + 31) / 32;
  if (words.size() < needed)
    return std::unexpected(wrong(fmt::format("num_words: found {}, expected at least {}", words.size(), needed)));
  const std::lock_guard lock(mutex_);
  if (auto moved = move_behind(tokens); !moved) return moved;
  std::ranges::fill(words, 0U);
  if (!state_.allow(words.first(needed)))
    return std::unexpected(wrong("the mask takes more steps than a constraint may"));
  return {};
}

}  // namespace octavo::capi
