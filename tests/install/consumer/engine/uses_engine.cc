// The engine from an installed Octavo: a file that is not there gives an error that names it.
#include <octavo/engine.h>
#include <octavo/kv/prefill.h>

#include <cstdio>

int main() {
  const auto engine = octavo::Engine::load({.model_path = "no-such-model.gguf"});
  if (engine) return 1;
  std::printf("%s\n", engine.error().message.c_str());
  return 0;
}
