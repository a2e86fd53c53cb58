// Several answers to one prompt: the prompt is computed once, then each choice goes on in memory of its own.
//
//     forks MODEL.gguf [BEGINNING]
//
// The choices share the blocks of the prompt; one that writes into a shared block gets a private copy of it first.
// Draws are keyed by (seed, choice, position), so choice 2 of four is the answer that a request of one choice with
// first_choice = 2 gets. Exit code 1 if it is another one.
#include <octavo/engine.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace {

std::vector<std::string> answers_of(octavo::Engine& engine, const octavo::Request& request) {
  std::vector<std::string> answers(static_cast<std::size_t>(request.num_choices));
  const auto submitted = engine.submit(
      request, [&](const octavo::TokenEvent& event) { answers[event.choice - request.first_choice] += event.text; });
  if (!submitted) {
    std::fprintf(stderr, "%s\n", submitted.error().message.c_str());
    std::exit(1);
  }
  engine.run();
  return answers;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s MODEL.gguf [BEGINNING]\n", argv[0]);
    return 2;
  }
  auto loaded = octavo::Engine::load({.model_path = argv[1], .max_context = 2048, .itl_target_ms = 0});
  if (!loaded) {
    std::fprintf(stderr, "%s\n", loaded.error().message.c_str());
    return 1;
  }
  octavo::Engine& engine = **loaded;
  auto tokens = engine.text()->tokenize(argc > 2 ? argv[2] : "The old lighthouse keeper opened the door and saw", {});
  if (!tokens) {
    std::fprintf(stderr, "%s\n", tokens.error().message.c_str());
    return 1;
  }
  octavo::Request request;
  request.tokens = std::move(*tokens);
  request.sampling = {.temperature = 0.9F, .top_p = 0.95F, .seed = 7};
  request.sampling.presence_penalty = 0.5F;
  request.stop = {"."};  // one sentence each
  request.max_tokens = 40;
  request.num_choices = 4;
  const std::size_t num_tokens = request.tokens.size();
  const std::vector<std::string> answers = answers_of(engine, request);
  for (std::size_t i = 0; i < answers.size(); ++i) std::printf("%zu:%s.\n", i, answers[i].c_str());
  const octavo::EngineStats stats = engine.stats();
  std::printf("a prompt of %zu tokens for %zu answers: %llu blocks copied when they parted\n", num_tokens,
              answers.size(), static_cast<unsigned long long>(stats.kv.copies));

  request.num_choices = 1;
  request.first_choice = 2;
  const bool same = answers_of(engine, request).front() == answers[2];
  std::printf("choice 2 requested alone: %s\n", same ? "the same answer" : "ANOTHER ANSWER");
  return same ? 0 : 1;
}
