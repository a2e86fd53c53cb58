// The figures of /metrics: counts and histograms of the server's requests, and the engine's own figures. Names are
// vLLM's with the prefix octavo:, so that dashboards need a search and replace at most; docs/server/watching.md lists
// them.
//
// Owned by the server; the I/O thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "octavo/engine.h"

namespace octavo::server {

class ModelMetrics;

struct ModelStats {
  std::string id;
  EngineStats stats;
  std::string device = {};  // that computes it
};

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  /// The figures of a model's requests and steps.
  ModelMetrics& of_model(const std::string& id);

  void count_http(std::string_view route, int status);
  void set_connections(std::size_t count);
  void set_received(std::uint64_t num_bytes);
  void set_waiting_to_compile(std::size_t count);
  void set_held_bytes(std::uint64_t bytes);
  void set_stored_bytes(std::uint64_t bytes);
  void set_model_memory(std::uint64_t bytes);
  /// A model that was fetched for clients: "done", "failed" or "stopped".
  void count_pull(const std::string& outcome);
  /// The bytes since the server began.
  void set_pulled_bytes(std::uint64_t bytes);
  /// Something of the server's own failed for want of memory, and is tried again.
  void count_failure() noexcept;
  /// Since the server began.
  void set_dropped_log_lines(std::uint64_t count);

  /// Prometheus text, version 0.0.4, with the figures of the engines that there are.
  std::string text(std::span<const ModelStats> models) const;
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace octavo::server
