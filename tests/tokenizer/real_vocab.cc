#include "tokenizer/real_vocab.h"

#include <cstdlib>
#include <stdexcept>

#include "source/open_model.h"

namespace octavo::test {

std::filesystem::path test_data_folder() {
  const char* folder = std::getenv("OCTAVO_TEST_DATA");
  if (folder == nullptr) throw std::runtime_error("OCTAVO_TEST_DATA is not set: run scripts/setup, then ctest");
  return folder;
}

Tokenizer load_real(std::string_view file) {
  const auto source = open_model(test_data_folder() / file);
  if (!source) throw std::runtime_error(source.error().message);
  auto tokenizer = Tokenizer::load(**source);
  if (!tokenizer) throw std::runtime_error(tokenizer.error().message);
  return std::move(*tokenizer);
}

}  // namespace octavo::test
