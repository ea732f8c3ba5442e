// SPDX-License-Identifier: Apache-2.0
// Large tensor data stays in the file until someone needs it.
#include <fstream>
#include <random>

#include "evaluate.hpp"
#include "frontends/onnx/skeleton.hpp"

namespace colonnade::onnx_import::testing {
namespace {

constexpr std::int64_t kCount = 8192;

std::vector<float> numbers_from(float first) {
  std::vector<float> values(static_cast<std::size_t>(kCount));
  std::iota(values.begin(), values.end(), first);
  return values;
}

Skeleton cut(const std::string& bytes) { return skeleton_of(MemoryBytes(as_bytes(bytes))); }

/// The sum of large tensors from everywhere: raw and typed initializers, a node's attribute, a function's.
ModelBuilder large_model() {
  ModelBuilder model(13);
  model.import("f", 1).output("y");
  model.constant(raw_tensor<float>("raw", onnx::TensorProto::FLOAT, {kCount}, numbers_from(1)));
  model.constant(float_tensor("typed", {kCount}, numbers_from(2)));
  model.node("Constant", {}, {"node"},
             {attribute("value", raw_tensor<float>("", onnx::TensorProto::FLOAT, {kCount}, numbers_from(3)))});
  model.node("f", {}, {"function"}, {}, "f");
  model.node("Sum", {"raw", "typed", "node", "function"}, {"y"});
  auto* function = model.proto.add_functions();
  function->set_name("f");
  function->set_domain("f");
  function->add_output("b");
  function->add_opset_import()->set_version(13);
  *function->add_node() =
      node_proto("Constant", {}, {"b"},
                 {attribute("value", raw_tensor<float>("", onnx::TensorProto::FLOAT, {kCount}, numbers_from(4)))});
  return model;
}

void expect_sum(const Graph& graph) {
  const Tensor sum = std::move(reference::evaluate(graph, std::span<const TensorView>{}).front());
  ASSERT_EQ(sum.shape(), Shape{kCount});
  for (std::int64_t i = 0; i < kCount; ++i)
    ASSERT_EQ(sum.values<float>()[static_cast<std::size_t>(i)], static_cast<float>(10 + 4 * i));
}

class LargeDataTest : public ::testing::Test {
 protected:
  Graph load(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return import_file(path_.string());
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "net.onnx";
};

TEST_F(LargeDataTest, IsNotInTheSkeleton) {
  const std::string bytes = large_model().bytes();
  const Skeleton skeleton = cut(bytes);
  EXPECT_EQ(skeleton.ranges.size(), 4u);
  EXPECT_LT(skeleton.message.size(), 1000u);
  for (const DataRange& range : skeleton.ranges) EXPECT_EQ(range.bytes, kCount * 4);
}

TEST_F(LargeDataTest, IsReadFromBytesAndFiles) {
  expect_sum(large_model().import_graph());
  const Graph graph = load(large_model().bytes());
  verify(graph);
  expect_sum(graph);
  expect_sum(graph);
}

TEST_F(LargeDataTest, IsReadInPieces) {
  const Graph graph = load(large_model().bytes());
  for (const Value& value : graph.values) {
    if (!value.constant) continue;
    EXPECT_FALSE(value.constant->is_kept()) << value.name;
    const auto whole = value.constant->tensor();
    float piece[3] = {};
    value.constant->read(1001, std::as_writable_bytes(std::span(piece)));
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(piece[i], whole->values<float>()[1001 + i]) << value.name;
  }
}

TEST_F(LargeDataTest, ADeletedOrReplacedFileIsReadAsItWas) {
  const Graph graph = load(large_model().bytes());
  std::filesystem::remove(path_);
  std::ofstream(path_, std::ios::binary) << "something else";
  expect_sum(graph);
}

TEST_F(LargeDataTest, AChangedOrShortenedFileIsAnError) {
  const std::string bytes = large_model().bytes();
  for (const bool shorten : {false, true}) {
    const Graph graph = load(bytes);
    if (shorten) {
      std::filesystem::resize_file(path_, 100);
    } else {
      std::filesystem::last_write_time(path_, std::filesystem::last_write_time(path_) + std::chrono::seconds(2));
    }
    try {
      reference::evaluate(graph, std::span<const TensorView>{});
      FAIL() << "evaluated";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io) << error.what();
      EXPECT_NE(std::string(error.what()).find("'raw'"), std::string::npos) << error.what();
    }
  }
}

void refuse(const std::string& bytes, const std::string& part) {
  try {
    import_bytes(as_bytes(bytes));
    FAIL() << "imported: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_model) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(LargeData, IsCheckedAgainstTheShape) {
  const auto with = [](const onnx::TensorProto& tensor) { return ModelBuilder().constant(tensor).output("w").bytes(); };
  refuse(with(raw_tensor<float>("w", onnx::TensorProto::FLOAT, {kCount + 1}, numbers_from(0))), "bytes of raw data");
  refuse(with(raw_tensor<float>("w", onnx::TensorProto::STRING, {kCount}, numbers_from(0))), "strings");
  refuse(with(float_tensor("w", {kCount - 1}, numbers_from(0))), "elements");
  onnx::TensorProto other = float_tensor("w", {kCount}, numbers_from(0));
  other.set_data_type(onnx::TensorProto::DOUBLE);
  refuse(with(other), "does not use");
  onnx::TensorProto both = float_tensor("w", {kCount}, numbers_from(0));
  both.add_int32_data(1);
  refuse(with(both), "both");
  onnx::TensorProto external = raw_tensor<float>("w", onnx::TensorProto::FLOAT, {kCount}, numbers_from(0));
  external.set_data_location(onnx::TensorProto::EXTERNAL);
  refuse(with(external), "both");
}

TEST(LargeData, ForgedRangesAreRefused) {
  onnx::TensorProto forged = float_tensor("w", {kCount}, {});
  forged.mutable_unknown_fields()->AddVarint(kRangeField, 7);
  refuse(ModelBuilder().constant(forged).output("w").bytes(), "'w'");
  forged.mutable_unknown_fields()->AddVarint(kRangeField, 7);
  refuse(ModelBuilder().constant(forged).output("w").bytes(), "twice");
}

TEST(LargeData, UnusualFormsStayWithProtobuf) {
  const onnx::TensorProto tensor = raw_tensor<float>("w", onnx::TensorProto::FLOAT, {kCount}, numbers_from(5));
  onnx::TensorProto first;
  first.set_raw_data(std::string(20000, 'x'));
  ModelBuilder model;
  model.output("w");
  std::string bytes = model.bytes();
  const std::string inner = first.SerializeAsString() + tensor.SerializeAsString();  // the last raw_data counts
  onnx::ModelProto holder;
  holder.mutable_graph()->mutable_unknown_fields()->AddLengthDelimited(5, inner);
  bytes += holder.SerializeAsString();
  EXPECT_TRUE(cut(bytes).ranges.empty());
  const Graph graph = import_bytes(as_bytes(bytes));
  EXPECT_EQ(graph.value(graph.outputs[0]).constant->tensor()->values<float>()[1], 6.0f);
}

TEST(LargeData, DamageOutsideTheDataIsHandled) {
  const std::string bytes = large_model().bytes();
  const std::vector<DataRange> ranges = cut(bytes).ranges;
  std::vector<std::size_t> outside;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const auto covers = [&](const DataRange& range) {
      return static_cast<std::int64_t>(at) >= range.offset &&
             static_cast<std::int64_t>(at) < range.offset + range.bytes;
    };
    if (std::none_of(ranges.begin(), ranges.end(), covers)) outside.push_back(at);
  }
  constexpr unsigned kSeed = 11;
  std::mt19937 random(kSeed);
  for (int round = 0; round < 1500; ++round) {
    std::string damaged = bytes;
    const std::size_t at = outside[random() % outside.size()];
    if (round % 3 == 0) {
      damaged.resize(at);
    } else {
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
    }
    try {
      verify(import_bytes(as_bytes(damaged)));
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::internal) << "round " << round << ": " << error.what();
    }
  }
}

}  // namespace
}  // namespace colonnade::onnx_import::testing
