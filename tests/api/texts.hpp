// SPDX-License-Identifier: Apache-2.0
// Batches of texts, and what is expected of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "api/runs.hpp"
#include "colonnade/colonnade.hpp"
#include "onnx/builder.hpp"

namespace colonnade::test {

using onnx_import::testing::attribute;
using onnx_import::testing::float_tensor;
using onnx_import::testing::int_tensor;
using onnx_import::testing::ModelBuilder;

inline constexpr std::int64_t kWords = 50;

inline std::vector<float> waves(std::int64_t count, float step) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.2f * std::sin(step * static_cast<float>(i));
  return values;
}

struct Batch {
  Tensor ids, mask;
  std::vector<TensorView> views() const { return {ids, mask}; }
};

/// Texts of these lengths, padded to the longest one, with zeros in front where `left`.
inline Batch batch_of(const std::vector<std::int64_t>& lengths, bool left = false) {
  const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  Batch batch{Tensor(DType::i64, {std::ssize(lengths), longest}), Tensor(DType::i64, {std::ssize(lengths), longest})};
  std::ranges::fill(batch.ids.values<std::int64_t>(), 3);
  std::ranges::fill(batch.mask.values<std::int64_t>(), 0);
  for (std::size_t text = 0; text < lengths.size(); ++text)
    for (std::int64_t i = 0; i < lengths[text]; ++i) {
      const std::size_t at =
          text * static_cast<std::size_t>(longest) + static_cast<std::size_t>(left ? longest - lengths[text] + i : i);
      batch.ids.values<std::int64_t>()[at] = (i * 7 + lengths[text]) % kWords;
      batch.mask.values<std::int64_t>()[at] = 1;
    }
  return batch;
}

inline Model model_of(const std::string& bytes, int threads = 2, Padding padding = Padding::zeros) {
  Options options;
  options.threads = threads;
  options.padding = padding;
  return Model::from_bytes(onnx_import::testing::as_bytes(bytes), options);
}

inline std::vector<float> row_of(const Tensor& tensor, std::size_t row) {
  const std::size_t width = static_cast<std::size_t>(tensor.shape().back());
  const auto values = tensor.values<float>();
  return {values.begin() + static_cast<std::ptrdiff_t>(row * width),
          values.begin() + static_cast<std::ptrdiff_t>((row + 1) * width)};
}

inline void expect_near(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.values<float>().size(); ++i)
    ASSERT_NEAR(found.values<float>()[i], expected.values<float>()[i], 1e-5) << i;
}

/// What the reference gives of tokens, with zeros at padding.
inline Tensor tokens_expected(const Model& model, const Batch& batch) {
  Tensor expected = std::move(model.evaluate_reference(batch.views())[0]);
  const auto mask = batch.mask.values<std::int64_t>();
  const std::size_t width = expected.values<float>().size() / mask.size();
  for (std::size_t i = 0; i < expected.values<float>().size(); ++i)
    if (mask[i / width] == 0) expected.values<float>()[i] = 0;
  return expected;
}

}  // namespace colonnade::test
