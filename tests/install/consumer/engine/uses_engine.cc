// The engine from an installed Octavo: a file that is not there gives an error that names it.
// The header's version is the one that find_package() found.
#include <octavo/engine.h>
#include <octavo/kv/prefill.h>
#include <octavo/version.h>

#include <cstdio>

static_assert(OCTAVO_VERSION_MAJOR == FOUND_MAJOR && OCTAVO_VERSION_MINOR == FOUND_MINOR &&
              OCTAVO_VERSION_PATCH == FOUND_PATCH &&
              OCTAVO_VERSION == FOUND_MAJOR * 10000 + FOUND_MINOR * 100 + FOUND_PATCH);

int main() {
  const auto engine = octavo::Engine::load({.model_path = "no-such-model.gguf"});
  if (engine) return 1;
  std::printf("%s: %s\n", OCTAVO_VERSION_STRING, engine.error().message.c_str());
  return 0;
}
