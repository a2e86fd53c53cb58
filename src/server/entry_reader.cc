#include "server/entry_reader.h"

#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "base/started_thread.h"

namespace octavo::server {

EntryReader::EntryReader(boost::asio::io_context& io, ReadEntries read, Take take)
    : io_(io), read_(std::move(read)), take_(std::move(take)) {}

void EntryReader::read() {
  if (!read_) return;
  if (is_reading_) {
    is_asked_again_ = true;
    return;
  }
  is_reading_ = true;
  entries_.reset();
  try {
    thread_ = start_thread([this](const std::stop_token& stop) { run(stop); },
                           [this](Error error) {
                             entries_ = std::unexpected(std::move(error));
                             hand_over();
                           });
  } catch (const std::exception&) {  // the system refuses a thread
    entries_ = std::unexpected(error_of_exception());
    end();
  }
}

void EntryReader::run(const std::stop_token& stop) {
  entries_ = read_(stop);
  hand_over();
}

void EntryReader::hand_over() {
  boost::asio::post(io_, [this] { end(); });
}

void EntryReader::end() {
  if (thread_.joinable()) thread_.join();
  is_reading_ = false;
  take_(std::move(*entries_));
  if (std::exchange(is_asked_again_, false)) read();
}

}  // namespace octavo::server
