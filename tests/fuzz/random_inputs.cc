// Runs a fuzz target, without the fuzzer, on the files of a folder and on random inputs that are the same each time:
// so that targets are built, and their checks run, with every compiler.
//     fuzz_source_gguf_on_random_inputs COUNT [FOLDER]
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

int run_folder(const char* folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ++count;
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fputs("usage: PROGRAM COUNT [FOLDER]\n", stderr);
    return 2;
  }
  const int num_random = std::stoi(argv[1]), num_files = argc == 3 ? run_folder(argv[2]) : 0;
  std::mt19937 random(1);
  for (int i = 0; i < num_random; ++i) {
    std::vector<std::uint8_t> bytes(random() % 800);
    // Small bytes too: they are small numbers, and most operations are possible with those.
    const std::uint32_t limit = random() % 2 == 0 ? 256 : 48;
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() % limit);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%d random inputs, %d files\n", num_random, num_files);
  return 0;
}
