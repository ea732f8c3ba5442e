// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/event_loops.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <exception>

#include "frontends/server/log.hpp"

namespace colonnade::serve::http {
namespace {

/// So long tasks are done one after another before sockets are looked at again, which takes microseconds each time.
constexpr std::chrono::microseconds kLongestTurn{500};

void log_failure(const std::exception& error) {
  log(LogLevel::error, "http_connection_failed", {{"reason", std::string_view(error.what())}});
}

}  // namespace

void Loop::later(std::function<void()> task) {
  tasks_.push_back(std::move(task));
  if (!has_turn_) take_turn();
}

void Loop::take_turn() {
  boost::asio::post(context_, [this] { do_some(); });
  has_turn_ = true;
}

void Loop::do_some() {
  const auto until = std::chrono::steady_clock::now() + kLongestTurn;
  do {
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    try {
      task();
    } catch (const std::exception& error) {
      log_failure(error);
    }
  } while (!tasks_.empty() && std::chrono::steady_clock::now() < until);
  has_turn_ = false;
  if (!tasks_.empty()) take_turn();
}

void Loop::run() {
  while (true) {
    try {
      context_.run();
      return;
    } catch (const std::exception& error) {
      log_failure(error);
    }
  }
}

EventLoops::EventLoops(std::size_t count) : loops_(count) {
  try {
    for (Loop& loop : loops_) loop.thread_ = std::thread([&loop] { loop.run(); });
  } catch (...) {
    stop();
    throw;
  }
}

Seat EventLoops::emptiest_but_last() {
  Loop& loop = *std::min_element(loops_.begin(), loops_.end() - 1, [](const Loop& a, const Loop& b) {
    return a.seats_.use_count() < b.seats_.use_count();
  });
  return {loop, loop.seats_};
}

void EventLoops::stop() {
  for (Loop& loop : loops_) loop.context_.stop();
  for (Loop& loop : loops_)
    if (loop.thread_.joinable()) loop.thread_.join();
}

}  // namespace colonnade::serve::http
