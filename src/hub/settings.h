// The hub that models are fetched from, and the folders of this machine in which models lie: as the environment says,
// by the names that other tools use. Values; made once by main(), or by a test with its own.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "hub/ca_bundle.h"
#include "hub/environment.h"

namespace octavo::hub {

struct Settings {
  std::string endpoint = "https://huggingface.co";  // HF_ENDPOINT, without a slash at its end
  std::string token = {};                           // HF_TOKEN; empty: that of token_file, if there is one
  std::filesystem::path token_file = {};            // HF_TOKEN_PATH, or `token` in HF_HOME
  std::filesystem::path cache = {};                 // HF_HUB_CACHE, or `hub` in HF_HOME; empty: no folder is known
  bool offline = false;                             // HF_HUB_OFFLINE
  CaBundle ca_bundle = {};                          // what the servers' certificates are checked with
  std::chrono::seconds stall{30};  // HF_HUB_DOWNLOAD_TIMEOUT: the time at a standstill after which a transfer is cut

  std::filesystem::path models = {};                  // octavo/models in the cache folder: files by plain URLs
  std::filesystem::path llama_cpp = {};               // LLAMA_CACHE, or llama.cpp in the cache folder
  std::vector<std::filesystem::path> lm_studio = {};  // LM Studio's two usual folders
  std::vector<std::filesystem::path> ollama = {};     // OLLAMA_MODELS, or else the usual folders
};

/// Reads the environment; from the disk only whether a file of certificates is there.
Settings read_settings(const Environment& environment);

/// The token to show to the hub; empty: none. Error: the token's file cannot be read or holds no token.
Result<std::string> read_token(const Settings& settings);

}  // namespace octavo::hub
