// Many requests at once, from many threads, while one thread drives the engine.
//
//     many_answers MODEL.gguf
//
// Eight clients ask about one long text. Each has a thread and pulls its answer from a TokenStream; the engine's thread
// computes all of them together, and the text only once. The same seed gives the same answer whatever runs beside it:
// at the end one question is asked again, alone. Exit code 1 if that answer differs.
#include <octavo/engine.h>
#include <octavo/token_stream.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int kNumClients = 8;

struct Answer {
  std::string text;
  octavo::RequestStats stats;
};

octavo::Request ask(const octavo::Engine& engine, int client) {
  std::string text = "These are the house rules.\n";
  for (int rule = 1; rule <= 60; ++rule)
    text += "Rule " + std::to_string(rule) + ": room " + std::to_string(rule) + " is cleaned on day " +
            std::to_string(rule % 7 + 1) + ".\n";
  const octavo::ChatMessage message{.role = "user",
                                    .content = text + "When is room " + std::to_string(client + 3) + " cleaned?"};
  octavo::Request request;
  request.tokens = engine.text()->apply_chat_template({&message, 1}).value();
  request.sampling = {.temperature = 0.8F, .top_k = 40, .seed = 1 + static_cast<std::uint64_t>(client)};
  request.max_tokens = 24;
  return request;
}

Answer pull(octavo::Engine& engine, octavo::Request request) {
  auto stream = octavo::TokenStream::submit(engine, std::move(request));
  if (!stream) {
    std::fprintf(stderr, "%s\n", stream.error().message.c_str());
    std::exit(1);
  }
  Answer answer;
  while (const octavo::RequestEvent* event = (*stream)->next()) {
    answer.text += event->text;
    if (event->finish != octavo::FinishReason::kNone) answer.stats = event->stats;
  }
  return answer;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s MODEL.gguf\n", argv[0]);
    return 2;
  }
  auto loaded = octavo::Engine::load({.model_path = argv[1], .max_context = 4096, .itl_target_ms = 50});
  if (!loaded) {
    std::fprintf(stderr, "%s\n", loaded.error().message.c_str());
    return 1;
  }
  octavo::Engine& engine = **loaded;
  std::jthread driver([&engine](const std::stop_token& stop) { engine.run_until(stop); });

  std::vector<Answer> answers(kNumClients);
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < kNumClients; ++i) {
      clients.emplace_back([&, i] { answers[static_cast<std::size_t>(i)] = pull(engine, ask(engine, i)); });
    }
  }
  int prompt_tokens = 0, shared = 0;
  for (const Answer& answer : answers) {
    prompt_tokens += answer.stats.prompt_tokens;
    shared += answer.stats.cached_tokens;
    std::printf("prompt of %d tokens, %d of them computed by others; first token after %.2f s\n",
                answer.stats.prompt_tokens, answer.stats.cached_tokens, answer.stats.time_to_first_token_s);
  }
  std::printf("%d answers, %d prompt tokens, computed once: %d\n", kNumClients, prompt_tokens, prompt_tokens - shared);

  const Answer alone = pull(engine, ask(engine, 5));
  const bool same = alone.text == answers[5].text;
  std::printf("asked again, alone: %s\n", same ? "the same answer" : "ANOTHER ANSWER");
  engine.drain();  // refuses what comes now; the thread ends when all is done
  return same ? 0 : 1;
}
