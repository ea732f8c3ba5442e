// SPDX-License-Identifier: Apache-2.0
// Operators of the program, in C++.
#include "colonnade/custom.hpp"

#include <gtest/gtest.h>

#include "colonnade/colonnade.hpp"
#include "onnx/builder.hpp"

namespace colonnade {
namespace {

using onnx_import::testing::attribute;
using onnx_import::testing::ModelBuilder;

/// Its input, as often as an attribute says.
class Repeat final : public CustomKernel {
 public:
  explicit Repeat(std::int64_t times) : times_(times) {}
  std::vector<CustomType> infer(std::span<const CustomType> inputs) const override {
    CustomType type = inputs[0];
    if (type.shape && (*type.shape)[0] >= 0) (*type.shape)[0] *= times_;
    return {type};
  }
  std::vector<Tensor> run(std::span<const Tensor* const> inputs) const override {
    const auto x = inputs[0]->values<float>();
    Tensor y(DType::f32, {inputs[0]->shape()[0] * times_});
    for (std::size_t i = 0; i < y.values<float>().size(); ++i) y.values<float>()[i] = x[i % x.size()];
    if (x[0] < 0) throw Error(ErrorCode::invalid_input, "expected nothing below zero");
    return {std::move(y)};
  }

 private:
  std::int64_t times_;
};

std::vector<CustomOperator> operators() {
  return {{"own", "Repeat", 1, INT_MAX, [](const CustomNode& node) {
             return std::make_shared<const Repeat>(std::get<std::int64_t>(node.attributes.at("times")));
           }}};
}

Model repeating(const Options& options = {}) {
  ModelBuilder model;
  model.import("own", 1).input("x", {-1}).node("Neg", {"x"}, {"n"});
  model.node("Repeat", {"n"}, {"r"}, {attribute("times", 2)}, "own").node("Neg", {"r"}, {"y"}).output("y");
  const std::string bytes = model.bytes();
  return load_with(operators(), std::as_bytes(std::span(bytes)), options);
}

TEST(CustomOperator, RunsAmongOthers) {
  Session session(repeating());
  std::vector<float> x = {-1, -2};
  const auto y = session.run({{DType::f32, {2}, x.data()}});
  EXPECT_EQ(y[0].shape(), (Shape{4}));
  EXPECT_EQ(std::vector<float>(y[0].values<float>().begin(), y[0].values<float>().end()),
            (std::vector<float>{-1, -2, -1, -2}));
}

TEST(CustomOperator, ItsErrorsNameTheNode) {
  Session session(repeating());
  std::vector<float> x = {1, 2};
  try {
    session.run({{DType::f32, {2}, x.data()}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_NE(std::string(error.what()).find("node 'r'"), std::string::npos) << error.what();
  }
}

TEST(CustomOperator, IsNotKeptInCompiledFiles) {
  Options options;
  options.compiled = "/tmp/never-written";
  EXPECT_THROW(repeating(options), Error);
}

}  // namespace
}  // namespace colonnade
