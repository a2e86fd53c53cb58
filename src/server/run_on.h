// Runs work on another thread for a coroutine, which then continues where it was.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <type_traits>
#include <utility>

namespace octavo::server {

/// The result or exception of `work()`. References in it must outlive the wait, which nothing cuts short.
template <class Work>
boost::asio::awaitable<std::invoke_result_t<Work&>> run_on(boost::asio::thread_pool& pool, Work work) {
  auto body = [](Work inner) -> boost::asio::awaitable<std::invoke_result_t<Work&>> { co_return inner(); };
  co_return co_await boost::asio::co_spawn(pool.get_executor(), body(std::move(work)), boost::asio::use_awaitable);
}

}  // namespace octavo::server
