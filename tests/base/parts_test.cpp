// SPDX-License-Identifier: Apache-2.0
#include "base/parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/interruption.hpp"

namespace colonnade {
namespace {

/// The caller and three threads.
void four_threads(const std::function<void()>& work) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(work);
  work();
}

std::vector<int> calls_of_parts(std::int64_t count) {
  std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
  for_each_part(count, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
  return {calls.begin(), calls.end()};
}

TEST(Parts, EachIsDoneOnceByWhoeverIsThere) {
  const Helpers helpers = four_threads;
  for (const std::int64_t count : {0, 1, 2, 1000}) {
    const std::vector<int> once(static_cast<std::size_t>(count), 1);
    EXPECT_EQ(calls_of_parts(count), once);
    const Helped helped(&helpers);
    EXPECT_EQ(calls_of_parts(count), once);
  }
}

TEST(Parts, HelpersAreThoseOfTheInnermostScope) {
  int asked = 0;
  const Helpers helpers = [&](const std::function<void()>& work) { ++asked, work(); };
  const Helpers nobody;
  const Helped helped(&helpers);
  calls_of_parts(2);
  EXPECT_EQ(asked, 1);
  {
    const Helped alone(&nobody);
    calls_of_parts(2);
  }
  EXPECT_EQ(asked, 1);
  for_each_part(2, [](std::int64_t) { calls_of_parts(2); });
  EXPECT_EQ(asked, 2) << "parts of parts are done where they are";
  calls_of_parts(1);
  EXPECT_EQ(asked, 2) << "one part needs no help";
}

TEST(Parts, WhatAPartThrowsEndsThem) {
  const Helpers helpers = four_threads;
  const Helped helped(&helpers);
  std::atomic<int> calls = 0;
  const auto part = [&](std::int64_t i) {
    ++calls;
    if (i == 3) throw std::runtime_error("three");
  };
  EXPECT_THROW(for_each_part(1'000'000, part), std::runtime_error);
  EXPECT_LT(calls, 1'000'000);
}

TEST(Parts, TheCallerIsInterruptedBetweenThem) {
  const std::function<void()> ask = [] { throw std::runtime_error("enough"); };
  const Interruptible scope(ask);
  EXPECT_THROW(calls_of_parts(5), std::runtime_error);
}

}  // namespace
}  // namespace colonnade
