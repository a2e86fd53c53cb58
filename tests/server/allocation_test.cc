// A server without memory: whatever allocation fails, it goes on as soon as there is some. And what a request takes
// that names a thing often.
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <boost/json.hpp>

#include "api/api_named.h"
#include "api/fake_text.h"
#include "replaced_new.h"
#include "server/test_client.h"

namespace octavo::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using ServingAllocations = ServerTest;

/// A connection and a request on it, without an allocation on this side. The outcome does not matter.
void knock(unsigned short port) {
  constexpr std::string_view kRequest = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval limit{.tv_sec = 1, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    ::send(socket, kRequest.data(), kRequest.size(), MSG_NOSIGNAL);
    char buffer[4096];
    while (::recv(socket, buffer, sizeof buffer, 0) > 0) {
    }
  }
  ::close(socket);
}

TEST_F(ServingAllocations, ConnectionsAreAcceptedAfterAnyAllocationThatFailed) {
  options_.http.idle_timeout = 500ms;
  start_ready();
  knock(port_);
  int num_failed = 0;
  for (long nth = 0; nth < 100; ++nth) {
    allocations_left = nth;
    knock(port_);
    num_failed += allocations_left < 0 ? 1 : 0;
    allocations_left = -1;
    ASSERT_THAT(ask(get("/health")), StartsWith("HTTP/1.1 200")) << nth;
  }
  EXPECT_GT(num_failed, 20);
  TestClient idle(port_);
  EXPECT_TRUE(idle.at_end());  // closed by a tick
}

TEST_F(ServingAllocations, NothingIsLostByATimeWithoutAnyMemory) {
  options_.http.idle_timeout = 500ms;
  start_ready();
  out_of_memory = true;
  for (int i = 0; i < 3; ++i) knock(port_);
  out_of_memory = false;
  EXPECT_TRUE(eventually([this] { return ask(get("/health")).starts_with("HTTP/1.1 200"); }));
  EXPECT_THAT(ask(post("/v1/completions", R"({"prompt": "a", "max_tokens": 2})")), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask(get("/metrics")), testing::Not(HasSubstr("octavo:server_failures_total 0")));
  TestClient idle(port_);
  EXPECT_TRUE(idle.at_end());
}

/// Bytes that are allocated while a body is read.
long bytes_to_read(const Api& api, const std::string& body, const FakeText& words, const OwnResponses& responses) {
  boost::json::object object = boost::json::parse(body).as_object();
  const long before = num_allocated_bytes;
  const auto call = parse_call(api, std::move(object), words, {.id = "m"}, responses);
  EXPECT_TRUE(call.has_value()) << call.error().message;
  return num_allocated_bytes - before;
}

TEST(CallAllocations, AnItemIsReadOnceHoweverOftenItIsReferredTo) {
  constexpr long kItemBytes = 400'000;
  const FakeText words;
  ResponseStore store({});
  const std::string item = R"({"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":")" +
                           std::string(kItemBytes, 'x') + R"("}],"id":"rs_a_i0"})";
  store.put("", {.id = "resp_a", .input = {{"rs_a_i0", std::make_shared<const std::string>(item)}}});
  const auto bytes_of = [&](int count) {
    std::string references;
    for (int i = 0; i < count; ++i)
      references += R"({"type": "item_reference", "id": "rs_a_i0"}, {"role": "user", "content": "hi"},)";
    return bytes_to_read(
        api_named("responses"),
        R"({"max_output_tokens": 9, "input": [)" + references + R"({"role": "user", "content": "hi"}]})", words,
        {.store = &store});
  };
  const long one = bytes_of(1);
  EXPECT_GT(one, kItemBytes);
  // Each names it once more in the conversation: its text is joined, and becomes a message's.
  for (const int count : {2, 3, 4}) EXPECT_LT(bytes_of(count), one + (count - 1) * (2 * kItemBytes + kItemBytes / 4));
}

}  // namespace
}  // namespace octavo::test
