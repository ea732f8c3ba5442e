// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/event_loops.hpp"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <future>
#include <map>
#include <stdexcept>
#include <vector>

namespace colonnade::serve::http {
namespace {

TEST(EventLoopsTest, SeatsAreSpreadEvenlyAndNeverAtTheLast) {
  EventLoops loops(4);
  std::vector<Seat> seats;
  for (int i = 0; i < 9; ++i) seats.push_back(loops.emptiest_but_last());
  std::map<const Loop*, int> taken;
  for (const Seat& seat : seats) ++taken[&seat.loop()];
  EXPECT_EQ(taken.size(), 3u);
  for (const auto& [loop, count] : taken) EXPECT_EQ(count, 3);
  EXPECT_FALSE(taken.contains(&loops.last().loop()));
  // Who leaves makes room.
  const Loop* const left = &seats.front().loop();
  seats.erase(seats.begin());
  EXPECT_EQ(&loops.emptiest_but_last().loop(), left);
}

TEST(EventLoopsTest, TasksAndSocketsTakeTurns) {
  constexpr int kTasks = 50;
  EventLoops loops(2);
  Loop& loop = loops.emptiest_but_last().loop();
  int done = 0, done_when_looked = -1;
  std::promise<void> over;
  boost::asio::post(loop.context(), [&] {
    for (int i = 0; i < kTasks; ++i)
      loop.later([&] {
        if (done == 0) boost::asio::post(loop.context(), [&] { done_when_looked = done; });
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (++done == kTasks) over.set_value();
      });
    EXPECT_EQ(done, 0) << "a task ran before its turn";
  });
  over.get_future().wait();
  loops.stop();
  EXPECT_EQ(done_when_looked, 1);
}

TEST(EventLoopsTest, AnExceptionDoesNotEndALoop) {
  EventLoops loops(2);
  auto& context = loops.last().loop().context();
  boost::asio::post(context, [] { throw std::runtime_error("as a handler without memory would"); });
  std::promise<void> ran;
  boost::asio::post(context, [&] { ran.set_value(); });
  EXPECT_EQ(ran.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

TEST(EventLoopsTest, AnExceptionInATaskKeepsNoOtherFromItsTurn) {
  EventLoops loops(2);
  Loop& loop = loops.emptiest_but_last().loop();
  std::promise<void> ran;
  boost::asio::post(loop.context(), [&] {
    loop.later([&] {
      loop.later([&] { ran.set_value(); });
      throw std::runtime_error("as a task without memory would");
    });
  });
  EXPECT_EQ(ran.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

}  // namespace
}  // namespace colonnade::serve::http
