// The publisher's sockets, as subscribers meet them.
#include "kv_events/kv_publisher.h"

#include <gmock/gmock.h>
#include <zmq.h>

#include <memory>

namespace octavo {
namespace {

using ::testing::HasSubstr;

constexpr int kPatienceMs = 10'000;
constexpr const char* kTopic = "kv@here:80@model";

/// A socket that connects.
class Client {
 public:
  enum class Reads : std::uint8_t { kAll, kSlowly };

  Client(int type, const std::string& address, Reads reads = Reads::kAll)
      : context_(zmq_ctx_new()), socket_(zmq_socket(context_, type)) {
    set(ZMQ_RCVTIMEO, kPatienceMs);
    set(ZMQ_LINGER, 0);
    if (reads == Reads::kSlowly) {
      set(ZMQ_RCVHWM, 1);
      set(ZMQ_RCVBUF, 4096);
    }
    if (type == ZMQ_SUB) subscribe("kv@");
    zmq_connect(socket_, address.c_str());
  }
  ~Client() {
    zmq_close(socket_);
    zmq_ctx_term(context_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void set(int option, int value) { zmq_setsockopt(socket_, option, &value, sizeof value); }
  void subscribe(std::string_view topic) { zmq_setsockopt(socket_, ZMQ_SUBSCRIBE, topic.data(), topic.size()); }
  void subscribe_anew() { send({"\x01kv@"}); }  // of a socket that says so itself
  void send(const std::vector<std::string>& frames) {
    for (std::size_t i = 0; i < frames.size(); ++i)
      zmq_send(socket_, frames[i].data(), frames[i].size(), i + 1 < frames.size() ? ZMQ_SNDMORE : 0);
  }
  std::vector<std::string> receive() {
    std::vector<std::string> frames;
    for (int has_more = 1; has_more != 0;) {
      zmq_msg_t message;
      zmq_msg_init(&message);
      if (zmq_msg_recv(&message, socket_, 0) < 0) return {};
      frames.emplace_back(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
      has_more = zmq_msg_more(&message);
      zmq_msg_close(&message);
    }
    return frames;
  }

 private:
  void *context_, *socket_;
};

class Publisher : public ::testing::Test {
 protected:
  void open(std::size_t kept = 100, const KvPublisher::Bounds& bounds = {}) {
    auto opened = KvPublisher::open({.address = "tcp://127.0.0.1:0",
                                     .replay_address = "tcp://127.0.0.1:0",
                                     .topic = {},
                                     .key_file = {},
                                     .kept_batches = kept},
                                    kTopic, feed_, bounds);
    ASSERT_TRUE(opened) << opened.error().message;
    publisher_ = std::move(*opened);
  }
  void store(BlockId block, std::uint64_t name) {
    const TokenId tokens[] = {7, 8};
    feed_.store(block, {.low = name, .high = 0}, nullptr, tokens);
  }
  /// The numbers and batches from one on.
  std::vector<std::pair<std::uint64_t, std::string>> replay(std::uint64_t from) {
    Client client(ZMQ_DEALER, publisher_->replay_address());
    client.send({"", number_frame(from)});
    std::vector<std::pair<std::uint64_t, std::string>> batches;
    for (;;) {
      const auto frames = client.receive();
      if (frames.size() != 4) return batches;
      const std::uint64_t number = number_of_frame(frames[2]).value_or(0);
      if (number == kEndOfReplay) return batches;
      EXPECT_EQ(frames[1], kTopic);
      batches.emplace_back(number, frames[3]);
    }
  }
  /// Waits until so many batches were published.
  void wait_for(std::uint64_t count) {
    for (int i = 0; i < 1000 && replay(count - 1).empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  BlockFeed feed_{8, 2};
  std::unique_ptr<KvPublisher> publisher_;
};

TEST_F(Publisher, TellsASubscriberWhatIsStored) {
  open();
  Client subscriber(ZMQ_SUB, publisher_->address());
  EXPECT_EQ(subscriber.receive().size(), 3U) << "that nothing is";
  store(0, 1000);
  const auto frames = subscriber.receive();
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0], kTopic);
  EXPECT_EQ(number_of_frame(frames[1]), 2U);
  EXPECT_THAT(frames[2], HasSubstr("BlockStored"));
}

TEST_F(Publisher, TellsALateSubscriberAllThatStands) {
  open();
  store(0, 1);
  wait_for(2);
  store(1, 2);
  wait_for(3);
  Client late(ZMQ_SUB, publisher_->address());
  const auto frames = late.receive();
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0], kTopic);
  EXPECT_EQ(number_of_frame(frames[1]), 3U) << "the next number, also for those who were there";
  EXPECT_THAT(frames[2], HasSubstr("AllBlocksCleared"));
  EXPECT_THAT(frames[2], HasSubstr("BlockStored"));
  store(2, 3);
  EXPECT_EQ(number_of_frame(late.receive().at(1)), 4U);
}

TEST_F(Publisher, TellsItOfSubscribersTogetherAndAfterAPause) {
  constexpr std::chrono::milliseconds kPause{400};
  open(100, {.pause = kPause});
  Client first(ZMQ_SUB, publisher_->address());
  EXPECT_EQ(number_of_frame(first.receive().at(1)), 1U);
  const auto begin = std::chrono::steady_clock::now();
  Client second(ZMQ_SUB, publisher_->address()), third(ZMQ_SUB, publisher_->address());
  for (Client* client : {&first, &second, &third}) EXPECT_EQ(number_of_frame(client->receive().at(1)), 2U);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, kPause / 2);
  std::this_thread::sleep_for(2 * kPause);
  EXPECT_TRUE(replay(3).empty()) << "nobody has come since";
}

TEST_F(Publisher, TakesNoNoticeOfWhoWantsOtherTopics) {
  open(100, {.pause = std::chrono::milliseconds(0)});
  wait_for(1);
  Client other(ZMQ_XSUB, publisher_->address());
  other.send({"\x01other"});
  other.send({"neither a subscription nor its end"});
  other.send({std::string(1, '\0') + "kv@"});
  other.send({""});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(replay(0).size(), 1U);
}

TEST(PublisherOf, MuchSendsChangesAloneWhileItWaitsForSlowReaders) {
  constexpr int kBlocks = 64, kTokens = 16'384;  // about 5 MB, more than a connection holds
  BlockFeed feed(kBlocks, kTokens);
  const std::vector<TokenId> tokens(kTokens, 100'000);
  std::uint64_t name = 1;
  const auto store = [&](BlockId block) { feed.store(block, {.low = name++, .high = 0}, nullptr, tokens); };
  for (BlockId block = 0; block < kBlocks; ++block) store(block);
  const auto publisher = KvPublisher::open({.address = "tcp://127.0.0.1:0", .kept_batches = 1}, kTopic, feed,
                                           {.pause = {}, .pause_factor = 0, .max_waiting_bytes = 1 << 20});
  ASSERT_TRUE(publisher) << publisher.error().message;
  auto slow = std::make_unique<Client>(ZMQ_SUB, (*publisher)->address(), Client::Reads::kSlowly);
  Client newcomer(ZMQ_XSUB, (*publisher)->address());
  newcomer.subscribe_anew();
  const auto has_everything = [&] {
    for (;;) {
      const auto frames = newcomer.receive();
      if (frames.size() != 3 || frames[2].contains("AllBlocksCleared")) return frames.size() == 3;
    }
  };
  ASSERT_TRUE(has_everything());
  newcomer.set(ZMQ_RCVTIMEO, 2000);
  int count = 0;
  for (bool had = true; had && count < 30; ++count) {
    feed.remove(0);
    store(0);
    newcomer.subscribe_anew();
    had = has_everything();
  }
  EXPECT_LT(count, 30);
  slow.reset();
  newcomer.set(ZMQ_RCVTIMEO, kPatienceMs);
  EXPECT_TRUE(has_everything()) << "which it is owed";
}

TEST_F(Publisher, BeginsWithAClearedCacheAndGivesEachBatchAgain) {
  open();
  wait_for(1);
  store(0, 1);
  wait_for(2);
  store(1, 2);
  wait_for(3);
  const auto all = replay(0);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].first, 0U);
  EXPECT_THAT(all[0].second, HasSubstr("AllBlocksCleared"));
  EXPECT_EQ(replay(2).size(), 1U);
  EXPECT_EQ(replay(2)[0], all[2]);
  EXPECT_TRUE(replay(3).empty());
  EXPECT_TRUE(replay(UINT64_MAX).empty());
}

TEST_F(Publisher, GivesAllThatStandsWhereABatchIsKeptNoMore) {
  open(2);
  wait_for(1);
  for (std::uint64_t i = 0; i < 4; ++i) {
    store(static_cast<BlockId>(i), 100 + i);
    wait_for(2 + i);
  }
  EXPECT_EQ(replay(3).size(), 2U);
  const auto all = replay(1);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].first, 4U) << "the number of the last batch";
  EXPECT_THAT(all[0].second, HasSubstr("AllBlocksCleared"));
  EXPECT_THAT(all[0].second, HasSubstr("BlockStored"));
}

TEST_F(Publisher, TakesNoNoticeOfMessagesThatAreNoRequests) {
  open();
  wait_for(1);
  Client client(ZMQ_DEALER, publisher_->replay_address());
  client.send({""});
  client.send({"", "short"});
  client.send({"a", "b", "c", "d"});
  client.send({"", std::string(100'000, 'x')});
  EXPECT_EQ(replay(0).size(), 1U);
}

TEST_F(Publisher, SaysWhyItCannotListen) {
  open();
  for (const std::string& address :
       {publisher_->address(), std::string("nonsense"), std::string("tcp://nowhere.invalid:1")}) {
    const auto second = KvPublisher::open({.address = address}, "", feed_);
    ASSERT_FALSE(second) << address;
    EXPECT_THAT(second.error().message, HasSubstr(address));
  }
}

}  // namespace
}  // namespace octavo
