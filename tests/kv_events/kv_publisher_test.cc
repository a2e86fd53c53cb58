// The publisher's sockets, as subscribers meet them.
#include "kv_events/kv_publisher.h"

#include <gmock/gmock.h>
#include <zmq.h>

#include <memory>

namespace octavo {
namespace {

using ::testing::HasSubstr;

constexpr int kPatienceMs = 10'000;

/// A socket that connects.
class Client {
 public:
  Client(int type, const std::string& address) : context_(zmq_ctx_new()), socket_(zmq_socket(context_, type)) {
    const int patience = kPatienceMs, none = 0;
    zmq_setsockopt(socket_, ZMQ_RCVTIMEO, &patience, sizeof patience);
    zmq_setsockopt(socket_, ZMQ_LINGER, &none, sizeof none);
    if (type == ZMQ_SUB) zmq_setsockopt(socket_, ZMQ_SUBSCRIBE, "kv@", 3);
    zmq_connect(socket_, address.c_str());
  }
  ~Client() {
    zmq_close(socket_);
    zmq_ctx_term(context_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

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
  void open(std::size_t kept = 100) {
    auto opened = KvPublisher::open({.address = "tcp://127.0.0.1:0",
                                     .replay_address = "tcp://127.0.0.1:0",
                                     .topic = {},
                                     .key_file = {},
                                     .kept_batches = kept},
                                    "kv@here:80@model", feed_);
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
      if (frames.size() != 3) return batches;
      const std::uint64_t number = number_of_frame(frames[1]).value_or(0);
      if (number == kEndOfReplay) return batches;
      batches.emplace_back(number, frames[2]);
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
  std::vector<std::string> frames;
  for (int i = 0; i < 100 && frames.empty(); ++i) {  // a subscription takes a moment
    store(0, 1000 + static_cast<std::uint64_t>(i));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    if (i > 3) frames = subscriber.receive();
  }
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0], "kv@here:80@model");
  EXPECT_TRUE(number_of_frame(frames[1]).has_value());
  EXPECT_THAT(frames[2], HasSubstr("BlockStored"));
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
