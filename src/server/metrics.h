// The figures of /metrics: counts and histograms of the server's requests, and those of the engines. Names are vLLM's
// with the prefix octavo:, or vLLM's own (metrics_names.h); docs/server/watching.md lists them.
//
// Owned by the server; the I/O thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "octavo/engine.h"
#include "server/metrics_names.h"

namespace octavo::server {

class ModelMetrics;

struct ModelStats {
  std::string id;
  EngineStats stats;
  std::string device = {};  // the device that computes the model
  int block_size = 0;       // the tokens in a KV block
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
  /// Counts a model that was fetched for clients; `outcome`: "done", "failed" or "stopped".
  void count_pull(const std::string& outcome);
  /// Sets the bytes that were fetched since the server began.
  void set_pulled_bytes(std::uint64_t bytes);
  /// Counts a failure of the server itself for want of memory, which is tried again.
  void count_failure() noexcept;
  /// Sets the number of dropped lines since the server began.
  void set_dropped_log_lines(std::uint64_t count);

  /// The figures in Prometheus' text format, version 0.0.4, with those of the engines in `models`.
  std::string text(std::span<const ModelStats> models, MetricsNames names = MetricsNames::kOctavo) const;
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace octavo::server
