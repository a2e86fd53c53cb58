#include "kv_events/kv_publisher.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <utility>

#include "base/started_thread.h"

namespace octavo {
namespace {

/// How often it looks for changes, and how long it rests where there was no memory for them.
constexpr int kLookMs = 10;
constexpr std::chrono::seconds kRest{1};
/// Messages that wait for a subscriber that does not read; further ones are not sent to it.
constexpr int kQueued = 10'000;
/// Subscriptions and requests for a replay are small: larger messages close their connection.
constexpr int kMaxReceivedBytes = 1024;

double now_s() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

/// Whether a frame that the publisher's socket received says that somebody now gets messages of the topic.
bool is_subscription(std::string_view frame, std::string_view topic) {
  return frame.starts_with('\x01') && topic.starts_with(frame.substr(1));
}

SharedText shared(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

}  // namespace

Result<std::unique_ptr<KvPublisher>> KvPublisher::open(const KvEventsSettings& settings, const std::string& topic,
                                                       BlockFeed& feed, const Bounds& bounds) {
  auto context = std::make_unique<ZmqContext>();
  OCTAVO_TRY(ZmqSocket publish,
             ZmqSocket::listen(*context, ZmqSocket::Kind::kPublish, settings.address, kQueued, kMaxReceivedBytes));
  Sockets sockets{.publish = std::move(publish)};
  if (!settings.replay_address.empty()) {
    const int queued = static_cast<int>(settings.kept_batches) + 16;
    OCTAVO_TRY(sockets.replay, ZmqSocket::listen(*context, ZmqSocket::Kind::kRouter, settings.replay_address, queued,
                                                 kMaxReceivedBytes));
  }
  return std::unique_ptr<KvPublisher>(
      new KvPublisher(std::move(context), std::move(sockets), settings.kept_batches, topic, feed, bounds));
}

KvPublisher::KvPublisher(std::unique_ptr<ZmqContext> context, Sockets sockets, std::size_t kept_batches,
                         const std::string& topic, BlockFeed& feed, const Bounds& bounds)
    : feed_(feed),
      context_(std::move(context)),
      sockets_(std::move(sockets)),
      address_(sockets_.publish.address()),
      replay_address_(sockets_.replay ? sockets_.replay->address() : std::string()),
      topic_(shared(topic)),
      log_(kept_batches),
      bounds_(bounds),
      held_bytes_(std::make_shared<std::atomic<std::size_t>>(0)),
      thread_(start_thread([this](const std::stop_token& stop) { run(stop); }, [](const Error&) {})) {}

KvPublisher::~KvPublisher() = default;

// Where there is no memory for what is known of the blocks, all of it is forgotten, and told again.
void KvPublisher::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    try {
      if (!book_) {
        book_.emplace(feed_);
        publish({.are_cleared = true});
      }
      publish(book_->collect());
      take_subscriptions();
      if (has_newcomers_ && std::chrono::steady_clock::now() >= next_everything_ && has_room()) publish_everything();
      answer_replays();
    } catch (const std::bad_alloc&) {
      book_.reset();
      everything_.reset();
      std::this_thread::sleep_for(kRest);
    }
  }
}

void KvPublisher::publish(const BlockChanges& changes) {
  if (changes.is_empty()) return;
  everything_.reset();
  send(batch_of(changes));
}

SharedText KvPublisher::batch_of(const BlockChanges& changes) const {
  auto text = std::make_unique<const std::string>(event_batch(changes, feed_.block_size(), now_s()));
  const std::size_t size = text->size();
  *held_bytes_ += size;
  return {text.release(), [held = held_bytes_, size](const std::string* gone) {
            delete gone;
            *held -= size;
          }};
}

void KvPublisher::send(const SharedText& batch) {
  const std::array frames = {topic_, shared(number_frame(log_.next_number())), batch};
  log_.add(batch);
  sockets_.publish.send(frames);
}

void KvPublisher::take_subscriptions() {
  while (const auto frames = sockets_.publish.receive())
    has_newcomers_ = has_newcomers_ || is_subscription(frames->front(), *topic_);
}

/// Who has followed from the beginning finds nothing new in it. ZeroMQ sends to all who have subscribed, or to none.
void KvPublisher::publish_everything() {
  const auto begin = std::chrono::steady_clock::now();
  send(everything());
  has_newcomers_ = false;
  const auto end = std::chrono::steady_clock::now();
  next_everything_ =
      end + std::max<std::chrono::steady_clock::duration>(bounds_.pause, bounds_.pause_factor * (end - begin));
}

/// Sleeps until somebody asks, or it is time to look for changes.
void KvPublisher::answer_replays() {
  if (!sockets_.replay) return std::this_thread::sleep_for(std::chrono::milliseconds(kLookMs));
  sockets_.replay->wait(kLookMs);
  const auto frames = sockets_.replay->receive();
  if (!frames || frames->size() != 3) return;
  if (const auto from = number_of_frame(frames->back())) replay(frames->front(), *from);
}

void KvPublisher::replay(const std::string& client, std::uint64_t from) {
  if (!has_room()) return;  // who asks may ask again
  const SharedText to = shared(client), empty = shared({});
  const auto give = [&](const SharedText& topic, std::uint64_t number, const SharedText& batch) {
    const std::array frames = {to, empty, topic, shared(number_frame(number)), batch};
    sockets_.replay->send(frames);
  };
  const std::uint64_t end = log_.next_number();
  if (from < log_.first_number()) {
    give(topic_, end - 1, everything());
  } else {
    for (std::uint64_t number = from; number < end; ++number) give(topic_, number, log_.batch(number));
  }
  give(empty, kEndOfReplay, empty);
}

/// All that stands after the last batch.
const SharedText& KvPublisher::everything() {
  if (everything_ == nullptr) everything_ = batch_of(book_->everything());
  return everything_;
}

}  // namespace octavo
