// SPDX-License-Identifier: Apache-2.0
// Sequences, optional values and maps: operators on them, and their files.
#include "evaluate.hpp"

namespace colonnade::onnx_import::testing::sequences {
namespace {

constexpr int kInt64 = onnx::TensorProto::INT64, kBool = onnx::TensorProto::BOOL, kFloat = onnx::TensorProto::FLOAT;

ModelBuilder& sequence_input(ModelBuilder& model, const std::string& name) {
  auto* info = model.proto.mutable_graph()->add_input();
  info->set_name(name);
  info->mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(kFloat);
  return model;
}

/// An output whose type nobody declares.
ModelBuilder& any_output(ModelBuilder& model, const std::string& name) {
  model.proto.mutable_graph()->add_output()->set_name(name);
  return model;
}

std::vector<Datum> run(const ModelBuilder& model, const std::vector<Datum>& inputs) {
  const Graph graph = model.import_graph();
  verify(graph);
  std::vector<const Datum*> operands;
  for (const Datum& input : inputs) operands.push_back(&input);
  return reference::evaluate(graph, operands);
}

Datum sequence(const std::vector<std::vector<float>>& elements) {
  std::vector<Datum> data;
  for (const auto& element : elements) data.emplace_back(floats({static_cast<std::int64_t>(element.size())}, element));
  return Datum::sequence(std::move(data), DType::f32);
}

std::vector<std::vector<float>> lists_of(const Datum& datum) {
  std::vector<std::vector<float>> lists;
  for (const Datum& element : datum.elements()) {
    const auto values = element.tensor().values<float>();
    lists.emplace_back(values.begin(), values.end());
  }
  return lists;
}

using Lists = std::vector<std::vector<float>>;

/// One operator on a sequence, and a position where it is given.
std::vector<Datum> apply(const std::string& op, const Names& inputs, const std::vector<Datum>& data,
                         const std::vector<onnx::AttributeProto>& attributes = {}) {
  ModelBuilder model;
  sequence_input(model, "s");
  if (std::find(inputs.begin(), inputs.end(), "x") != inputs.end()) model.input("x", {-1});
  if (std::find(inputs.begin(), inputs.end(), "at") != inputs.end()) model.input("at", {}, kInt64);
  any_output(model.node(op, inputs, {"y"}, attributes), "y");
  return run(model, data);
}

std::string failure(const std::function<void()>& action, ErrorCode code) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing fails";
  return "";
}

void expect_failure(const std::function<void()>& action, const std::string& text,
                    ErrorCode code = ErrorCode::invalid_input) {
  const std::string message = failure(action, code);
  EXPECT_NE(message.find(text), std::string::npos) << message;
}

TEST(Sequences, InsertEraseAtAndLength) {
  const Datum s = sequence({{1}, {2, 3}});
  const Datum x = floats({1}, {9});
  EXPECT_EQ(lists_of(apply("SequenceInsert", {"s", "x"}, {s, x})[0]), (Lists{{1}, {2, 3}, {9}}));
  EXPECT_EQ(lists_of(apply("SequenceInsert", {"s", "x", "at"}, {s, x, integers({}, {0})})[0]),
            (Lists{{9}, {1}, {2, 3}}));
  EXPECT_EQ(lists_of(apply("SequenceInsert", {"s", "x", "at"}, {s, x, integers({}, {-1})})[0]),
            (Lists{{1}, {9}, {2, 3}}));
  EXPECT_EQ(lists_of(apply("SequenceErase", {"s"}, {s})[0]), (Lists{{1}}));
  EXPECT_EQ(lists_of(apply("SequenceErase", {"s", "at"}, {s, integers({}, {-2})})[0]), (Lists{{2, 3}}));
  expect_floats(apply("SequenceAt", {"s", "at"}, {s, integers({}, {1})})[0].tensor(), {2}, {2, 3});
  expect_ints(apply("SequenceLength", {"s"}, {s})[0].tensor(), {}, {2});
  EXPECT_EQ(lists_of(s), (Lists{{1}, {2, 3}}));
}

TEST(Sequences, PositionsAreChecked) {
  const Datum s = sequence({{1}, {2, 3}});
  const Datum x = floats({1}, {9});
  for (const std::int64_t at : {2, -3}) {
    expect_failure([&] { apply("SequenceAt", {"s", "at"}, {s, integers({}, {at})}); }, "is out of range");
    expect_failure([&] { apply("SequenceErase", {"s", "at"}, {s, integers({}, {at})}); }, "is out of range");
  }
  for (const std::int64_t at : {3, -3}) {
    expect_failure([&] { apply("SequenceInsert", {"s", "x", "at"}, {s, x, integers({}, {at})}); }, "is out of range");
  }
  expect_failure([&] { apply("SequenceErase", {"s"}, {sequence({})}); }, "nothing can be erased");
}

TEST(Sequences, JoinedAndStacked) {
  const Datum s = sequence({{1, 2}, {3, 4}});
  expect_floats(apply("ConcatFromSequence", {"s"}, {s}, {attribute("axis", 0)})[0].tensor(), {4}, {1, 2, 3, 4});
  expect_floats(apply("ConcatFromSequence", {"s"}, {s}, {attribute("axis", -1), attribute("new_axis", 1)})[0].tensor(),
                {2, 2}, {1, 3, 2, 4});
  const auto join = [](const Datum& data, int axis, int stacks) {
    apply("ConcatFromSequence", {"s"}, {data}, {attribute("axis", axis), attribute("new_axis", stacks)});
  };
  expect_failure([&] { join(sequence({}), 0, 0); }, "an empty sequence cannot be joined");
  expect_failure([&] { join(sequence({{1}, {2, 3}}), 0, 1); }, "cannot be joined along axis 0");
  expect_failure([&] { join(s, 1, 0); }, "axis 1 is out of range", ErrorCode::invalid_model);
}

ModelBuilder split_model(const Shape& shape, const std::vector<onnx::AttributeProto>& attributes,
                         const std::optional<onnx::TensorProto>& sizes = {}) {
  ModelBuilder model;
  model.input("x", shape);
  if (sizes) model.constant(*sizes);
  model.node("SplitToSequence", sizes ? Names{"x", sizes->name()} : Names{"x"}, {"y"}, attributes);
  any_output(model, "y");
  return model;
}

TEST(Sequences, SplitIntoPieces) {
  const auto one = run(split_model({2, 3}, {attribute("axis", 1)}), {counting({2, 3})})[0];
  ASSERT_EQ(one.elements().size(), 3u);
  expect_floats(one.elements()[1].tensor(), {2, 1}, {1, 4});
  const auto flat = run(split_model({2, 3}, {attribute("keepdims", 0)}), {counting({2, 3})})[0];
  ASSERT_EQ(flat.elements().size(), 2u);
  expect_floats(flat.elements()[1].tensor(), {3}, {3, 4, 5});
  EXPECT_EQ(lists_of(run(split_model({5}, {}, int_tensor("n", {}, {2})), {counting({5})})[0]),
            (Lists{{0, 1}, {2, 3}, {4}}));
  EXPECT_EQ(lists_of(run(split_model({5}, {}, int_tensor("n", {2}, {5, 0})), {counting({5})})[0]),
            (Lists{{0, 1, 2, 3, 4}, {}}));
  EXPECT_EQ(run(split_model({0}, {}), {counting({0})})[0].elements().size(), 0u);
  const auto split = [](const onnx::TensorProto& sizes) { run(split_model({5}, {}, sizes), {counting({5})}); };
  expect_failure([&] { split(int_tensor("n", {}, {0})); }, "expected at least 1");
  expect_failure([&] { split(int_tensor("n", {2}, {2, 2})); }, "pieces do not fill an axis of 5: 1 are left");
  expect_failure([&] { split(int_tensor("n", {2}, {6, -1})); }, "pieces do not fit an axis of 5");
}

TEST(Sequences, ConstructionKeepsOneType) {
  ModelBuilder model;
  model.input("x", {2}).input("z", {3});
  any_output(model.node("SequenceConstruct", {"x", "z"}, {"y"}), "y");
  const Graph graph = model.import_graph();
  EXPECT_EQ(to_text(graph.value(graph.outputs[0]).type), "seq(f32[?])");
  ModelBuilder mixed;
  mixed.input("x", {2}).input("z", {3}, kInt64);
  any_output(mixed.node("SequenceConstruct", {"x", "z"}, {"y"}), "y");
  expect_failure([&] { mixed.import_graph(); }, "must have one type", ErrorCode::invalid_model);
  ModelBuilder tensor;
  tensor.input("x", {2});
  any_output(tensor.node("SequenceLength", {"x"}, {"y"}), "y");
  expect_failure([&] { tensor.import_graph(); }, "must be a sequence", ErrorCode::invalid_model);
  ModelBuilder relu;
  any_output(sequence_input(relu, "s").node("Relu", {"s"}, {"y"}), "y");
  expect_failure([&] { relu.import_graph(); }, "must be a tensor", ErrorCode::invalid_model);
}

TEST(Sequences, MapAppliesABody) {
  ModelBuilder body(0);
  body.input("a", {-1}).input("b", {-1});
  body.node("Add", {"a", "b"}, {"sum"}).node("Mul", {"sum", "k"}, {"scaled"}).node("Shape", {"a"}, {"size"});
  body.output("scaled").output("size", kInt64);
  ModelBuilder model;
  sequence_input(model, "s").input("t", {1}).input("k", {1});
  model.node("SequenceMap", {"s", "t"}, {"y", "sizes"}, {attribute("body", body.proto.graph())});
  any_output(any_output(model, "y"), "sizes");
  const auto outputs = run(model, {sequence({{1}, {2, 3}}), floats({1}, {10}), floats({1}, {2})});
  EXPECT_EQ(lists_of(outputs[0]), (Lists{{22}, {24, 26}}));
  ASSERT_EQ(outputs[1].elements().size(), 2u);
  expect_ints(outputs[1].elements()[1].tensor(), {1}, {2});
  EXPECT_EQ(run(model, {sequence({}), floats({1}, {10}), floats({1}, {2})})[0].elements().size(), 0u);
}

TEST(Optionals, PresentAndAbsent) {
  ModelBuilder model(18);
  model.input("x", {2}).node("Optional", {"x"}, {"o"}).node("OptionalHasElement", {"o"}, {"has"});
  model.node("OptionalGetElement", {"o"}, {"y"}).output("has", kBool).output("y");
  const auto outputs = run(model, {floats({2}, {1, 2})});
  EXPECT_TRUE(outputs[0].tensor().values<bool>()[0]);
  expect_floats(outputs[1].tensor(), {2}, {1, 2});

  onnx::AttributeProto type;
  type.set_name("type");
  type.set_type(onnx::AttributeProto::TYPE_PROTO);
  type.mutable_tp()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(kFloat);
  ModelBuilder absent(18);
  absent.node("Optional", {}, {"o"}, {type}).node("OptionalHasElement", {"o"}, {"has"}).output("has", kBool);
  any_output(absent, "o");
  EXPECT_EQ(to_text(absent.import_graph().value(absent.import_graph().outputs[1]).type), "optional(seq(f32[*]))");
  EXPECT_FALSE(run(absent, {})[0].tensor().values<bool>()[0]);
  absent.node("OptionalGetElement", {"o"}, {"y"});
  any_output(absent, "y");
  expect_failure([&] { run(absent, {}); }, "the optional input has no element");
  ModelBuilder untyped(18);
  any_output(untyped.node("Optional", {}, {"o"}), "o");
  expect_failure([&] { untyped.import_graph(); }, "an input or attribute 'type' is required", ErrorCode::invalid_model);
}

/// A loop whose state is an optional sequence at first, then the sequence itself.
TEST(Optionals, LoopsMayUnwrapTheirState) {
  ModelBuilder body(0), some(0), none(0), model;
  some.node("OptionalGetElement", {"state"}, {"s"});
  none.node("SequenceEmpty", {}, {"s"});
  any_output(some, "s");
  any_output(none, "s");
  body.input("i", {}, kInt64).input("go", {}, kBool);
  body.proto.mutable_graph()->add_input()->set_name("state");
  body.node("OptionalHasElement", {"state"}, {"has"});
  body.node("If", {"has"}, {"now"},
            {attribute("then_branch", some.proto.graph()), attribute("else_branch", none.proto.graph())});
  body.node("SequenceInsert", {"now", "x"}, {"next"}).output("go", kBool);
  any_output(body, "next");
  model.input("n", {}, kInt64).input("x", {1});
  auto* optional = model.proto.mutable_graph()->add_input();
  optional->set_name("o");
  auto* sequence_type = optional->mutable_type()->mutable_optional_type()->mutable_elem_type()->mutable_sequence_type();
  sequence_type->mutable_elem_type()->mutable_tensor_type()->set_elem_type(kFloat);
  model.node("Loop", {"n", "", "o"}, {"y"}, {attribute("body", body.proto.graph())});
  any_output(model, "y");
  *model.proto.mutable_graph()->mutable_output(0)->mutable_type()->mutable_sequence_type() = *sequence_type;
  const Graph graph = model.import_graph();
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "y");
  EXPECT_EQ(graph.value(graph.outputs[0]).type.containers, std::vector{Container::sequence});
  const Datum x = floats({1}, {5});
  EXPECT_EQ(lists_of(run(model, {integers({}, {2}), x, Datum::absent(DType::f32)})[0]), (Lists{{5}, {5}}));
  EXPECT_EQ(lists_of(run(model, {integers({}, {0}), x, Datum::optional(sequence({{1}}))})[0]), (Lists{{1}}));
}

Datum reparsed(const Datum& datum, const std::vector<Container>& containers) {
  const std::string bytes = serialize_datum(datum, "d");
  return parse_datum(as_bytes(bytes), containers);
}

TEST(Data, FilesOfEveryKind) {
  expect_floats(reparsed(floats({2}, {1, 2}), {}).tensor(), {2}, {1, 2});
  EXPECT_EQ(lists_of(reparsed(sequence({{1}, {2, 3}}), {Container::sequence})), (Lists{{1}, {2, 3}}));
  const auto some = reparsed(Datum::optional(sequence({{4}})), {Container::optional, Container::sequence});
  ASSERT_EQ(some.kind(), Datum::Kind::optional);
  EXPECT_EQ(lists_of(some.elements().at(0)), (Lists{{4}}));
  EXPECT_TRUE(reparsed(Datum::absent(DType::f32), {Container::optional}).elements().empty());
  const Datum map = Datum::map(integers({2}, {7, 8}), floats({2}, {0.5f, 1}));
  const auto maps = reparsed(Datum::sequence({map}, DType::f32), {Container::sequence, Container::map_of_int64});
  expect_ints(maps.elements().at(0).keys(), {2}, {7, 8});
  expect_floats(maps.elements().at(0).tensor(), {2}, {0.5f, 1});
  Tensor words(DType::string, {1});
  words.strings()[0] = "word";
  const auto named = reparsed(Datum::map(words, floats({1}, {3})), {Container::map_of_string});
  EXPECT_EQ(named.keys().strings(), Names{"word"});
  expect_floats(named.tensor(), {1}, {3});
}

TEST(Data, FilesOfAnotherKindAreRefused) {
  const std::string bytes = serialize_datum(Datum::optional(sequence({{4}})), "d");
  const Container tensor_within[] = {Container::optional};
  expect_failure([&] { parse_datum(as_bytes(bytes), tensor_within); }, "expected a TensorProto");
  const std::string garbage = "\x0a\xff\xff\xff\xff\x0f";
  for (const Container container : {Container::sequence, Container::optional, Container::map_of_int64}) {
    expect_failure([&] { parse_datum(as_bytes(garbage), std::span(&container, 1)); }, "not an ONNX");
  }
}

}  // namespace
}  // namespace colonnade::onnx_import::testing::sequences
