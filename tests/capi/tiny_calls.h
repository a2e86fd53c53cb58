// A tiny model for tests of include/octavo.h, and calls with it.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

#include "octavo.h"
#include "support/temp_file.h"
#include "support/tiny_model.h"
#include "support/tiny_vocab.h"

namespace octavo::test {

inline constexpr std::size_t kTinyVocab = 40;

/// The path of the model's file, which is there until the program ends.
inline const std::string& tiny_path() {
  static const TempFile file(TinyModel{
      .layers = 1, .width = 32, .context = 4096, .vocab = kTinyVocab, .extra = [](GgufWriter& keys) {
        TinyVocab(kTinyVocab).add_to(keys);
      }}.bytes());
  static const std::string path = file.string();
  return path;
}

inline std::string message_of_last() {
  octavo_error error = {};
  error.size = sizeof error;
  octavo_last_error(&error);
  return error.message;
}

inline octavo_status try_load_tiny(bool is_driven, octavo_handle shares, octavo_handle& model) {
  const char* const words[] = {"--kv-memory", "4MiB", "--threads", "1"};
  octavo_load_options options = {};
  options.size = sizeof options;
  options.model = tiny_path().c_str();
  options.options = words;
  options.num_options = shares == 0 ? 4 : 2;  // threads are shared
  options.is_driven = is_driven ? 1 : 0;
  options.shares = shares;
  return octavo_load(&options, &model);
}

/// A model that the test drives, or a thread of the library.
inline octavo_handle load_tiny(bool is_driven) {
  octavo_handle model = 0;
  EXPECT_EQ(try_load_tiny(is_driven, 0, model), OCTAVO_OK) << message_of_last();
  return model;
}

inline octavo_handle open_queue(octavo_callback on_events = nullptr, void* user = nullptr,
                                std::size_t max_waiting_bytes = 0) {
  octavo_queue_options options = {};
  options.size = sizeof options;
  options.on_events = on_events;
  options.user = user;
  options.max_waiting_bytes = max_waiting_bytes;
  octavo_handle queue = 0;
  EXPECT_EQ(octavo_queue_open(&options, &queue), OCTAVO_OK) << message_of_last();
  return queue;
}

/// A request whose answer has 3,000 tokens; with `pins` one that pins its prompt.
inline octavo_status submit_long(octavo_handle model, octavo_handle queue, std::uint64_t* id = nullptr,
                                 bool pins = false) {
  static constexpr std::int32_t kTokens[] = {5, 6, 7};
  octavo_request request = {};
  request.size = sizeof request;
  request.body = R"({"max_tokens": 3000, "ignore_eos": true})";
  request.tokens = kTokens;
  request.num_tokens = std::size(kTokens);
  request.form = OCTAVO_TOKENS;
  request.pins = pins ? 1 : 0;
  return octavo_submit(model, queue, &request, id);
}

}  // namespace octavo::test
