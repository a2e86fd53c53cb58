// One question, one answer, printed while it is made.
//
//     one_answer MODEL.gguf [QUESTION]
//
// load() maps the file and takes all the memory there will be. submit() checks the request and hands it over. run()
// computes steps and calls back for every token, on this thread, until nothing is left to do.
#include <octavo/engine.h>

#include <cstdio>
#include <utility>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s MODEL.gguf [QUESTION]\n", argv[0]);
    return 2;
  }
  // One user who waits for the whole: no need to hold steps to a time.
  auto loaded = octavo::Engine::load({.model_path = argv[1], .max_context = 2048, .itl_target_ms = 0});
  if (!loaded) {
    std::fprintf(stderr, "%s\n", loaded.error().message.c_str());
    return 1;
  }
  octavo::Engine& engine = **loaded;

  const octavo::ChatMessage question{.role = "user", .content = argc > 2 ? argv[2] : "Name the capital of France."};
  auto tokens = engine.text()->apply_chat_template({&question, 1});
  if (!tokens) {
    std::fprintf(stderr, "%s\n", tokens.error().message.c_str());
    return 1;
  }
  octavo::Request request;
  request.tokens = std::move(*tokens);
  request.sampling.temperature = 0;  // the most likely token, always
  request.max_tokens = 100;
  octavo::TokenEvent last;
  const auto submitted = engine.submit(std::move(request), [&last](const octavo::TokenEvent& event) {
    // Whole characters: a part of one waits for its rest. The views live as long as the call.
    std::fwrite(event.text.data(), 1, event.text.size(), stdout);
    std::fflush(stdout);
    if (event.finish != octavo::FinishReason::kNone) last = event;
  });
  if (!submitted) {
    std::fprintf(stderr, "%s\n", submitted.error().message.c_str());
    return 1;
  }
  engine.run();

  const octavo::RequestStats& stats = last.stats;
  std::printf("\n-- %s after %d tokens; prompt of %d; first token after %.2f s, %.2f s in all\n",
              octavo::finish_reason_name(last.finish).data(), stats.generated_tokens, stats.prompt_tokens,
              stats.time_to_first_token_s, stats.total_s);
  return stats.generated_tokens > 0 ? 0 : 1;
}
