#include "kv_events/zmq_socket.h"

#include <zmq.h>

#include <array>
#include <new>
#include <utility>

namespace octavo {
namespace {

constexpr std::size_t kMaxFrames = 8;

void release(void*, void* shared) { delete static_cast<SharedText*>(shared); }

/// Sends one frame. False: nobody takes it, or there is no memory.
bool send_frame(void* socket, const SharedText& text, int flags) {
  auto* const shared = new SharedText(text);
  zmq_msg_t message;
  if (zmq_msg_init_data(&message, const_cast<char*>(text->data()), text->size(), release, shared) != 0) {
    delete shared;
    return false;
  }
  if (zmq_msg_send(&message, socket, flags | ZMQ_DONTWAIT) >= 0) return true;
  zmq_msg_close(&message);
  return false;
}

void set(void* socket, int option, int value) { zmq_setsockopt(socket, option, &value, sizeof value); }

}  // namespace

ZmqContext::ZmqContext() : context_(zmq_ctx_new()) {
  if (context_ == nullptr) throw std::bad_alloc();
}

ZmqContext::~ZmqContext() { zmq_ctx_term(context_); }

Result<ZmqSocket> ZmqSocket::listen(ZmqContext& context, Kind kind, const std::string& address, int queued,
                                    int max_bytes) {
  const bool publishes = kind == Kind::kPublish;
  ZmqSocket made(zmq_socket(context.get(), publishes ? ZMQ_XPUB : ZMQ_ROUTER));
  if (made.socket_ == nullptr) return fail("{}: {}", address, zmq_strerror(zmq_errno()));
  set(made.socket_, ZMQ_LINGER, 0);
  set(made.socket_, ZMQ_SNDHWM, queued);
  set(made.socket_, ZMQ_IPV6, 1);
  if (publishes) set(made.socket_, ZMQ_XPUB_VERBOSE, 1);  // also a subscription such as another one has
  const std::int64_t most = max_bytes;
  zmq_setsockopt(made.socket_, ZMQ_MAXMSGSIZE, &most, sizeof most);
  if (zmq_bind(made.socket_, address.c_str()) != 0)
    return fail("cannot listen at {}: {}", address, zmq_strerror(zmq_errno()));
  return made;
}

ZmqSocket::~ZmqSocket() {
  if (socket_ != nullptr) zmq_close(socket_);
}

ZmqSocket::ZmqSocket(ZmqSocket&& other) noexcept : socket_(std::exchange(other.socket_, nullptr)) {}

ZmqSocket& ZmqSocket::operator=(ZmqSocket&& other) noexcept {
  std::swap(socket_, other.socket_);
  return *this;
}

std::string ZmqSocket::address() const {
  std::array<char, 256> text{};
  std::size_t size = text.size();
  if (zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, text.data(), &size) != 0) return {};
  return text.data();
}

void ZmqSocket::send(std::span<const SharedText> frames) {
  for (std::size_t i = 0; i < frames.size(); ++i)
    if (!send_frame(socket_, frames[i], i + 1 < frames.size() ? ZMQ_SNDMORE : 0)) return;
}

std::optional<std::vector<std::string>> ZmqSocket::receive() {
  std::vector<std::string> frames;
  for (bool has_more = true; has_more;) {
    zmq_msg_t message;
    zmq_msg_init(&message);
    if (zmq_msg_recv(&message, socket_, ZMQ_DONTWAIT) < 0) {
      zmq_msg_close(&message);
      return std::nullopt;
    }
    if (frames.size() < kMaxFrames)
      frames.emplace_back(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
    has_more = zmq_msg_more(&message) != 0;
    zmq_msg_close(&message);
  }
  return frames;
}

void ZmqSocket::wait(int most_ms) {
  zmq_pollitem_t item{.socket = socket_, .fd = 0, .events = ZMQ_POLLIN, .revents = 0};
  zmq_poll(&item, 1, most_ms);
}

}  // namespace octavo
