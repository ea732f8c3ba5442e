// SPDX-License-Identifier: Apache-2.0
// Threads that wait for sockets.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace colonnade::serve::http {

/// One thread's: what happens to its sockets, and tasks in between.
class Loop {
 public:
  boost::asio::io_context& context() { return context_; }
  /// Does the task after what has come in by now. Tasks and sockets take turns, so that however many tasks there are,
  /// no socket waits long; what a task throws is logged. For the loop's own thread.
  void later(std::function<void()> task);

 private:
  friend class EventLoops;
  void take_turn();
  void do_some();
  void run();

  boost::asio::io_context context_{1};  ///< one thread runs it
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_{context_.get_executor()};
  std::deque<std::function<void()>> tasks_;
  bool has_turn_ = false;                                         ///< they are next, or under way
  std::shared_ptr<const void> seats_ = std::make_shared<char>();  ///< owned once by each that is taken
  std::thread thread_;
};

/// A connection's place at a loop, taken until it is dropped.
class Seat {
 public:
  Seat(Loop& loop, std::shared_ptr<const void> taken) : loop_(&loop), taken_(std::move(taken)) {}
  Loop& loop() const { return *loop_; }

 private:
  Loop* loop_;
  std::shared_ptr<const void> taken_;
};

/// Loops that wake each other never: a connection stays with its own, where all of it happens in order.
class EventLoops {
 public:
  /// At least two. Throws std::system_error where threads cannot be made.
  explicit EventLoops(std::size_t count);
  EventLoops(const EventLoops&) = delete;
  EventLoops& operator=(const EventLoops&) = delete;
  ~EventLoops() { stop(); }

  /// Where the fewest seats are taken, but never the last.
  Seat emptiest_but_last();
  Seat last() { return {loops_.back(), loops_.back().seats_}; }
  /// Ends the threads; what is left in the loops never runs.
  void stop();

 private:
  std::vector<Loop> loops_;
};

}  // namespace colonnade::serve::http
