// SPDX-License-Identifier: Apache-2.0
// Models that are written as ONNX again, simpler.
#include "colonnade/optimize.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "api/runs.hpp"
#include "colonnade/custom.hpp"
#include "onnx/builder.hpp"

namespace colonnade {
namespace {

using onnx_import::testing::attribute;
using onnx_import::testing::float_tensor;
using onnx_import::testing::int_tensor;
using onnx_import::testing::ModelBuilder;
using test::expect_error;

struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "colonnade-optimize-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string& name) const { return (path / name).string(); }
};

/// Of bytes that are kept.
Model kept(const ModelBuilder& builder, const Options& options = {}) {
  return load_with({}, onnx_import::testing::as_bytes(builder.bytes()), options);
}

std::vector<float> ramp(std::size_t count, float step = 0.25F) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 7) * step - 0.6F;
  return values;
}

std::vector<float> run(const Model& model, const Shape& shape) {
  std::vector<float> x = ramp(static_cast<std::size_t>(element_count(shape)), 0.3F);
  const auto y = Session(model).run({{DType::f32, shape, x.data()}});
  return {y[0].values<float>().begin(), y[0].values<float>().end()};
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-4F) << i;
}

onnx::ModelProto read(const std::string& path) {
  onnx::ModelProto model;
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(model.ParseFromIstream(&file));
  return model;
}

/// Same answers with `left` nodes.
void expect_written(const ModelBuilder& builder, const Shape& shape, std::size_t left) {
  const Folder folder;
  const Model model = kept(builder);
  const OptimizedCounts counts = write_optimized(model, folder / "out.onnx");
  EXPECT_EQ(counts.nodes_before, static_cast<std::size_t>(builder.proto.graph().node_size()));
  EXPECT_EQ(counts.nodes_after, left);
  EXPECT_EQ(static_cast<std::size_t>(read(folder / "out.onnx").graph().node_size()), left);
  expect_near(run(Model::load(folder / "out.onnx"), shape), run(model, shape));
  EXPECT_FALSE(std::filesystem::exists(folder / "out.onnx.part"));
}

ModelBuilder& weights(ModelBuilder& model, const std::string& name, const Shape& shape) {
  return model.constant(float_tensor(name, shape, ramp(static_cast<std::size_t>(element_count(shape)))));
}

void add_norm(ModelBuilder& model, const std::string& from, const std::string& to, std::int64_t channels) {
  const auto count = static_cast<std::size_t>(channels);
  model.constant(float_tensor(to + "_g", {channels}, ramp(count)))
      .constant(float_tensor(to + "_b", {channels}, ramp(count, 0.5F)))
      .constant(float_tensor(to + "_m", {channels}, ramp(count, 0.1F)))
      .constant(float_tensor(to + "_v", {channels}, std::vector<float>(count, 1.5F)))
      .node("BatchNormalization", {from, to + "_g", to + "_b", to + "_m", to + "_v"}, {to});
}

TEST(WriteOptimized, FoldsNormalisationsAndScalesIntoConvolutions) {
  ModelBuilder model;
  model.input("x", {1, 4, 6, 6}).output("y");
  weights(model, "w", {6, 2, 3, 3}).node("Conv", {"x", "w"}, {"c"}, {attribute("group", 2)});
  add_norm(model, "c", "n", 6);
  weights(model, "s", {6, 1, 1}).node("Mul", {"s", "n"}, {"m"}).node("Relu", {"m"}, {"r"});
  weights(model, "t", {6, 2, 2, 2}).node("ConvTranspose", {"r", "t"}, {"d"}, {attribute("group", 3)});
  weights(model, "a", {1, 6, 1, 1}).node("Sub", {"d", "a"}, {"e"});
  add_norm(model, "e", "y", 6);
  expect_written(model, {1, 4, 6, 6}, 3);
}

TEST(WriteOptimized, FoldsIntoProductsOfMatrices) {
  ModelBuilder model;
  model.input("x", {3, 4}).output("y");
  weights(model, "w", {4, 5}).node("MatMul", {"x", "w"}, {"p"});
  weights(model, "b", {5}).node("Add", {"p", "b"}, {"q"}).constant(float_tensor("two", {}, {2}));
  model.node("Mul", {"q", "two"}, {"r"}).node("Relu", {"r"}, {"g"});
  weights(model, "v", {2, 5}).constant(float_tensor("c", {1, 2}, {1, -1}));
  model.node("Gemm", {"g", "v", "c"}, {"h"}, {attribute("transB", 1), attribute("beta", 0.5F)});
  model.node("Div", {"h", "two"}, {"y"});
  expect_written(model, {3, 4}, 3);
}

TEST(WriteOptimized, FoldsWhatIsConstantOrKnownOfShapes) {
  ModelBuilder model;
  model.input("x", {2, 3, 4}).output("y").constant(int_tensor("zero", {}, {0})).constant(int_tensor("rest", {1}, {-1}));
  model.node("Shape", {"x"}, {"shape"}).node("Gather", {"shape", "zero"}, {"rows"}, {attribute("axis", 0)});
  model.constant(int_tensor("axes", {1}, {0})).node("Unsqueeze", {"rows", "axes"}, {"row"});
  model.node("Concat", {"row", "rest"}, {"target"}, {attribute("axis", 0)}).node("Reshape", {"x", "target"}, {"f"});
  model.node("Identity", {"f"}, {"i"}).node("Relu", {"i"}, {"a"}).node("Relu", {"f"}, {"b"});
  model.node("Neg", {"a"}, {"unused"}).node("Add", {"a", "b"}, {"y"});
  expect_written(model, {2, 3, 4}, 3);
}

TEST(WriteOptimized, MergesTransposesAndKeepsOutputs) {
  ModelBuilder model;
  model.input("x", {2, 3, 4}).output("y");
  model.node("Transpose", {"x"}, {"a"}, {attribute("perm", Ints{1, 2, 0})});
  model.node("Transpose", {"a"}, {"b"}, {attribute("perm", Ints{2, 0, 1})}).node("Abs", {"b"}, {"c"});
  model.node("Identity", {"c"}, {"y"});
  expect_written(model, {2, 3, 4}, 1);
}

/// Nobody checks what is not needed, so nobody may look at it.
TEST(WriteOptimized, LeavesOutWhatNobodyNeedsUnseen) {
  ModelBuilder model;
  model.input("x", {1, 4, 4, 4}).output("y").node("Relu", {"x"}, {"y"});
  model.node("Transpose", {"x"}, {"a"}, {attribute("perm", Ints{9, 8, 7, 6})});
  model.node("Transpose", {"a"}, {"b"}, {attribute("perm", Ints{-9, 80, 7, 6})});
  weights(model, "w", {4, 4, 1, 1}).node("ConvTranspose", {"x", "w"}, {"c"}, {attribute("group", 0)});
  weights(model, "s", {4, 1, 1}).node("Mul", {"c", "s"}, {"d"});
  expect_written(model, {1, 4, 4, 4}, 1);
}

/// An operator of the program in the place of ONNX's.
TEST(WriteOptimized, LeavesRedefinedOperatorsAlone) {
  struct Twice final : CustomKernel {
    std::vector<CustomType> infer(std::span<const CustomType> inputs) const override { return {inputs[0]}; }
    std::vector<Tensor> run(std::span<const Tensor* const> inputs) const override {
      Tensor y = *inputs[0];
      for (float& value : y.values<float>()) value *= 2;
      return {std::move(y)};
    }
  };
  const std::vector<CustomOperator> operators = {
      {"", "Identity", 1, INT_MAX, [](const CustomNode&) { return std::make_shared<const Twice>(); }}};
  ModelBuilder model;
  model.input("x", {2}).output("y").node("Identity", {"x"}, {"a"}).node("Identity", {"x"}, {"b"});
  model.node("Add", {"a", "b"}, {"y"});
  const Folder folder;
  const std::string bytes = model.bytes();
  const Model loaded = load_with(operators, onnx_import::testing::as_bytes(bytes));
  EXPECT_EQ(write_optimized(loaded, folder / "out.onnx").nodes_after, 3u);
  expect_near(run(load_with(operators, folder / "out.onnx"), {2}), run(loaded, {2}));
}

TEST(WriteOptimized, LeavesRandomNumbersApart) {
  ModelBuilder model;
  model.output("y").output("z").constant(int_tensor("n", {1}, {4}));
  for (const char* name : {"a", "b"})
    model.node("RandomNormal", {}, {name}, {attribute("shape", Ints{4}), attribute("seed", 1.0F)});
  model.node("Neg", {"a"}, {"y"}).node("Neg", {"b"}, {"z"});
  const Folder folder;
  EXPECT_EQ(write_optimized(kept(model), folder / "out.onnx").nodes_after, 4u);
}

TEST(WriteOptimized, KeepsWhatRunsMayReplace) {
  ModelBuilder model;
  model.input("x", {2}).input("b", {2}).output("y").constant(float_tensor("b", {2}, {0, 0}));
  model.node("Add", {"x", "b"}, {"y"});
  const Folder folder;
  EXPECT_EQ(write_optimized(kept(model), folder / "out.onnx").nodes_after, 1u);
  const onnx::ModelProto written = read(folder / "out.onnx");
  EXPECT_EQ(written.graph().input_size(), 2);
  EXPECT_EQ(written.graph().initializer_size(), 1);
}

TEST(WriteOptimized, SortsNodesAndKeepsMetadata) {
  ModelBuilder model;
  model.input("x", {-1, 2}).output("y").node("Neg", {"a"}, {"y"}).node("Abs", {"x"}, {"a"});
  model.proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("batch");
  auto* entry = model.proto.add_metadata_props();
  entry->set_key("author");
  entry->set_value("me");
  const Folder folder;
  write_optimized(kept(model), folder / "out.onnx");
  const Model read_again = Model::load(folder / "out.onnx");
  EXPECT_EQ(read_again.metadata().custom.at("author"), "me");
  EXPECT_EQ(read_again.inputs()[0].dim_names[0], "batch");
  EXPECT_EQ(read(folder / "out.onnx").graph().node(0).op_type(), "Abs");
  Options options;
  options.dimensions = {{"batch", 3}};
  write_optimized(kept(model, options), folder / "out.onnx");
  EXPECT_EQ(Model::load(folder / "out.onnx").inputs()[0].shape, (Shape{3, 2}));
}

TEST(WriteOptimized, PutsLargeConstantsBesideTheModel) {
  ModelBuilder model;
  model.input("x", {1, 512}).output("y");
  weights(model, "w", {512, 1024}).node("MatMul", {"x", "w"}, {"p"});
  weights(model, "b", {1024}).node("Add", {"p", "b"}, {"y"});
  const Folder folder;
  write_optimized(kept(model), folder / "out.onnx", {"out.data", 8192});
  const onnx::ModelProto written = read(folder / "out.onnx");
  ASSERT_EQ(written.graph().initializer_size(), 2);
  int apart = 0;
  for (const auto& tensor : written.graph().initializer())
    apart += tensor.data_location() == onnx::TensorProto::EXTERNAL ? 1 : 0;
  EXPECT_EQ(apart, 1);
  EXPECT_EQ(std::filesystem::file_size(folder / "out.data"), 512u * 1024u * 4u);
  expect_near(run(Model::load(folder / "out.onnx"), {1, 512}), run(kept(model), {1, 512}));
  // and from there again
  write_optimized(Model::load(folder / "out.onnx"), folder / "again.onnx");
  EXPECT_GT(std::filesystem::file_size(folder / "again.onnx"), 512u * 1024u * 4u);
  expect_near(run(Model::load(folder / "again.onnx"), {1, 512}), run(kept(model), {1, 512}));
}

/// Tables of 64 MiB that all lie at one place of a file: together more than a protobuf message holds.
TEST(WriteOptimized, PutsWhatNoMessageHoldsBesideTheModelUnasked) {
  constexpr std::int64_t kTables = 32, kColumns = 16384, kRows = 1024;
  const Folder folder;
  if (std::filesystem::space(folder.path).available < (std::uintmax_t{3} << 30))
    GTEST_SKIP() << "needs 3 GiB of space in " << folder.path;
  const std::vector<float> table = ramp(kRows * kColumns);
  std::ofstream(folder / "table.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(table.data()), static_cast<std::streamsize>(table.size() * sizeof(float)));
  ModelBuilder model;
  model.input("i", {1}, onnx::TensorProto::INT64).output("y");
  std::vector<std::string> rows;
  for (std::int64_t k = 0; k < kTables; ++k) {
    const std::string name = "t" + std::to_string(k);
    model.constant(onnx_import::testing::external_tensor(name, {kRows, kColumns}, {{"location", "table.bin"}}));
    model.node("Gather", {name, "i"}, {rows.emplace_back("r" + name)});
  }
  model.node("Sum", rows, {"y"});
  std::ofstream(folder / "in.onnx", std::ios::binary) << model.bytes();
  write_optimized(Model::load(folder / "in.onnx"), folder / "out.onnx");
  EXPECT_LT(std::filesystem::file_size(folder / "out.onnx"), 16384u);
  EXPECT_EQ(std::filesystem::file_size(folder / "out.onnx.data"), std::uintmax_t{1} << 31);
  std::int64_t row = kRows - 1;
  const auto y = Session(Model::load(folder / "out.onnx")).run({{DType::i64, {1}, &row}});
  std::vector<float> expected(table.end() - kColumns, table.end());
  for (float& value : expected) value *= kTables;
  expect_near({y[0].values<float>().begin(), y[0].values<float>().end()}, expected);
}

TEST(WriteOptimized, SaysWhatCannotBeWritten) {
  const Folder folder;
  const Model model = Model::embedded("digits");
  expect_error(ErrorCode::io, "no-such/out.onnx", [&] { write_optimized(model, folder / "no-such/out.onnx"); });
  expect_error(ErrorCode::io, folder.path.string(), [&] { write_optimized(model, folder.path.string()); });
  expect_error(ErrorCode::invalid_argument, "", [&] { write_optimized(model, ""); });
  expect_error(ErrorCode::invalid_argument, "../w", [&] { write_optimized(model, folder / "out.onnx", {"../w"}); });
  expect_error(ErrorCode::invalid_argument, "empty", [&] { write_optimized(Model(), folder / "out.onnx"); });
  ModelBuilder small;
  small.input("x", {2}).output("y").node("Neg", {"x"}, {"y"});
  const Model of_bytes = Model::from_bytes(onnx_import::testing::as_bytes(small.bytes()));
  expect_error(ErrorCode::invalid_argument, "not kept", [&] { write_optimized(of_bytes, folder / "out.onnx"); });
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

}  // namespace
}  // namespace colonnade
