// SPDX-License-Identifier: Apache-2.0
// Initializers, graphs and functions.
#include "evaluate.hpp"

namespace colonnade::onnx_import::testing {
namespace {

std::shared_ptr<const Tensor> only_constant(const onnx::TensorProto& proto) {
  ModelBuilder model;
  model.constant(proto).output(proto.name(), 0);
  const Graph graph = model.import_graph();
  return graph.value(graph.outputs.at(0)).constant->tensor();
}

template <class T>
std::vector<T> elements(const Tensor& tensor) {
  return {tensor.values<T>().begin(), tensor.values<T>().end()};
}

onnx::TensorProto typed(int data_type, const Shape& shape) { return raw_tensor<char>("w", data_type, shape, {}); }

TEST(Initializers, RawDataOfEveryType) {
  EXPECT_EQ(elements<float>(*only_constant(raw_tensor<float>("w", onnx::TensorProto::FLOAT, {2}, {1.5f, -2}))),
            (std::vector<float>{1.5f, -2}));
  EXPECT_EQ(elements<double>(*only_constant(raw_tensor<double>("w", onnx::TensorProto::DOUBLE, {1}, {1e300}))),
            (std::vector<double>{1e300}));
  EXPECT_EQ(
      elements<std::int8_t>(*only_constant(raw_tensor<std::int8_t>("w", onnx::TensorProto::INT8, {2}, {-128, 127}))),
      (std::vector<std::int8_t>{-128, 127}));
  EXPECT_EQ(elements<std::uint8_t>(*only_constant(raw_tensor<std::uint8_t>("w", onnx::TensorProto::UINT8, {1}, {255}))),
            (std::vector<std::uint8_t>{255}));
  EXPECT_EQ(elements<std::int16_t>(*only_constant(raw_tensor<std::int16_t>("w", onnx::TensorProto::INT16, {1}, {-3}))),
            (std::vector<std::int16_t>{-3}));
  EXPECT_EQ(elements<std::uint16_t>(
                *only_constant(raw_tensor<std::uint16_t>("w", onnx::TensorProto::FLOAT16, {1}, {0x3c00}))),
            (std::vector<std::uint16_t>{0x3c00}));
  EXPECT_EQ(
      elements<std::uint64_t>(*only_constant(raw_tensor<std::uint64_t>("w", onnx::TensorProto::UINT64, {1}, {~0ull}))),
      (std::vector<std::uint64_t>{~0ull}));
  EXPECT_EQ(elements<std::uint8_t>(*only_constant(raw_tensor<char>("w", onnx::TensorProto::BOOL, {3}, {0, 1, 2}))),
            (std::vector<std::uint8_t>{0, 1, 1}));
}

TEST(Initializers, TypedFields) {
  auto int32s = [](int type, std::initializer_list<int> values) {
    onnx::TensorProto proto = typed(type, {static_cast<std::int64_t>(values.size())});
    for (const int value : values) proto.add_int32_data(value);
    return proto;
  };
  EXPECT_EQ(elements<std::int32_t>(*only_constant(int32s(onnx::TensorProto::INT32, {-5, 6}))),
            (std::vector<std::int32_t>{-5, 6}));
  EXPECT_EQ(elements<std::int8_t>(*only_constant(int32s(onnx::TensorProto::INT8, {-128}))),
            (std::vector<std::int8_t>{-128}));
  EXPECT_EQ(elements<std::uint8_t>(*only_constant(int32s(onnx::TensorProto::UINT8, {200}))),
            (std::vector<std::uint8_t>{200}));
  EXPECT_EQ(elements<std::int16_t>(*only_constant(int32s(onnx::TensorProto::INT16, {-300}))),
            (std::vector<std::int16_t>{-300}));
  EXPECT_EQ(elements<std::uint16_t>(*only_constant(int32s(onnx::TensorProto::UINT16, {65535}))),
            (std::vector<std::uint16_t>{65535}));
  EXPECT_EQ(elements<std::uint16_t>(*only_constant(int32s(onnx::TensorProto::FLOAT16, {0xbc00}))),
            (std::vector<std::uint16_t>{0xbc00}));
  EXPECT_EQ(elements<std::uint16_t>(*only_constant(int32s(onnx::TensorProto::BFLOAT16, {0x3f80}))),
            (std::vector<std::uint16_t>{0x3f80}));
  EXPECT_EQ(elements<std::uint8_t>(*only_constant(int32s(onnx::TensorProto::BOOL, {0, 1, 7}))),
            (std::vector<std::uint8_t>{0, 1, 1}));
  onnx::TensorProto doubles = typed(onnx::TensorProto::DOUBLE, {1});
  doubles.add_double_data(0.1);
  EXPECT_EQ(elements<double>(*only_constant(doubles)), (std::vector<double>{0.1}));
  onnx::TensorProto unsigned32 = typed(onnx::TensorProto::UINT32, {1});
  unsigned32.add_uint64_data(4'000'000'000u);
  EXPECT_EQ(elements<std::uint32_t>(*only_constant(unsigned32)), (std::vector<std::uint32_t>{4'000'000'000u}));
  onnx::TensorProto strings = typed(onnx::TensorProto::STRING, {2});
  strings.add_string_data("a");
  strings.add_string_data("");
  EXPECT_EQ(only_constant(strings)->strings(), (Names{"a", ""}));
}

TEST(Initializers, ScalarsAndEmptyTensors) {
  EXPECT_EQ(only_constant(float_tensor("w", {}, {4}))->shape(), Shape{});
  EXPECT_EQ(only_constant(float_tensor("w", {0}, {}))->size(), 0);
  EXPECT_EQ(only_constant(float_tensor("w", {3, 0, 5}, {}))->shape(), (Shape{3, 0, 5}));
}

TEST(Initializers, ListedAsInputTheyAreConstants) {
  ModelBuilder model(8);
  model.proto.set_ir_version(3);
  model.input("x", {2})
      .input("w", {2})
      .output("y")
      .constant(float_tensor("w", {2}, {1, 2}))
      .node("Add", {"x", "w"}, {"y"});
  const Graph graph = model.import_graph();
  ASSERT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(graph.value(graph.inputs[0]).name, "x");
  expect_floats(evaluate(model, {floats({2}, {1, 1})})[0], {2}, {2, 3});
}

TEST(Initializers, SparseOnesBecomeDense) {
  ModelBuilder model;
  auto* sparse = model.proto.mutable_graph()->add_sparse_initializer();
  *sparse->mutable_values() = float_tensor("w", {2}, {3, 4});
  *sparse->mutable_indices() = int_tensor("", {2}, {1, 5});
  sparse->add_dims(2);
  sparse->add_dims(3);
  model.output("y").node("Neg", {"w"}, {"y"});
  expect_floats(evaluate(model, {})[0], {2, 3}, {0, -3, 0, 0, 0, -4});
}

TEST(Graphs, NodesInAnyOrderAreSorted) {
  ModelBuilder model;
  model.input("x", {1}).output("c").node("Neg", {"b"}, {"c"}).node("Exp", {"a"}, {"b"}).node("Relu", {"x"}, {"a"});
  const Graph graph = model.import_graph();
  EXPECT_EQ(graph.nodes[0].origin, "Relu");
  EXPECT_EQ(graph.nodes[2].origin, "Neg");
  expect_floats(evaluate(model, {floats({1}, {-1})})[0], {1}, {-1});
}

TEST(Graphs, ALongChainIsNoProblem) {
  ModelBuilder model;
  constexpr int kNodes = 20000;
  model.input("v0", {1}).output("v" + std::to_string(kNodes));
  for (int i = kNodes; i > 0; --i) model.node("Relu", {"v" + std::to_string(i - 1)}, {"v" + std::to_string(i)});
  EXPECT_EQ(model.import_graph().nodes.size(), static_cast<std::size_t>(kNodes));
}

TEST(Graphs, NodesNobodyNeedsAreLeftOut) {
  ModelBuilder model;
  model.input("x", {1}).output("y").node("Relu", {"x"}, {"y"}).node("NoSuchOperator", {"x"}, {"z"});
  EXPECT_EQ(model.import_graph().nodes.size(), 1u);
}

TEST(Graphs, OpenDimensionsKeepTheirNames) {
  ModelBuilder model;
  model.input("x", {-1, 3, -1}).output("y").node("Relu", {"x"}, {"y"});
  auto* shape = model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(0)->set_dim_param("batch");
  shape->mutable_dim(2)->set_dim_value(-1);
  const Graph graph = model.import_graph();
  EXPECT_EQ(graph.value(graph.inputs[0]).type.shape, (Shape{-1, 3, -1}));
  EXPECT_EQ(graph.value(graph.inputs[0]).dim_names, (Names{"batch", "", ""}));
  EXPECT_EQ(graph.value(graph.outputs[0]).type.shape, (Shape{-1, 3, -1}));
}

TEST(Graphs, DomainAliasesAndDoubledImports) {
  ModelBuilder model(0);
  model.import("ai.onnx", 10).import("", 13).import("ai.onnx", 12);
  model.input("x", {1, 1, 2})
      .output("y")
      .node("Squeeze", {"x", "a"}, {"y"}, {}, "ai.onnx")
      .constant(int_tensor("a", {1}, {0}));
  EXPECT_EQ(evaluate(model, {floats({1, 1, 2}, {1, 2})})[0].shape(), (Shape{1, 2}));
}

TEST(Graphs, NamesOfValuesAreUniqueAndKept) {
  ModelBuilder model(13);
  model.input("x", {1, 1, 3, 3}).output("y/Transpose").output("y").constant(float_tensor("w", {1, 1, 1, 1}, {1}));
  model.node("Conv", {"x", "w"}, {"y"}).node("Relu", {"y"}, {"y/Transpose"});
  const Graph graph = model.import_graph();
  verify(graph);
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "y/Transpose");
  EXPECT_EQ(graph.value(graph.outputs[1]).name, "y");
  std::set<std::string> names;
  for (const Value& value : graph.values) EXPECT_TRUE(names.insert(value.name).second) << value.name;
}

onnx::FunctionProto function(const std::string& name, const Names& inputs, const Names& outputs, std::int64_t opset) {
  onnx::FunctionProto proto;
  proto.set_name(name);
  proto.set_domain("f");
  for (const auto& input : inputs) proto.add_input(input);
  for (const auto& output : outputs) proto.add_output(output);
  for (const auto& [domain, version] : {std::pair<std::string, std::int64_t>{"", opset}, {"f", 1}}) {
    auto* import = proto.add_opset_import();
    import->set_domain(domain);
    import->set_version(version);
  }
  return proto;
}

TEST(Functions, AreInlinedWithTheirAttributesAndOpsets) {
  ModelBuilder model(13);
  model.import("f", 1).input("x", {2, 2}).output("y").output("z");
  auto inner = function("inner", {"a"}, {"t"}, 11);
  *inner.add_node() = node_proto("LeakyRelu", {"a"}, {"t"}, {reference("alpha", "slope", onnx::AttributeProto::FLOAT)});
  auto outer = function("outer", {"a", "unused"}, {"b"}, 11);
  *outer.add_node() =
      node_proto("inner", {"a"}, {"t"}, {reference("slope", "steep", onnx::AttributeProto::FLOAT)}, "f");
  *outer.add_node() = node_proto("Unsqueeze", {"t"}, {"b"}, {attribute("axes", Ints{0})});
  *model.proto.add_functions() = outer;
  *model.proto.add_functions() = inner;
  model.node("outer", {"x"}, {"y"}, {attribute("steep", 0.5f)}, "f")
      .node("outer", {"x"}, {"z"}, {attribute("steep", 0.25f)}, "f");
  const auto outputs = evaluate(model, {floats({2, 2}, {-4, 1, 2, -8})});
  expect_floats(outputs[0], {1, 2, 2}, {-2, 1, 2, -4});
  expect_floats(outputs[1], {1, 2, 2}, {-1, 1, 2, -2});
}

TEST(Functions, DefaultsOfAttributesApply) {
  ModelBuilder model(13);
  model.import("f", 1).input("x", {1}).output("y");
  auto leaky = function("leaky", {"a"}, {"b"}, 13);
  *leaky.add_node() = node_proto("LeakyRelu", {"a"}, {"b"}, {reference("alpha", "slope", onnx::AttributeProto::FLOAT)});
  std::string serialized = attribute("slope", 0.75f).SerializeAsString();
  leaky.mutable_unknown_fields()->AddLengthDelimited(11, serialized);
  *model.proto.add_functions() = leaky;
  model.node("leaky", {"x"}, {"y"}, {}, "f");
  expect_floats(evaluate(model, {floats({1}, {-4})})[0], {1}, {-3});
}

TEST(Functions, MayPassTheirInputsThrough) {
  ModelBuilder model(13);
  model.import("f", 1).input("x", {1}).output("y").output("z");
  *model.proto.add_functions() = function("same", {"a"}, {"a"}, 13);
  model.node("same", {"x"}, {"y"}, {}, "f").node("same", {"y"}, {"z"}, {}, "f");
  expect_floats(evaluate(model, {floats({1}, {5})})[1], {1}, {5});
}

TEST(Functions, NamesOfBodiesNeverMeetOthers) {
  ModelBuilder model(13);
  model.import("f", 1).input("x", {1}).output("y").output("call/t").output("z");
  auto body = function("body", {"a"}, {"b"}, 13);
  *body.add_node() = node_proto("Neg", {"a"}, {"t"});
  *body.add_node() = node_proto("Exp", {"t"}, {"b"});
  *model.proto.add_functions() = body;
  model.node("body", {"x"}, {"y"}, {}, "f").node("body", {"x"}, {"z"}, {}, "f").node("Relu", {"x"}, {"call/t"});
  for (int i = 0; i < 2; ++i) model.proto.mutable_graph()->mutable_node(i)->set_name("call");
  const auto outputs = evaluate(model, {floats({1}, {0})});
  expect_floats(outputs[0], {1}, {1});
  expect_floats(outputs[1], {1}, {0});
}

TEST(Tensors, ProtobufRoundTrip) {
  Tensor tensor = floats({2, 1}, {1.5f, -3});
  const std::string bytes = serialize_tensor(tensor, "t");
  const Tensor back = parse_tensor(as_bytes(bytes));
  expect_floats(back, {2, 1}, {1.5f, -3});
  Tensor strings(DType::string, {2});
  strings.strings() = {"a", "b"};
  const std::string text = serialize_tensor(strings, "s");
  EXPECT_EQ(parse_tensor(as_bytes(text)).strings(), (Names{"a", "b"}));
}

TEST(Tensors, BadBytesAreInvalidInput) {
  const auto code_of = [](const std::string& bytes) {
    try {
      parse_tensor(as_bytes(bytes));
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::internal;
  };
  EXPECT_EQ(code_of("\xff\xff\xff"), ErrorCode::invalid_input);
  EXPECT_EQ(code_of(float_tensor("t", {3}, {1}).SerializeAsString()), ErrorCode::invalid_input);
  EXPECT_EQ(code_of(external_tensor("t", {1}, {{"location", "w.bin"}}).SerializeAsString()), ErrorCode::invalid_input);
}

}  // namespace
}  // namespace colonnade::onnx_import::testing
