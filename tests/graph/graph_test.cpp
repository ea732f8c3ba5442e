// SPDX-License-Identifier: Apache-2.0
// Building, binding, verifying, cleaning and costing graphs.
#include "graph/graph.hpp"

#include "base/half.hpp"
#include "graph/builder.hpp"

namespace colonnade::test {
namespace {

Node node(const Operator& op, std::vector<ValueId> inputs, ValueId output, std::string name) {
  return Node{op, std::move(inputs), {output}, std::move(name), "Test"};
}

/// y = relu(x + c); all types inferred.
Graph small_graph() {
  Graph graph;
  graph.name = "small";
  const ValueId x = graph.add_value("x", type_from("f32[2,3]"));
  const ValueId c = graph.add_constant("c", tensor_of({1, 2, 3}));
  const ValueId sum = graph.add_value("sum");
  const ValueId y = graph.add_value("y");
  graph.inputs = {x};
  graph.outputs = {y};
  graph.nodes = {node(Binary{BinaryKind::add}, {x, c}, sum, "add1"), node(Unary{UnaryKind::relu}, {sum}, y, "relu1")};
  infer_types(graph);
  return graph;
}

std::string broken(const Graph& graph) {
  return error_of([&] { verify(graph); }, ErrorCode::internal);
}

#define EXPECT_BROKEN(graph, part) \
  EXPECT_NE(broken(graph).find(part), std::string::npos) << "message: " << broken(graph)

TEST(Graph, NamesAreUnique) {
  Graph graph;
  const ValueId a = graph.add_value("x");
  const ValueId b = graph.add_value("x");
  const ValueId c = graph.add_value("");
  EXPECT_EQ(graph.value(a).name, "x");
  EXPECT_NE(graph.value(b).name, "x");
  EXPECT_FALSE(graph.value(c).name.empty());
  graph.value(a).name = "renamed";
  EXPECT_NE(graph.value(graph.add_value("renamed")).name, "renamed");
  EXPECT_EQ(graph.value(graph.add_value("x")).name, "x");
}

TEST(Graph, ConstantsAsNumbers) {
  Graph graph;
  Tensor shorts(DType::i32, {2});
  shorts.values<std::int32_t>()[1] = -7;
  Tensor halves(DType::f16, {1});
  halves.values<std::uint16_t>()[0] = float_to_f16(1.5f);
  const std::vector<ValueId> inputs = {graph.add_ints("i", {4, 5}), graph.add_constant("s", std::move(shorts)),
                                       graph.add_constant("h", std::move(halves)), graph.add_value("v"), kAbsent};
  const Node user = node(Concat{}, inputs, kAbsent, "n");
  EXPECT_EQ(constant_ints(graph, user, 0), (Ints{4, 5}));
  EXPECT_EQ(constant_ints(graph, user, 1), (Ints{0, -7}));
  EXPECT_EQ(constant_ints(graph, user, 2), std::nullopt);
  EXPECT_EQ(constant_floats(graph, user, 2), (std::vector<float>{1.5f}));
  EXPECT_EQ(constant_floats(graph, user, 0), std::nullopt);
  for (std::size_t input = 3; input <= 5; ++input) EXPECT_EQ(constant_ints(graph, user, input), std::nullopt);
}

TEST(Graph, Consumers) {
  Graph graph = small_graph();
  graph.nodes[1].op = Binary{};
  graph.nodes[1].inputs = {2, 2};
  const auto consumers = consumers_of(graph);
  EXPECT_EQ(consumers[0], (std::vector<std::int32_t>{0}));
  EXPECT_EQ(consumers[2], (std::vector<std::int32_t>{1, 1}));
  EXPECT_TRUE(consumers[3].empty());
}

TEST(Graph, RemoveDead) {
  Graph graph = small_graph();
  const ValueId unread = graph.add_value("unread");
  graph.add_constant("lonely", tensor_of({1}));
  const ValueId spare = graph.add_value("spare", type_from("f32[1]"));
  graph.inputs.push_back(spare);
  graph.nodes.insert(graph.nodes.begin(), node(Unary{UnaryKind::exp}, {0}, unread, "dead1"));
  infer_types(graph);
  remove_dead(graph);
  EXPECT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.values.size(), 5u);
  EXPECT_EQ(graph.inputs.size(), 2u);
  EXPECT_EQ(graph.value(graph.inputs[1]).name, "spare");
  EXPECT_EQ(graph.value(graph.nodes[1].outputs[0]).name, "y");
  verify(graph);
}

TEST(Graph, Text) {
  Graph graph = small_graph();
  graph.value(0).dim_names = {"batch", ""};
  Conv conv;
  conv.kernel = {3, 3};
  conv.strides = {2, 2};
  conv.dilations = {1, 1};
  conv.pads = {1, 1, 1, 1};
  conv.groups = 2;
  conv.epilogue.activation = {UnaryKind::clip, 0, 6};
  const ValueId image = graph.add_value("image", type_from("f32[1,?,8,4]"));
  const ValueId weight = graph.add_constant("weight", Tensor(DType::f32, {8, 2, 3, 3}));
  const ValueId wide = graph.add_value("odd \"name\"\n");
  graph.inputs.push_back(image);
  graph.nodes.push_back(node(conv, {image, weight, kAbsent}, wide, "conv1"));
  graph.outputs.push_back(wide);
  graph.add_ints("numbers", {1, -2});
  infer_types(graph);
  EXPECT_EQ(to_text(graph),
            "graph small\n"
            "input %x f32[2,3] dims=batch,_\n"
            "input %image f32[1,?,8,4]\n"
            "constant %c f32[3] = [1,2,3]\n"
            "constant %weight f32[8,2,3,3]\n"
            "constant %numbers i64[2] = [1,-2]\n"
            "%sum f32[2,3] = Add(%x, %c) # add1\n"
            "%y f32[2,3] = Relu(%sum) # relu1\n"
            "%\"odd \\\"name\\\"\\x0a\" f32[1,?,4,8] = Conv(%image, %weight, _) kernel=3x3 strides=2x2 pads=1,1,1,1 "
            "groups=2 act=clip(0,6) # conv1\n"
            "output %y\n"
            "output %\"odd \\\"name\\\"\\x0a\"\n");
  EXPECT_EQ(to_text(ValueType{}), "?[*]");
}

TEST(Graph, AttributesOfEveryOperatorPrint) {
  Pool pool;
  pool.kernel = {2, 2};
  pool.ceil_mode = true;
  Resize resize;
  resize.axes = {1, 2};
  Recurrent recurrent;
  recurrent.hidden_size = 4;
  recurrent.activations = {"Sigmoid", "Tanh"};
  EXPECT_EQ(attributes_of(pool), "kind=max kernel=2x2 ceil_mode");
  EXPECT_EQ(attributes_of(resize), "mode=nearest coordinates=half_pixel nearest=round_prefer_floor axes=1,2");
  EXPECT_EQ(attributes_of(recurrent), "kind=lstm direction=forward hidden=4 activation=Sigmoid activation=Tanh");
  EXPECT_EQ(attributes_of(Einsum{"ij->i"}), "equation=\"ij->i\"");
  EXPECT_EQ(attributes_of(Transpose{{0, 2, 1}}), "perm=0,2,1");
  EXPECT_EQ(attributes_of(Cast{DType::i64}), "to=int64");
  EXPECT_EQ(name_of(Operator(Unary{UnaryKind::leaky_relu})), "LeakyRelu");
  EXPECT_EQ(name_of(Operator(Binary{BinaryKind::squared_difference})), "SquaredDifference");
  EXPECT_EQ(name_of(Operator(TreeEnsemble{})), "TreeEnsemble");
  EXPECT_EQ(name_of(Operator(Hardmax{})), "Hardmax");
}

TEST(InferTypes, DeclaredOutputs) {
  Graph graph = small_graph();
  graph.value(3).type = type_from("f32[?,99]");
  infer_types(graph);
  EXPECT_EQ(to_text(graph.value(3).type), "f32[2,3]");
  graph.value(3).type = type_from("f32[2]");
  const std::string rank = error_of([&] { infer_types(graph); }, ErrorCode::invalid_model);
  EXPECT_EQ(rank, "node 'relu1' (Relu): output 'y' is declared f32[2], but the operator gives f32[2,3]");
  graph.value(3).type = type_from("i64[2,3]");
  EXPECT_THROW(infer_types(graph), Error);
}

TEST(BindShapes, FillsOpenDimensions) {
  Graph graph = small_graph();
  const ValueId other = graph.add_value("other", type_from("f32[?]"));
  graph.inputs.push_back(other);
  graph.value(0).type = type_from("f32[?,3]");
  graph.value(0).dim_names = {"n", ""};
  graph.value(other).dim_names = {"n"};
  infer_types(graph);
  EXPECT_EQ(to_text(graph.value(3).type), "f32[?,3]");
  const std::vector<Shape> shapes = {{5, 3}, {5}};
  const Graph bound = bind_shapes(graph, shapes);
  verify(bound);
  EXPECT_EQ(to_text(bound.value(3).type), "f32[5,3]");
  EXPECT_EQ(to_text(graph.value(3).type), "f32[?,3]");

  const auto refusal = [&](std::vector<Shape> given, ErrorCode code = ErrorCode::invalid_input) {
    return error_of([&] { static_cast<void>(bind_shapes(graph, given)); }, code);
  };
  EXPECT_EQ(refusal({{5, 3}, {6}}), "input 'other': dimension 'n' is 6 at axis 0, another input has 5");
  EXPECT_EQ(refusal({{5, 4}, {5}}), "input 'x': expected 3 at axis 1 (f32[?,3]), found 4");
  EXPECT_EQ(refusal({{5}, {5}}), "input 'x': expected rank 2 (f32[?,3]), found f32[5]");
  EXPECT_EQ(refusal({{5, 3}}, ErrorCode::invalid_argument), "expected 2 input shapes, found 1");
  EXPECT_EQ(refusal({{-1, 3}, {5}}), "input 'x': the given shape holds -1");
}

TEST(BindShapes, WithoutSymbolsDimensionsAreFree) {
  Graph graph = single(Binary{}, {typed("f32[?]"), typed("f32[*]")});
  infer_types(graph);
  const std::vector<Shape> shapes = {{4}, {}};
  EXPECT_EQ(to_text(bind_shapes(graph, shapes).value(2).type), "f32[4]");
  const std::vector<Shape> clashing = {{4}, {5}};
  EXPECT_THROW(static_cast<void>(bind_shapes(graph, clashing)), Error);
}

TEST(Verify, AcceptsASoundGraph) { EXPECT_EQ(broken(small_graph()), ""); }

TEST(Verify, CatchesBrokenValues) {
  Graph graph = small_graph();
  graph.value(2).name = "x";
  EXPECT_BROKEN(graph, "two values are named 'x'");
  graph = small_graph();
  graph.value(2).name = "";
  EXPECT_BROKEN(graph, "a value has no name");
  graph = small_graph();
  graph.value(1).type = type_from("f32[4]");
  EXPECT_BROKEN(graph, "constant 'c' is typed f32[4], its tensor is f32[3]");
  graph = small_graph();
  graph.value(2).type = type_from("f32[2,4]");
  EXPECT_BROKEN(graph, "value 'sum' of node 'add1' is typed f32[2,4], inference gives f32[2,3]");
  graph = small_graph();
  graph.value(3).type = type_from("?[2,3]");
  EXPECT_BROKEN(graph, "value 'y' of node 'relu1' is typed ?[2,3]");
}

TEST(Verify, CatchesBrokenStructure) {
  Graph graph = small_graph();
  std::swap(graph.nodes[0], graph.nodes[1]);
  EXPECT_BROKEN(graph, "node 'relu1' reads 'sum' before it is made");
  graph = small_graph();
  graph.nodes[0].inputs[0] = 77;
  EXPECT_BROKEN(graph, "node 'add1' mentions value 77 of 4");
  graph = small_graph();
  graph.nodes[0].inputs[0] = -2;
  EXPECT_BROKEN(graph, "node 'add1' mentions value -2 of 4");
  graph = small_graph();
  graph.nodes[1].outputs[0] = 2;
  EXPECT_BROKEN(graph, "value 'sum' of node 'relu1' has another producer");
  graph = small_graph();
  graph.nodes[1].outputs[0] = 1;
  EXPECT_BROKEN(graph, "value 'c' of node 'relu1' has another producer");
  graph = small_graph();
  graph.inputs.push_back(1);
  EXPECT_BROKEN(graph, "value 'c' of the input list has another producer");
  graph = small_graph();
  graph.inputs.push_back(9);
  EXPECT_BROKEN(graph, "the input list mentions value 9 of 4");
  graph = small_graph();
  graph.outputs.push_back(kAbsent);
  EXPECT_BROKEN(graph, "the output list mentions value -1 of 4");
  graph = small_graph();
  graph.outputs.push_back(graph.add_value("nowhere"));
  EXPECT_BROKEN(graph, "output 'nowhere' is made by no node");
  graph = small_graph();
  graph.nodes[0].name.clear();
  EXPECT_BROKEN(graph, "a Add node has no name");
  graph = small_graph();
  graph.nodes[0].outputs.clear();
  EXPECT_BROKEN(graph, "node 'add1' has no outputs");
  graph = small_graph();
  graph.nodes[0].inputs.pop_back();
  EXPECT_BROKEN(graph, "input 1 is missing");
}

double flop(const Operator& op, const std::vector<Input>& inputs, std::size_t outputs = 1) {
  Graph graph = single(op, inputs, outputs);
  infer_types(graph);
  return flop_of(graph, graph.nodes.front());
}

TEST(Cost, Flop) {
  Conv conv;
  conv.kernel = {3, 3};
  conv.pads = {1, 1, 1, 1};
  EXPECT_EQ(flop(conv, {typed("f32[1,4,5,6]"), typed("f32[8,6,3,3]")}), 4 * 5 * 8 * 2 * 9 * 6);
  EXPECT_EQ(flop(conv, {typed("f32[1,4,5,6]"), typed("f32[8,6,3,3]"), typed("f32[8]")}), 4 * 5 * 8 * (2 * 9 * 6 + 1));
  conv.groups = 6;
  EXPECT_EQ(flop(conv, {typed("f32[1,4,5,6]"), typed("f32[6,1,3,3]")}), 4 * 5 * 6 * 2 * 9);
  ConvTranspose transposed;
  transposed.kernel = {2, 2};
  transposed.strides = {2, 2};
  EXPECT_EQ(flop(transposed, {typed("f32[1,4,5,6]"), typed("f32[6,8,2,2]")}), 4 * 5 * 6 * 2 * 8 * 4);
  EXPECT_EQ(flop(MatMul{}, {typed("f32[2,3,4]"), typed("f32[4,5]")}), 2 * 3 * 5 * 2 * 4);
  EXPECT_EQ(flop(MatMul{true, false, {}}, {typed("f32[4,3]"), typed("f32[4,5]")}), 3 * 5 * 2 * 4);
  EXPECT_EQ(flop(Einsum{"...ij,jk->...ik"}, {typed("f32[7,2,3]"), typed("f32[3,4]")}), 2 * 7 * 2 * 3 * 4);
  EXPECT_EQ(flop(Unary{UnaryKind::relu}, {typed("f32[2,3]")}), 6);
  EXPECT_EQ(flop(Unary{UnaryKind::exp}, {typed("f32[2,3]")}), 60);
  EXPECT_EQ(flop(Reduce{}, {typed("f32[2,3]")}), 6);
  EXPECT_EQ(flop(Reshape{}, {typed("f32[2,3]"), ints({6})}), 0);
  EXPECT_THROW(flop(Unary{UnaryKind::relu}, {typed("f32[?]")}), Error);
}

TEST(Cost, Bytes) {
  Value value;
  value.type = type_from("f16[3,5]");
  EXPECT_EQ(bytes_of(value), 30);
  value.type = type_from("f16[?,5]");
  EXPECT_THROW(bytes_of(value), Error);
}

TEST(ResolvePads, AutomaticOnes) {
  Conv conv;
  conv.kernel = {3, 2};
  conv.strides = {2, 1};
  conv.auto_pad = AutoPad::same_upper;
  const Shape spatial = {8, 5};
  EXPECT_EQ(resolve_pads(conv, spatial), (Ints{0, 0, 1, 1}));
  conv.auto_pad = AutoPad::same_lower;
  EXPECT_EQ(resolve_pads(conv, spatial), (Ints{1, 1, 0, 0}));
  conv.auto_pad = AutoPad::valid;
  EXPECT_EQ(resolve_pads(conv, spatial), (Ints{0, 0, 0, 0}));
  conv.auto_pad = AutoPad::explicit_pads;
  conv.pads = {1, 2, 3, 4};
  EXPECT_EQ(resolve_pads(conv, spatial), (Ints{1, 2, 3, 4}));
  ConvTranspose transposed;
  transposed.kernel = {3};
  transposed.strides = {2};
  transposed.output_shape = {8};
  const Shape length = {4};
  EXPECT_EQ(resolve_pads(transposed, length), (Ints{1, 0}));
  transposed.auto_pad = AutoPad::same_upper;
  EXPECT_EQ(resolve_pads(transposed, length), (Ints{0, 1}));
}

}  // namespace
}  // namespace colonnade::test
