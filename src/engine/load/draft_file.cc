#include "engine/load/draft_file.h"

#include <algorithm>

#include "base/text.h"
#include "engine/load/matrix_types.h"
#include "model/assistant.h"
#include "source/joined_source.h"
#include "source/open_model.h"
#include "source/tensor_names.h"

namespace octavo {
namespace {

/// Compares the vocabularies of both files, if both have one: a token must stand for the same word in each.
Result<void> check_words(const ModelSource& source, const ModelSource& of_model) {
  constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
  const auto found = source.get_strings(kTokensKey), expected = of_model.get_strings(kTokensKey);
  if (!found || !expected) return {};
  const auto [own, models] = std::ranges::mismatch(*found, *expected);
  if (own == found->end() || models == expected->end()) return {};  // elsewhere the sizes of vocabularies are compared
  return fail("{}: a vocabulary of another model: token {} is {}, expected {} as in {}", source.name(),
              own - found->begin(), quote(*own), quote(*models), of_model.name());
}

}  // namespace

Result<void> refuse_draft_file(const ModelSource& source, const ModelConfig& config) {
  if (config.is_assistant())
    return fail(
        "{}: found {}, an assistant that only drafts for a model with rows of {}; expected a model, beside which "
        "this file is named by --draft",
        source.name(), config.architecture, config.model_width);
  if (!holds_head_alone(source, config)) return {};
  return fail(
      "{}: found a draft head alone, of a model of {} with {} layers and rows of {}; expected a model, beside which "
      "this file is named by --draft",
      source.name(), config.architecture, config.num_layers(), config.width);
}

Result<DraftFile> DraftFile::open(const std::filesystem::path& path, const ModelSource& of_model, ModelConfig& model,
                                  const How& how) {
  DraftFile file;
  OCTAVO_TRY(file.source, open_model(path, how.stop, how.math));
  const ModelSource& source = *file.source;
  OCTAVO_TRY(ModelConfig config, ModelConfig::load(source, how.math, how.max_context));
  const Result<void> fits = config.is_assistant() ? attach(config, model) : take_head(model, config);
  if (!fits) return fail("{}: {}", source.name(), fits.error().message);
  OCTAVO_TRY_VOID(check_words(source, of_model));
  if (!config.is_assistant()) {
    const auto is_of_head = [first = model.num_layers()](std::string_view tensor) {
      const auto of_layer = tensor_names::split(tensor);
      return of_layer && of_layer->layer >= first;
    };
    file.source = std::make_unique<JoinedSource>(of_model, std::move(file.source), is_of_head);
    return file;
  }
  OCTAVO_TRY(const MatrixTypes types, matrix_types(source, how.quantize));
  OCTAVO_TRY(file.weights, WeightList::create(source, config, types));
  file.assistant = std::move(config);
  return file;
}

}  // namespace octavo
