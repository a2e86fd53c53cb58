#include "engine/draft_file.h"

#include <algorithm>

#include "base/text.h"
#include "engine/matrix_types.h"
#include "model/assistant.h"
#include "source/open_model.h"

namespace octavo {
namespace {

/// Where both files have words, they are the same ones: a number stands for the same word in both.
Result<void> check_words(const ModelSource& source, const ModelSource& of_model) {
  constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
  const auto found = source.get_strings(kTokensKey), expected = of_model.get_strings(kTokensKey);
  if (!found || !expected) return {};
  const auto [own, models] = std::ranges::mismatch(*found, *expected);
  if (own == found->end() || models == expected->end()) return {};  // numbers of words are compared elsewhere
  return fail("{}: a vocabulary of another model: token {} is {}, expected {} as in {}", source.name(),
              own - found->begin(), quote(*own), quote(*models), of_model.name());
}

}  // namespace

Result<void> refuse_draft_file(const ModelSource& source, const ModelConfig& config) {
  if (!config.is_assistant()) return {};
  return fail(
      "{}: found {}, an assistant that only drafts for a model with rows of {}; expected a model, beside which "
      "this file is named by --draft",
      source.name(), config.architecture, config.model_width);
}

Result<DraftFile> DraftFile::open(const std::filesystem::path& path, const ModelSource& of_model,
                                  const ModelConfig& model, const std::string& quantize, const std::stop_token& stop) {
  DraftFile file;
  OCTAVO_TRY(file.source, open_model(path, stop));
  const ModelSource& source = *file.source;
  OCTAVO_TRY(file.config, ModelConfig::load(source));
  if (!file.config.is_assistant())
    return fail("{}: found a model of architecture {}, expected an assistant of {}", source.name(),
                file.config.architecture, model.name);
  const Result<void> attached = attach(file.config, model);
  if (!attached) return fail("{}: {}", source.name(), attached.error().message);
  OCTAVO_TRY_VOID(check_words(source, of_model));
  OCTAVO_TRY(const MatrixTypes types, matrix_types(source, quantize));
  OCTAVO_TRY(file.weights, WeightList::create(source, file.config, types));
  return file;
}

}  // namespace octavo
