// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/infer_response.hpp"

#include <gtest/gtest.h>

#include "frontends/server/shared_memory.hpp"

namespace colonnade::serve::http {
namespace {

/// What decides whether a thread that waits for sockets writes an answer itself.
TEST(InferResponse, TensorsThatAreSentFromWhereTheyLieAreNoWork) {
  Tensor numbers(DType::f32, {100}), words(DType::string, {2});
  words.strings()[0] = std::string(1000, 'x');
  AnswerForm binary, text;
  binary.binary = true;
  const auto bytes = [](const Tensor& tensor, const AnswerForm& form, const SharedPlacePtr& place = {}) {
    InferenceResponse answer;
    answer.outputs.push_back({"y", tensor, nullptr, place});
    return copied_bytes(answer, form);
  };
  EXPECT_EQ(bytes(numbers, binary), 0u);
  EXPECT_EQ(bytes(numbers, binary, std::make_shared<SharedPlace>()), 400u);
  EXPECT_EQ(bytes(numbers, text, std::make_shared<SharedPlace>()), 400u);
  EXPECT_GT(bytes(numbers, text), 400u) << "digits take longer than a copy";
  EXPECT_GE(bytes(words, binary), 1000u);
  EXPECT_GE(bytes(words, text), 1000u);
}

}  // namespace
}  // namespace colonnade::serve::http
