// The model that is being fetched for clients of the server, one at a time, and the clients that are told of it.
//
// All clients that ask for the model that is being fetched are told of the same fetch. It ends when the last of them
// has left, and what was fetched stays for the next time. A server of several models then offers the model without a
// restart. Owned by the Service; the I/O thread. A model is fetched on a thread of its own, which is stopped and joined
// first.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "api/call/api_error.h"
#include "server/api_keys.h"
#include "server/metrics.h"
#include "server/model_table.h"
#include "server/pull_options.h"

namespace octavo::server {

/// How far a fetch has come.
struct PullNews {
  enum class Stage : std::uint8_t { kListing, kFetching, kVerifying, kOffering };

  Stage stage = Stage::kListing;
  FetchProgress file = {};  // the file that is being fetched

  bool operator==(const PullNews& other) const {
    return stage == other.stage && file.digest == other.file.digest &&
           file.completed_bytes == other.file.completed_bytes && file.total_bytes == other.file.total_bytes;
  }
};

/// The state of a fetch, which the fetching thread writes and the I/O thread reads. Any thread.
class PullBoard {
 public:
  explicit PullBoard(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  /// Begins a new fetch.
  void reset();
  PullNews news() const;
  /// The bytes written for all models.
  std::uint64_t written_bytes() const;
  /// The error with which the fetch was refused, if it was.
  std::optional<ApiError> refusal() const;

  Result<void> admit(std::uint64_t bytes);
  /// Notes progress. False: more was written than is allowed.
  bool set(const FetchProgress& progress);

 private:
  const std::uint64_t max_bytes_;  // 0: no limit
  mutable std::mutex mutex_;
  PullNews news_;
  std::uint64_t written_bytes_ = 0;
  std::optional<ApiError> refusal_;
};

class ModelPuller {
 public:
  /// The warnings, or the reason why the model was not fetched.
  using Outcome = ApiResult<std::vector<std::string>>;
  static constexpr std::size_t kMostReaders = 32;

  ModelPuller(const PullOptions& options, boost::asio::io_context& io, ModelTable& models, Metrics& metrics);
  ~ModelPuller();
  ModelPuller(const ModelPuller&) = delete;
  ModelPuller& operator=(const ModelPuller&) = delete;

  /// A client that asks for a model, which is fetched as long as there is one.
  class Reader {
   public:
    /// `on_news` is called when there may be something to read, but not from the constructor.
    Reader(ModelPuller& puller, std::string name, const KeyDigest& key, std::function<void()> on_news);
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    PullNews news() const;
    /// None: the fetch is not over.
    const std::optional<Outcome>& outcome() const { return outcome_; }

   private:
    friend class ModelPuller;

    void end(const Outcome& outcome);

    ModelPuller& puller_;
    const KeyDigest key_;
    const std::function<void()> on_news_;
    std::optional<Outcome> outcome_;
    bool is_listed_ = false;
    std::list<Reader*>::iterator place_;
  };

  /// Sets what is called when there is a new model to offer; entries_are_read() must follow. Not set: this server's
  /// models are fixed.
  void set_on_fetched(std::function<void()> callback) { on_fetched_ = std::move(callback); }
  /// Called when the entries were read after that. `error`: why they could not be; null: they are in the table.
  void entries_are_read(const Error* error);
  /// Called several times a second: lets readers look for news.
  void tick();
  /// Stops the fetch, and refuses all others.
  void begin_drain();
  /// Ends readers whose key is not in `keys`.
  void end_revoked(const ApiKeys& keys);
  std::uint64_t written_bytes() const { return board_.written_bytes(); }

 private:
  /// The reason why nothing is fetched for a reader, if there is one.
  std::optional<ApiError> refuse(const std::string& name) const;
  void begin(const std::string& name);
  void run(const std::string& name, const std::stop_source& stop);
  void hand_over(Result<bool> fetched);
  void take(Result<bool> fetched);
  /// The reason why the fetched model is not served, if there is one. `error`: the entries could not be read.
  std::vector<std::string> warnings(const Error* error) const;
  void give_up();
  void end(const Outcome& outcome);

  const PullOptions& options_;
  boost::asio::io_context& io_;
  ModelTable& models_;
  Metrics& metrics_;
  std::function<void()> on_fetched_;
  PullBoard board_;
  std::string name_;            // the model that is being fetched, or the next one
  std::list<Reader*> readers_;  // the clients that asked for it
  bool is_fetching_ = false, is_offering_ = false;
  bool is_given_up_ = false;  // the fetch is being stopped, as nobody reads
  bool is_draining_ = false;
  std::stop_source stop_;
  std::jthread thread_;  // destroyed first: stopped and joined
};

}  // namespace octavo::server
