// SPDX-License-Identifier: Apache-2.0
// Handles of the C interface that free themselves, and what its calls are expected to say.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "colonnade/colonnade.h"
#include "onnx/builder.hpp"

namespace colonnade::test::c_interface {

using onnx_import::testing::attribute;
using onnx_import::testing::float_tensor;
using onnx_import::testing::ModelBuilder;

struct Freed {
  void operator()(colonnade_model* model) const { colonnade_model_free(model); }
  void operator()(colonnade_session* session) const { colonnade_session_free(session); }
  void operator()(colonnade_tensor* tensor) const { colonnade_tensor_free(tensor); }
  void operator()(char* text) const { colonnade_text_free(text); }
};
using ModelHandle = std::unique_ptr<colonnade_model, Freed>;
using SessionHandle = std::unique_ptr<colonnade_session, Freed>;
using TensorHandle = std::unique_ptr<colonnade_tensor, Freed>;
using Text = std::unique_ptr<char, Freed>;

inline void expect_ok(colonnade_status* status) {
  EXPECT_EQ(status, nullptr) << colonnade_status_message(status);
  colonnade_status_free(status);
}

inline void expect_status(std::int32_t code, const std::string& text, colonnade_status* status) {
  EXPECT_EQ(colonnade_status_code(status), code);
  EXPECT_NE(std::string(colonnade_status_message(status)).find(text), std::string::npos)
      << colonnade_status_message(status);
  colonnade_status_free(status);
}

inline ModelHandle embedded(const char* name, const void* options = nullptr) {
  colonnade_model* model = nullptr;
  expect_ok(colonnade_model_embedded(name, static_cast<const colonnade_options*>(options), &model));
  return ModelHandle(model);
}

inline ModelHandle loaded(const std::string& bytes) {
  colonnade_model* model = nullptr;
  expect_ok(colonnade_model_from_bytes(bytes.data(), bytes.size(), nullptr, &model));
  return ModelHandle(model);
}

inline SessionHandle session_of(const ModelHandle& model) {
  colonnade_session* session = nullptr;
  expect_ok(colonnade_session_create(model.get(), &session));
  return SessionHandle(session);
}

inline TensorHandle borrowed(const std::vector<std::int64_t>& shape, std::vector<float>& memory,
                             const std::vector<std::int64_t>& strides = {}) {
  colonnade_tensor* tensor = nullptr;
  expect_ok(colonnade_tensor_borrow(COLONNADE_FLOAT32, shape.data(), shape.size(),
                                    strides.empty() ? nullptr : strides.data(), memory.data(),
                                    memory.size() * sizeof(float), &tensor));
  return TensorHandle(tensor);
}

}  // namespace colonnade::test::c_interface
