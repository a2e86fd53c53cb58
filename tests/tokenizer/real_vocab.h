// The real vocabularies that the tests run on; scripts/setup fetches them into the folder OCTAVO_TEST_DATA.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "source/open_model.h"
#include "tokenizer/tokenizer.h"

namespace octavo::test {

struct RealVocab {
  std::string_view name;  // of the .ids file
  std::string_view file;  // in OCTAVO_TEST_DATA
};

inline constexpr RealVocab kRealVocabs[] = {
    {"smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"},
    {"gemma3", "gemma-3-270m-q4_k_m.gguf"},
    {"qwen2", "ggml-vocab-qwen2.gguf"},
    {"llama_bpe", "ggml-vocab-llama-bpe.gguf"},
    {"gpt_2", "ggml-vocab-gpt-2.gguf"},
    {"llama_spm", "ggml-vocab-llama-spm.gguf"},
};

/// Throws (and so fails the test) if the environment does not say where the files are.
inline std::filesystem::path test_data_folder() {
  const char* folder = std::getenv("OCTAVO_TEST_DATA");
  if (folder == nullptr) throw std::runtime_error("OCTAVO_TEST_DATA is not set: run scripts/setup, then ctest");
  return folder;
}

/// Loads one of kRealVocabs; throws with the error's message if it cannot be read.
template <class Words = Tokenizer>
Words load_real(std::string_view file) {
  const auto source = open_model(test_data_folder() / file);
  if (!source) throw std::runtime_error(source.error().message);
  auto words = Words::load(**source);
  if (!words) throw std::runtime_error(words.error().message);
  return std::move(*words);
}

}  // namespace octavo::test
