// SPDX-License-Identifier: Apache-2.0
#include "base/run_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "base/tensor_memory.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kLarge = AlignedBuffer::kMappedBytes;

class RunMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(COLONNADE_ASAN)
    GTEST_SKIP() << "memory is not used again under AddressSanitizer";
#endif
  }
  Tensor bytes(std::int64_t count) {
    const RunMemory::Use use(*memory_);
    return TensorMemory::unset(DType::u8, {count});
  }

  std::optional<RunMemory> memory_{std::in_place};
};

TEST_F(RunMemoryTest, TheNextResultLiesWhereTheLastOneLay) {
  const void* const first = bytes(3 * kLarge).data();
  EXPECT_GE(memory_->kept_bytes(), 3 * static_cast<std::size_t>(kLarge));
  const Tensor next = bytes(3 * kLarge);
  EXPECT_EQ(next.data(), first);
  EXPECT_EQ(memory_->kept_bytes(), 0U);
  EXPECT_NE(bytes(3 * kLarge).data(), first) << "somebody has it";
}

TEST_F(RunMemoryTest, AResultThatGrowsALittleFindsRoom) {
  const void* const first = bytes(kLarge + kLarge / 2 + 1).data();
  EXPECT_EQ(bytes(kLarge + kLarge / 2 + 3000).data(), first);
  EXPECT_NE(bytes(4 * kLarge).data(), first) << "it has not so much";
}

TEST_F(RunMemoryTest, KeepsNoMoreThanResultsHeldAtOnce) {
  for (std::int64_t count = 1; count < 40; ++count) bytes(count * kLarge);
  EXPECT_LE(memory_->kept_bytes(), 40 * static_cast<std::size_t>(kLarge));
  {
    const Tensor held = bytes(39 * kLarge);
    EXPECT_LE(memory_->kept_bytes(), 8 * static_cast<std::size_t>(kLarge));
  }
  memory_->shrink();
  EXPECT_EQ(memory_->kept_bytes(), 0U);
}

TEST_F(RunMemoryTest, SmallResultsAreTheAllocators) {
  bytes(kLarge / 16);
  EXPECT_EQ(memory_->kept_bytes(), 0U);
}

TEST_F(RunMemoryTest, TensorsOfOtherThreadsAndTimesAreTheAllocators) {
  Tensor(DType::u8, {kLarge});
  {
    const RunMemory::Use use(*memory_);
    std::thread([] { Tensor(DType::u8, {kLarge}); }).join();
  }
  EXPECT_EQ(memory_->kept_bytes(), 0U);
}

TEST_F(RunMemoryTest, AClearedTensorIsClear) {
  Tensor used = bytes(kLarge);
  std::fill_n(static_cast<std::byte*>(used.data()), used.byte_size(), std::byte{7});
  used = Tensor();
  const RunMemory::Use use(*memory_);
  const Tensor clear(DType::u8, {kLarge});
  EXPECT_EQ(memory_->kept_bytes(), 0U) << "it lies where the other one lay";
  const auto* const found = static_cast<const std::byte*>(clear.data());
  EXPECT_EQ(std::count(found, found + kLarge, std::byte{0}), kLarge);
}

TEST_F(RunMemoryTest, TensorsOutliveIt) {
  Tensor left = bytes(2 * kLarge);
  memory_.reset();
  std::fill_n(static_cast<std::byte*>(left.data()), left.byte_size(), std::byte{1});
  Tensor copy = left;
  left = Tensor();
  EXPECT_EQ(static_cast<const std::byte*>(copy.data())[2 * kLarge - 1], std::byte{1});
}

TEST_F(RunMemoryTest, ThreadsFreeWhatOthersMade) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([this, i] {
      for (int turn = 0; turn < 50; ++turn) {
        Tensor mine = bytes(kLarge + i * 1000);
        std::fill_n(static_cast<std::byte*>(mine.data()), mine.byte_size(), std::byte(i));
        std::this_thread::yield();
        const auto* const found = static_cast<const std::byte*>(mine.data());
        EXPECT_EQ(std::count(found, found + mine.byte_size(), std::byte(i)), kLarge + i * 1000);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(memory_->kept_bytes(), 8 * 2 * static_cast<std::size_t>(kLarge));
}

}  // namespace
}  // namespace colonnade
