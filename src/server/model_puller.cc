#include "server/model_puller.h"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "base/started_thread.h"
#include "base/utf8.h"
#include "server/request_head.h"

namespace octavo::server {
namespace {

using Stage = PullNews::Stage;

ApiError too_many_bytes(std::uint64_t bytes, std::uint64_t left, std::uint64_t limit) {
  return {.status = 507,
          .message = fmt::format("found {} bytes to fetch, expected at most {}: what is left of the {} that this "
                                 "server may write for its clients",
                                 bytes, left, limit),
          .type = "server_error",
          .code = "disk_bound"};
}

ApiError not_fetched(const std::string& why) {
  return {.status = 502, .message = to_valid_utf8(why), .type = "server_error", .code = "not_fetched"};
}

}  // namespace

void PullBoard::reset() {
  const std::lock_guard lock(mutex_);
  news_ = {};
  refusal_.reset();
}

PullNews PullBoard::news() const {
  const std::lock_guard lock(mutex_);
  return news_;
}

std::uint64_t PullBoard::written_bytes() const {
  const std::lock_guard lock(mutex_);
  return written_bytes_;
}

std::optional<ApiError> PullBoard::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

Result<void> PullBoard::admit(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t left = max_bytes_ > written_bytes_ ? max_bytes_ - written_bytes_ : 0;
  if (max_bytes_ == 0 || bytes <= left) return {};
  refusal_ = too_many_bytes(bytes, left, max_bytes_);
  return std::unexpected(Error{refusal_->message});
}

bool PullBoard::set(const FetchProgress& progress) {
  const std::lock_guard lock(mutex_);
  const bool is_same = news_.file.digest == progress.digest;
  if (is_same && progress.completed_bytes > news_.file.completed_bytes)
    written_bytes_ += progress.completed_bytes - news_.file.completed_bytes;
  const bool is_whole = progress.total_bytes > 0 && progress.completed_bytes == progress.total_bytes;
  news_ = {.stage = is_whole ? Stage::kVerifying : Stage::kFetching, .file = progress};
  if (max_bytes_ == 0 || written_bytes_ <= max_bytes_) return true;
  if (!refusal_) refusal_ = too_many_bytes(written_bytes_, 0, max_bytes_);
  return false;
}

ModelPuller::ModelPuller(const PullOptions& options, boost::asio::io_context& io, ModelTable& models, Metrics& metrics)
    : options_(options), io_(io), models_(models), metrics_(metrics), board_(options.max_bytes) {}

ModelPuller::~ModelPuller() { stop_.request_stop(); }

std::optional<ApiError> ModelPuller::refuse(const std::string& name) const {
  if (is_draining_) return shutting_down();
  const bool is_free = (!is_fetching_ && !is_offering_) || (is_given_up_ && readers_.empty());
  if (!is_free && name != name_)
    return unavailable("another model is being fetched, expected one at a time: try again when it is there",
                       "pull_busy");
  if (readers_.size() >= kMostReaders)
    return unavailable(fmt::format("{} clients wait for this model, expected no more", readers_.size()), "pull_busy");
  return std::nullopt;
}

void ModelPuller::begin(const std::string& name) {
  board_.reset();
  stop_ = std::stop_source();
  thread_ = start_thread([this, name, stop = stop_](const std::stop_token&) { run(name, stop); },
                         [this](const Error& error) { hand_over(std::unexpected(error)); });
  name_ = name;
  is_fetching_ = true;
  is_given_up_ = false;
}

void ModelPuller::run(const std::string& name, const std::stop_source& stop) {
  hand_over(options_.fetch({.name = name,
                            .admit = [this](std::uint64_t bytes) { return board_.admit(bytes); },
                            .on_progress =
                                [this, stop](const FetchProgress& progress) {
                                  if (!board_.set(progress)) stop.request_stop();
                                },
                            .stop = stop.get_token()}));
}

/// Called on the fetching thread, as its last act.
void ModelPuller::hand_over(Result<bool> fetched) {
  auto result = std::make_shared<Result<bool>>(std::move(fetched));
  boost::asio::post(io_, [this, result] { take(std::move(*result)); });
}

void ModelPuller::take(Result<bool> fetched) {
  thread_.join();
  is_fetching_ = false;
  if (std::exchange(is_given_up_, false)) {
    metrics_.count_pull(fetched ? "done" : "stopped");
    if (fetched && *fetched && on_fetched_) on_fetched_();  // the model was whole before the fetch could be stopped
    if (!readers_.empty()) begin(name_);                    // they came meanwhile
    return;
  }
  if (!fetched) {
    const auto refusal = board_.refusal();
    return end(std::unexpected(refusal ? *refusal : not_fetched(fetched.error().message)));
  }
  if (!*fetched || !on_fetched_) return end(warnings(nullptr));
  is_offering_ = true;
  on_fetched_();
}

void ModelPuller::entries_are_read(const Error* error) {
  if (std::exchange(is_offering_, false)) end(warnings(error));
}

std::vector<std::string> ModelPuller::warnings(const Error* error) const {
  const ModelSlot* slot = models_.find(name_);
  if (error == nullptr && slot != nullptr && slot->answers_to(name_)) return {};
  std::string why = "what is wrong with it stands in the server's messages";
  if (error != nullptr) {
    why = error->message;
  } else if (!on_fetched_) {
    why = fmt::format("this server was started with one model; with -m {} beside that it serves both", name_);
  }
  return {fmt::format("the model '{}' is fetched, and not served: {}", name_, to_valid_utf8(why))};
}

void ModelPuller::end(const Outcome& outcome) {
  metrics_.count_pull(outcome ? "done" : "failed");
  while (!readers_.empty()) readers_.front()->end(outcome);
}

void ModelPuller::give_up() {
  if (!is_fetching_) return;
  is_given_up_ = true;
  stop_.request_stop();
}

void ModelPuller::tick() {
  for (const Reader* reader : readers_) reader->on_news_();
}

void ModelPuller::begin_drain() {
  is_draining_ = true;
  give_up();
  while (!readers_.empty()) readers_.front()->end(std::unexpected(shutting_down()));
}

void ModelPuller::end_revoked(const ApiKeys& keys) {
  for (Reader* reader : std::list(readers_))
    if (!keys.contains(reader->key_)) reader->end(std::unexpected(key_revoked()));
  if (readers_.empty()) give_up();
}

ModelPuller::Reader::Reader(ModelPuller& puller, std::string name, const KeyDigest& key, std::function<void()> on_news)
    : puller_(puller), key_(key), on_news_(std::move(on_news)) {
  if (auto refusal = puller.refuse(name)) {
    outcome_ = std::unexpected(std::move(*refusal));
    return;
  }
  std::list<Reader*> own{this};  // so that moving it later needs no memory
  if (puller.is_fetching_ || puller.is_offering_) {
    puller.name_ = std::move(name);
  } else {
    puller.begin(name);
  }
  place_ = own.begin();
  puller.readers_.splice(puller.readers_.end(), own);
  is_listed_ = true;
}

void ModelPuller::Reader::end(const Outcome& outcome) {
  puller_.readers_.erase(place_);
  is_listed_ = false;
  outcome_ = outcome;
  on_news_();
}

ModelPuller::Reader::~Reader() {
  if (!is_listed_) return;
  puller_.readers_.erase(place_);
  if (puller_.readers_.empty()) puller_.give_up();
}

PullNews ModelPuller::Reader::news() const {
  if (puller_.is_given_up_) return {};  // nobody reads what the fetch reports now
  PullNews news = puller_.board_.news();
  if (puller_.is_offering_) news.stage = Stage::kOffering;
  return news;
}

}  // namespace octavo::server
