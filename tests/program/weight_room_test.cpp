// SPDX-License-Identifier: Apache-2.0
// Where packed weights lie.
#include "families/weight_room.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/parts.hpp"

namespace colonnade {
namespace {

constexpr std::size_t kPiece = std::size_t{96} << 10;

/// Pages of a range that are in memory, of those that are mapped.
std::size_t resident_pages(const std::byte* begin, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGE_SIZE));
  std::size_t count = 0;
  for (std::size_t at = 0; at < bytes; at += page) {
    unsigned char state = 0;
    void* const address = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(begin) + at) / page * page);
    if (::mincore(address, page, &state) == 0) count += state & 1U;
  }
  return count;
}

TEST(WeightRoom, GivesPiecesThatDoNotMeet) {
  WeightRoom room;
  std::vector<WeightMemory> pieces;
  for (std::size_t bytes : {1u, 63u, 64u, 65u, 5000u, 100'000u, 1'000'000u, 3'000'000u})
    for (int k = 0; k < 20; ++k) {
      pieces.push_back(room.take(bytes));
      ASSERT_EQ(pieces.back().bytes(), bytes);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(pieces.back().data()) % AlignedBuffer::kAlignment, 0u);
      std::memset(pieces.back().data(), static_cast<int>(pieces.size()), bytes);
    }
  for (std::size_t i = 0; i < pieces.size(); ++i)
    for (std::size_t at = 0; at < pieces[i].bytes(); at += 61)
      ASSERT_EQ(static_cast<int>(pieces[i].data()[at]), static_cast<int>((i + 1) & 255U)) << i << " " << at;
  EXPECT_EQ(room.take(0).data(), nullptr);
}

TEST(WeightRoom, TakesAgainWhatWasLetGo) {
  WeightRoom room;
  const WeightMemory first = room.take(kPiece), beside = room.take(kPiece);
  WeightMemory second = room.take(kPiece);
  const std::byte* const place = second.data();
  second = {};
  second = room.take(kPiece - 1);  // of as many alignments
#if !defined(COLONNADE_ASAN)
  EXPECT_EQ(second.data(), place);
#endif
  EXPECT_NE(room.take(kPiece).data(), second.data());
}

TEST(WeightRoom, PiecesOutliveTheRoom) {
  WeightMemory piece;
  {
    WeightRoom room;
    const WeightMemory other = room.take(kPiece);
    piece = room.take(kPiece);
    std::memset(piece.data(), 5, kPiece);
  }
  EXPECT_EQ(static_cast<int>(piece.data()[kPiece - 1]), 5);
}

/// What the system was told about the pages there: large ones, or none. Nothing where it knows no large pages.
std::optional<bool> large_pages_at(const void* place) {
  std::ifstream file("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(place);
  bool is_there = false;
  for (std::string line; std::getline(file, line);) {
    std::uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) is_there = begin <= wanted && wanted < end;
    if (!is_there || !line.starts_with("VmFlags:")) continue;
    if (line.find(" hg") != std::string::npos) return true;
    if (line.find(" nh") != std::string::npos) return false;
  }
  return std::nullopt;
}

TEST(WeightRoom, SeveralThreadsFillSmallPages) {
#if defined(COLONNADE_ASAN)
  GTEST_SKIP() << "under the address sanitizer each piece has memory of its own";
#endif
  const Helpers helpers = [](const std::function<void()>& work) { work(); };
  for (const bool several : {false, true}) {
    const Helped helped(several ? &helpers : nullptr);
    WeightRoom room;
    std::vector<WeightMemory> pieces;
    for (int k = 0; k < 50; ++k) pieces.push_back(room.take(kPiece));
    const auto before = large_pages_at(pieces.back().data());
    if (!before) GTEST_SKIP() << "the system has no large pages";
    EXPECT_EQ(*before, !several);
    room.trim();
    EXPECT_EQ(large_pages_at(pieces.back().data()), true);
  }
}

TEST(WeightRoom, TrimmedItHoldsWhatWasTaken) {
#if defined(COLONNADE_ASAN)
  GTEST_SKIP() << "under the address sanitizer each piece has memory of its own";
#endif
  WeightRoom room;
  std::vector<WeightMemory> pieces;
  for (int k = 0; k < 50; ++k) {  // the last ones lie on large pages, where there are any
    pieces.push_back(room.take(kPiece));
    std::memset(pieces.back().data(), 1, kPiece);
  }
  const std::byte* const end = pieces.back().data() + kPiece;
  constexpr std::size_t kBehind = std::size_t{4} << 20;
  ASSERT_EQ(room.take(kPiece).data(), end);  // the block goes on
  room.trim();
  EXPECT_EQ(resident_pages(end + kPiece + 4096, kBehind), 0u);
  EXPECT_GT(resident_pages(end - kPiece, kPiece), 20u);
  const WeightMemory next = room.take(2 * kPiece);
  std::memset(next.data(), 2, next.bytes());
  EXPECT_EQ(static_cast<int>(pieces.back().data()[kPiece - 1]), 1);
}

}  // namespace
}  // namespace colonnade
