// SPDX-License-Identifier: Apache-2.0
// Runs of the public API, and what they are compared by.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "colonnade/colonnade.hpp"

namespace colonnade::test {

inline Options one_thread() {
  Options options;
  options.threads = 1;
  return options;
}

/// f32 elements from 0 to 1.
inline Tensor random_tensor(Shape shape, std::uint32_t seed) {
  Tensor tensor(DType::f32, std::move(shape));
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> element(0, 1);
  for (float& x : tensor.values<float>()) x = element(random);
  return tensor;
}

/// The first output for the only input.
inline Tensor run_one(Session& session, const Tensor& input, const RunOptions& options = {}) {
  const TensorView view = input;
  return std::move(session.run({&view, 1}, options).front());
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.byte_size()) == 0;
}

/// Expects an Error with this code whose message holds the text.
template <class Action>
void expect_error(ErrorCode code, const std::string& text, Action&& action) {
  try {
    action();
    ADD_FAILURE() << "nothing was thrown, expected: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

}  // namespace colonnade::test
