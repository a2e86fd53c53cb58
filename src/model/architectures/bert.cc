// BERT (Devlin et al., 2019) and its successors: MiniLM, bge, e5, XLM-RoBERTa and rerankers made from them; with rotary
// positions Jina Embeddings 3 (Sturua et al., 2024), whose adapters are merged or left out.
#include "model/architectures/architectures.h"
#include "model/architectures/encoder_keys.h"

namespace octavo {
namespace {

Result<void> read(const ModelKeys& keys, ModelConfig& config, bool has_rope) {
  OCTAVO_TRY(const LayerSpec layer, read_bert_layer(keys, config, has_rope));
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  make_encoder(config);
  return {};
}

}  // namespace

Result<void> read_bert(const ModelKeys& keys, ModelConfig& config) { return read(keys, config, false); }
Result<void> read_jina_bert_v3(const ModelKeys& keys, ModelConfig& config) { return read(keys, config, true); }

}  // namespace octavo
