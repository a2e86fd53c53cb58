// llama.cpp's logits of given token ids, for comparison: float32 [number of ids, vocabulary size], raw, to a file.
// Built by tools/build_llama_cpp.sh against llama.cpp's own library; no part of Octavo.
//
//     llama-logits MODEL.gguf OUT.raw THREADS < ids        ids: decimal, separated by spaces
//
// As in the timed runs: f16 keys and values, flash attention, 512 tokens a batch.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "llama.h"

namespace {

constexpr int kBatch = 512;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "llama-logits: %s\n", what);
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) fail("usage: llama-logits MODEL.gguf OUT.raw THREADS < ids");
  const int threads = std::atoi(argv[3]);
  std::vector<llama_token> ids;
  for (int id = 0; std::scanf("%d", &id) == 1;) ids.push_back(id);
  if (ids.empty()) fail("no ids on standard input");

  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  llama_backend_init();
  llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) fail("cannot load the model");
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(ids.size());
  params.n_batch = params.n_ubatch = kBatch;
  params.n_threads = params.n_threads_batch = threads;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) fail("cannot make a context");
  const auto vocab_size = static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model)));

  std::FILE* out = std::fopen(argv[2], "wb");
  if (out == nullptr) fail("cannot open the output file");
  llama_batch batch = llama_batch_init(kBatch, 0, 1);
  for (std::size_t first = 0; first < ids.size(); first += kBatch) {
    batch.n_tokens = 0;
    for (std::size_t i = first; i < ids.size() && i < first + kBatch; ++i) {
      const int n = batch.n_tokens++;
      batch.token[n] = ids[i];
      batch.pos[n] = static_cast<llama_pos>(i);
      batch.n_seq_id[n] = 1;
      batch.seq_id[n][0] = 0;
      batch.logits[n] = 1;
    }
    if (llama_decode(context, batch) != 0) fail("llama_decode failed");
    for (int n = 0; n < batch.n_tokens; ++n)
      if (std::fwrite(llama_get_logits_ith(context, n), sizeof(float), vocab_size, out) != vocab_size)
        fail("cannot write the output file");
  }
  if (std::fclose(out) != 0) fail("cannot write the output file");
  llama_batch_free(batch);
  llama_free(context);
  llama_model_free(model);
  return 0;
}
