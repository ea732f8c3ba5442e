// SPDX-License-Identifier: Apache-2.0
// `colonnade check` of models that let products round their rows.
#include <gtest/gtest.h>

#include <fstream>

#include "onnx/builder.hpp"
#include "shell.hpp"

namespace colonnade::test {
namespace {

using namespace onnx_import::testing;

/// Three rows times weights of four bits.
std::string write_product(const TemporaryFolder& folder, int accuracy_level) {
  ModelBuilder model;
  std::vector<std::uint8_t> numbers(128 * 3 * 16);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint8_t>(i * 37 % 256);
  model.import("com.microsoft", 1).input("x", {3, 96}).output("y");
  model.constant(raw_tensor("w", onnx::TensorProto::UINT8, {128, 3, 16}, numbers));
  model.constant(float_tensor("s", {128, 3}, std::vector<float>(384, 0.1f)));
  model.node("MatMulNBits", {"x", "w", "s"}, {"y"},
             {attribute("K", 96), attribute("N", 128), attribute("block_size", 32),
              attribute("accuracy_level", accuracy_level)},
             "com.microsoft");
  const std::string path = folder.file("product.onnx");
  std::ofstream(path, std::ios::binary) << model.bytes();
  return path;
}

/// What fails for that reason says so, and how to look without it.
TEST(Check, RowsThatAModelLetsBeRounded) {
  const TemporaryFolder folder;
  const CliResult rounded = run_cli({"check", write_product(folder, 4)});
  EXPECT_EQ(rounded.status, 1) << rounded.err;
  EXPECT_NE(rounded.out.find("note: 1 product rounds rows to int8"), std::string::npos) << rounded.out;
  for (const CliResult& good : {run_cli({"check", write_product(folder, 4), "--math", "exact"}),
                                run_cli({"check", write_product(folder, 0)})}) {
    EXPECT_EQ(good.status, 0) << good.out << good.err;
    EXPECT_EQ(good.out.find("note:"), std::string::npos) << good.out;
  }
}

}  // namespace
}  // namespace colonnade::test
