#include "model/assistant.h"

#include "source/tensor_names.h"

namespace octavo {
namespace {

constexpr std::string_view kAssistant = "an assistant", kHead = "a draft head";

/// The last layer that has keys and values of its own and is windowed or not as the borrower is.
const AttentionSpec* find_lender(const ModelConfig& model, bool is_windowed, int& index) {
  for (index = model.num_layers() - 1; index >= 0; --index) {
    const AttentionSpec* attention = model.layer(index).attention();
    if (attention != nullptr && !attention->borrows_from && (attention->window != 0) == is_windowed) return attention;
  }
  return nullptr;
}

Result<void> expect_equal(std::string_view thing, std::string_view what, int found, int expected,
                          const ModelConfig& model) {
  if (found == expected) return {};
  return fail("{} of another model: {} {}, expected {} as {} has", thing, what, found, expected, model.name);
}

Result<void> borrow(AttentionSpec& own, const ModelConfig& model) {
  const bool is_windowed = own.window != 0;
  const std::string_view kind = is_windowed ? "layers with a window" : "layers that see all";
  int index = 0;
  const AttentionSpec* lender = find_lender(model, is_windowed, index);
  if (lender == nullptr)
    return fail("an assistant of another model: found {}, expected none as {} has", kind, model.name);
  OCTAVO_TRY_VOID(
      expect_equal(kAssistant, fmt::format("{} have heads of", kind), own.head_dim, lender->head_dim, model));
  OCTAVO_TRY_VOID(
      expect_equal(kAssistant, fmt::format("{} have values of", kind), own.v_dim(), lender->v_dim(), model));
  OCTAVO_TRY_VOID(
      expect_equal(kAssistant, fmt::format("KV heads of {}:", kind), own.num_kv_heads, lender->num_kv_heads, model));
  OCTAVO_TRY_VOID(expect_equal(kAssistant, "a window of", own.window, lender->window, model));
  if (own.window == 1) return fail("a window of 1 shows an assistant no key, expected 2 at least");
  if (own.rope != lender->rope)
    return fail("an assistant of another model: {} turn by a base of {}, expected the angles of {}, whose base is {}",
                kind, own.rope.base, model.name, lender->rope.base);
  own.borrows_from = index;
  if (is_windowed) --own.window;  // a query stands after the last key, so its window has one key less
  return {};
}

}  // namespace

Result<void> attach(ModelConfig& assistant, const ModelConfig& model) {
  if (assistant.architecture != model.architecture + "-assistant")
    return fail("an assistant of another model: found {}, expected one of architecture {} as {} is",
                assistant.architecture, model.architecture, model.name);
  OCTAVO_TRY_VOID(expect_equal(kAssistant, "hidden rows of", assistant.model_width, model.width, model));
  OCTAVO_TRY_VOID(expect_equal(kAssistant, "a vocabulary of", assistant.vocab_size, model.vocab_size, model));
  for (LayerSpec& layer : assistant.layers) OCTAVO_TRY_VOID(borrow(*layer.attention(), model));
  return {};
}

Result<void> take_head(ModelConfig& model, const ModelConfig& of_head) {
  if (of_head.architecture != model.architecture)
    return fail(
        "a file for another model: found {}, expected a draft head of architecture {} or an assistant, as {} has",
        of_head.architecture, model.architecture, model.name);
  OCTAVO_TRY_VOID(expect_equal(kHead, "hidden rows of", of_head.width, model.width, model));
  OCTAVO_TRY_VOID(expect_equal(kHead, "a vocabulary of", of_head.vocab_size, model.vocab_size, model));
  OCTAVO_TRY_VOID(expect_equal(kHead, "layers in front of it:", of_head.num_layers(), model.num_layers(), model));
  if (!of_head.prediction_layer)
    return fail("found {} layers of prediction, expected one, of a family that has such", of_head.num_skipped_layers);
  model.prediction_layer = of_head.prediction_layer;
  return {};
}

bool holds_head_alone(const ModelSource& source, const ModelConfig& config) {
  return config.prediction_layer &&
         source.find_tensor(tensor_names::of_layer(0, tensor_names::kAttentionNorm)) == nullptr;
}

}  // namespace octavo
