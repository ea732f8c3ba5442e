// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan: what nested graphs see of the graphs around them, and what their bodies are typed.
#include "control.hpp"

namespace colonnade::onnx_import::testing {
namespace {

using namespace control;

TEST(If, BranchesCaptureInputsConstantsAndLaterNodes) {
  ModelBuilder then_branch(0), else_branch(0);
  then_branch.node("Add", {"x", "w"}, {"t"}).output("t");
  else_branch.node("Mul", {"late", "w"}, {"e"}).output("e");
  ModelBuilder model = if_model(then_branch, else_branch);
  model.constant(float_tensor("w", {1}, {10})).node("Neg", {"x"}, {"late"});
  expect_floats(evaluate(model, {boolean(true), floats({2}, {1, 2})})[0], {2}, {11, 12});
  expect_floats(evaluate(model, {boolean(false), floats({2}, {1, 2})})[0], {2}, {-10, -20});
  const Graph graph = model.import_graph();
  const Node& node = node_with_body(graph);
  EXPECT_EQ(node.inputs.size(), 3u);  // condition, late, x
  const auto& branch = std::get<If>(node.op).then_branch;
  const auto held = [](const Graph& each) {
    for (const Value& value : each.values) {
      if (value.name == "w") return value.constant;
    }
    return std::shared_ptr<const Constant>();
  };
  EXPECT_NE(held(graph), nullptr);
  EXPECT_EQ(held(*branch), held(graph));
}

TEST(If, InnerNamesHideOuterOnes) {
  ModelBuilder then_branch(0), else_branch(0);
  then_branch.constant(float_tensor("w", {1}, {100})).node("Add", {"x", "w"}, {"late"}).output("late");
  else_branch.node("Identity", {"late"}, {"w"}).output("w");
  ModelBuilder model = if_model(then_branch, else_branch);
  model.constant(float_tensor("w", {1}, {10})).node("Mul", {"x", "w"}, {"late"}).node("Add", {"y", "late"}, {"z"});
  model.output("z");
  const auto taken = evaluate(model, {boolean(true), floats({2}, {1, 2})});
  expect_floats(taken[0], {2}, {101, 102});
  expect_floats(taken[1], {2}, {111, 122});
  expect_floats(evaluate(model, {boolean(false), floats({2}, {1, 2})})[0], {2}, {10, 20});
}

TEST(If, BranchesMayAnswerWhatTheyCapture) {
  ModelBuilder then_branch(0), else_branch(0);
  then_branch.output("x");
  else_branch.constant(float_tensor("k", {2}, {7, 8})).output("k");
  const ModelBuilder model = if_model(then_branch, else_branch);
  expect_floats(evaluate(model, {boolean(true), floats({2}, {1, 2})})[0], {2}, {1, 2});
  expect_floats(evaluate(model, {boolean(false), floats({2}, {1, 2})})[0], {2}, {7, 8});
}

TEST(If, ShapesThatDifferStayOpen) {
  ModelBuilder then_branch(0), else_branch(0);
  then_branch.output("x");
  else_branch.constant(float_tensor("k", {3}, {7, 8, 9})).output("k");
  const Graph graph = if_model(then_branch, else_branch).import_graph();
  EXPECT_EQ(graph.value(graph.outputs[0]).type.shape, Shape{-1});
}

/// x of rank 2 or 3 as a matrix: the branch for the other rank contradicts it.
ModelBuilder rank_model(const Shape& shape) {
  ModelBuilder two(0), three(0), model;
  two.node("Transpose", {"x"}, {"t"}, {attribute("perm", Ints{1, 0})}).output("t");
  three.node("Transpose", {"x"}, {"t"}, {attribute("perm", Ints{2, 1, 0})}).output("t");
  model.input("x", shape).output("y").constant(int_tensor("two", {}, {2}));
  model.node("Shape", {"x"}, {"dims"}).node("Size", {"dims"}, {"rank"}).node("Equal", {"rank", "two"}, {"c"});
  model.node("If", {"c"}, {"y"}, {attribute("then_branch", graph_of(two)), attribute("else_branch", graph_of(three))});
  return model;
}

TEST(If, BranchesForOtherRanksAreNotImported) {
  expect_floats(evaluate(rank_model({1, 2}), {counting({1, 2})})[0], {2, 1}, {0, 1});
  expect_floats(evaluate(rank_model({-1, 2, 1}), {counting({1, 2, 1})})[0], {1, 2, 1}, {0, 1});
  ModelBuilder model = rank_model({-1, 2});
  model.proto.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_EQ(model.import_graph().value(model.import_graph().outputs[0]).type.shape, (Shape{2, -1}));
}

TEST(If, NestedGraphsCaptureThroughTwoLevels) {
  ModelBuilder inner_then(0), inner_else(0), then_branch(0), else_branch(0);
  inner_then.node("Add", {"x", "t"}, {"it"}).output("it");
  inner_else.node("Sub", {"x", "t"}, {"ie"}).output("ie");
  then_branch.node("Mul", {"x", "x"}, {"t"});
  then_branch.node("If", {"d"}, {"r"},
                   {attribute("then_branch", graph_of(inner_then)), attribute("else_branch", graph_of(inner_else))});
  then_branch.output("r");
  else_branch.output("x");
  ModelBuilder model = if_model(then_branch, else_branch);
  model.input("d", {}, kBool);
  expect_floats(evaluate(model, {boolean(true), floats({2}, {1, 3}), boolean(true)})[0], {2}, {2, 12});
  expect_floats(evaluate(model, {boolean(true), floats({2}, {1, 3}), boolean(false)})[0], {2}, {0, -6});
}

TEST(Loop, StatesPassOnAndSlicesStack) {
  ModelBuilder body = loop_body({"a"});
  body.node("Add", {"a", "one"}, {"b"}).node("Identity", {"b"}, {"slice"}).output("b").output("slice");
  ModelBuilder model = loop_model(body);
  model.constant(float_tensor("one", {1}, {1}));
  const auto outputs = evaluate(model, {integers({}, {3}), floats({2}, {0, 5})});
  expect_floats(outputs[0], {2}, {3, 8});
  expect_floats(outputs[1], {3, 2}, {1, 6, 2, 7, 3, 8});
  const Graph graph = model.import_graph();
  EXPECT_EQ(graph.value(graph.outputs[0]).type.shape, Shape{2});
  EXPECT_EQ(graph.value(graph.outputs[1]).type.shape, (Shape{-1, 2}));
  expect_floats(evaluate(model, {integers({}, {0}), floats({2}, {0, 5})})[1], {0, 2}, {});
}

TEST(Loop, KnownTripCountsGiveKnownShapes) {
  const auto slices = [](bool is_stopped) {
    ModelBuilder body = loop_body({"a"});
    body.node("Identity", {"a"}, {"slice"}).output("a").output("slice");
    if (is_stopped) body.proto.mutable_graph()->mutable_node(0)->set_op_type("Not");
    ModelBuilder model = loop_model(body);
    model.proto.mutable_graph()->mutable_input()->DeleteSubrange(0, 1);
    model.constant(int_tensor("n", {}, {3}));
    const Graph graph = model.import_graph();
    expect_floats(evaluate(model, {floats({2}, {1, 2})})[1], {is_stopped ? 1 : 3, 2},
                  is_stopped ? std::vector<float>{1, 2} : std::vector<float>{1, 2, 1, 2, 1, 2});
    return *graph.value(graph.outputs[1]).type.shape;
  };
  EXPECT_EQ(slices(false), (Shape{3, 2}));
  EXPECT_EQ(slices(true), (Shape{-1, 2}));
}

TEST(Loop, StatesMayGrow) {
  ModelBuilder body = loop_body({"a"});
  body.node("Concat", {"a", "a"}, {"b"}, {attribute("axis", 0)}).node("Identity", {"i"}, {"slice"});
  body.output("b").output("slice", kInt64);
  ModelBuilder model = loop_model(body);
  model.proto.mutable_graph()->mutable_output(1)->mutable_type()->mutable_tensor_type()->set_elem_type(kInt64);
  const auto outputs = evaluate(model, {integers({}, {2}), floats({2}, {1, 2})});
  expect_floats(outputs[0], {8}, {1, 2, 1, 2, 1, 2, 1, 2});
  expect_ints(outputs[1], {2}, {0, 1});
  const Graph graph = model.import_graph();
  EXPECT_EQ(graph.value(graph.outputs[0]).type.shape, Shape{-1});
}

TEST(Loop, ScalarsMayBecomeVectorsOfOneElement) {
  const ModelBuilder model = vectors_declared_as_scalars();
  expect_floats(evaluate(model, {integers({}, {1}), floats({}, {5})})[0], {}, {5});
  expect_floats(evaluate(model, {integers({}, {3}), floats({}, {5})})[0], {1}, {7});
}

TEST(Loop, RanksOfStatesMayChange) {
  ModelBuilder body = loop_body({"a"});
  body.constant(int_tensor("first", {1}, {0})).node("Unsqueeze", {"a", "first"}, {"b"});
  body.node("Identity", {"i"}, {"slice"}).output("b").output("slice", kInt64);
  ModelBuilder model = loop_model(body);
  model.proto.mutable_graph()->mutable_output(1)->mutable_type()->mutable_tensor_type()->set_elem_type(kInt64);
  expect_floats(evaluate(model, {integers({}, {2}), floats({2}, {1, 2})})[0], {1, 1, 2}, {1, 2});
  const Graph graph = model.import_graph();
  EXPECT_FALSE(graph.value(graph.outputs[0]).type.shape.has_value());
}

TEST(Loop, ConditionEndsIt) {
  ModelBuilder body(0);
  body.input("i", {1}, kInt64).input("go", {1}, kBool).input("a", {2});
  body.node("Add", {"a", "a"}, {"b"}).node("ReduceSum", {"b"}, {"sum"}, {attribute("keepdims", 0)});
  body.node("Less", {"sum", "most"}, {"goes_on"}).output("goes_on", kBool).output("b");
  ModelBuilder model;
  model.input("s", {2}).output("last").constant(bool_tensor("start", true)).constant(float_tensor("most", {}, {50}));
  model.node("Loop", {"", "start", "s"}, {"last"}, {attribute("body", graph_of(body))});
  expect_floats(evaluate(model, {floats({2}, {1, 2})})[0], {2}, {32, 64});
}

/// Loops within each other, each of whose states gains an axis an iteration: ranks are opened level by level.
ModelBuilder nested_loops(int depth) {
  ModelBuilder body = loop_body({"a0"});
  body.constant(int_tensor("axis", {1}, {0})).node("Unsqueeze", {"a0", "axis"}, {"b0"}).output("b0");
  for (int i = 1; i < depth; ++i) {
    const std::string state = "a" + std::to_string(i), result = "b" + std::to_string(i);
    ModelBuilder outer = loop_body({state});
    outer.node("Loop", {"n", "", state}, {result}, {attribute("body", graph_of(body))}).output(result);
    body = outer;
  }
  ModelBuilder model;
  model.input("n", {}, kInt64).input("s", {2}).output("last");
  model.node("Loop", {"n", "", "s"}, {"last"}, {attribute("body", graph_of(body))});
  return model;
}

TEST(Loop, NestedLoopsRun) {
  expect_floats(evaluate(nested_loops(2), {integers({}, {2}), floats({2}, {1, 2})})[0], {1, 1, 1, 1, 2}, {1, 2});
}

TEST(Loop, NestingCostsNoMoreThanItsSize) {
  const Graph graph = nested_loops(28).import_graph();
  verify(graph);
  EXPECT_FALSE(graph.value(graph.outputs[0]).type.shape.has_value());
}

/// Each function's If calls the next one, in one branch or in both.
ModelBuilder nested_calls(int depth, int branches) {
  ModelBuilder model, other(0);
  other.output("p");
  for (int i = 0; i < depth; ++i) {
    ModelBuilder branch(0);
    if (i + 1 < depth) {
      branch.node("f" + std::to_string(i + 1), {"p", "q"}, {"b"}, {}, "f").output("b");
    } else {
      branch.node("Neg", {"p"}, {"b"}).output("b");
    }
    auto* function = model.proto.add_functions();
    function->set_name("f" + std::to_string(i));
    function->set_domain("f");
    function->add_input("p");
    function->add_input("q");
    function->add_output("r");
    for (const char* domain : {"", "f"}) {
      auto* import = function->add_opset_import();
      import->set_domain(domain);
      import->set_version(17);
    }
    *function->add_node() = node_proto("If", {"q"}, {"r"},
                                       {attribute("then_branch", graph_of(branch)),
                                        attribute("else_branch", graph_of(branches == 2 ? branch : other))});
  }
  model.import("f", 17).input("x", {2}).input("c", {}, kBool).output("y");
  model.node("f0", {"x", "c"}, {"y"}, {}, "f");
  return model;
}

TEST(Loop, NestingIsBounded) {
  expect_floats(evaluate(nested_calls(5, 2), {floats({2}, {1, 2}), boolean(true)})[0], {2}, {-1, -2});
  expect_floats(evaluate(nested_calls(30, 1), {floats({2}, {1, 2}), boolean(true)})[0], {2}, {-1, -2});
  expect_error(nested_calls(30, 2), "the model's functions expand to more than", ErrorCode::resource_limit);
  expect_error(nested_calls(40, 1), "graphs lie within each other more than 32 deep", ErrorCode::unsupported);
}

TEST(Scan, WalksAlongAxesInBothDirections) {
  ModelBuilder body(0);
  body.input("sum", {2}).input("slice", {2});
  body.node("Add", {"sum", "slice"}, {"next"}).node("Identity", {"next"}, {"out"}).output("next").output("out");
  ModelBuilder model;
  model.input("s", {2}).input("x", {2, 3}).output("last").output("all");
  model.node("Scan", {"s", "x"}, {"last", "all"},
             {attribute("body", graph_of(body)), attribute("num_scan_inputs", 1), attribute("scan_input_axes", Ints{1}),
              attribute("scan_input_directions", Ints{1}), attribute("scan_output_axes", Ints{-1}),
              attribute("scan_output_directions", Ints{1})});
  const auto outputs = evaluate(model, {floats({2}, {0, 0}), counting({2, 3})});
  expect_floats(outputs[0], {2}, {3, 12});
  expect_floats(outputs[1], {2, 3}, {3, 3, 2, 12, 9, 5});
  const Graph graph = model.import_graph();
  EXPECT_EQ(graph.value(graph.outputs[1]).type.shape, (Shape{2, 3}));
}

TEST(Scan, OfOpset8HasABatchAndLengths) {
  ModelBuilder body(0);
  body.input("sum", {1}).input("slice", {1});
  body.node("Add", {"sum", "slice"}, {"next"}).node("Mul", {"next", "two"}, {"out"}).output("next").output("out");
  ModelBuilder model(8);
  model.input("lengths", {2}, kInt64).input("s", {2, 1}).input("x", {2, 3, 1}).output("last").output("all");
  model.constant(float_tensor("two", {1}, {2}));
  model.node("Scan", {"lengths", "s", "x"}, {"last", "all"},
             {attribute("body", graph_of(body)), attribute("num_scan_inputs", 1)});
  const auto outputs = evaluate(model, {integers({2}, {3, 1}), floats({2, 1}, {0, 10}), counting({2, 3, 1})});
  expect_floats(outputs[0], {2, 1}, {3, 13});
  expect_floats(outputs[1], {2, 3, 1}, {0, 2, 6, 26, 0, 0});
  const auto clipped = evaluate(model, {integers({2}, {9, -1}), floats({2, 1}, {0, 10}), counting({2, 3, 1})});
  expect_floats(clipped[0], {2, 1}, {3, 10});
  expect_floats(clipped[1], {2, 3, 1}, {0, 2, 6, 0, 0, 0});
}

/// A function whose If has branches that read its parameters and its caller's attributes.
ModelBuilder function_model() {
  ModelBuilder then_branch(0), else_branch(0), model;
  then_branch.node("LeakyRelu", {"p"}, {"r"}, {reference("alpha", "slope", onnx::AttributeProto::FLOAT)}).output("r");
  else_branch.node("Add", {"p", "inside"}, {"r"}).output("r");
  auto* function = model.proto.add_functions();
  function->set_name("f");
  function->set_domain("f");
  function->add_input("p");
  function->add_input("q");
  function->add_output("r");
  function->add_attribute("slope");
  auto* import = function->add_opset_import();
  import->set_domain("");
  import->set_version(17);
  *function->add_node() = node_proto("Neg", {"p"}, {"inside"});
  *function->add_node() =
      node_proto("If", {"q"}, {"r"},
                 {attribute("then_branch", graph_of(then_branch)), attribute("else_branch", graph_of(else_branch))});
  model.import("f", 1).input("x", {2}).input("c", {}, kBool).output("y").output("z");
  model.node("f", {"x", "c"}, {"y"}, {attribute("slope", 0.5f)}, "f");
  model.node("f", {"y", "c"}, {"z"}, {attribute("slope", 0.25f)}, "f");
  return model;
}

TEST(Functions, GraphsWithinSeeParametersAndAttributes) {
  const auto outputs = evaluate(function_model(), {floats({2}, {-8, 4}), boolean(true)});
  expect_floats(outputs[0], {2}, {-4, 4});
  expect_floats(outputs[1], {2}, {-1, 4});
  expect_floats(evaluate(function_model(), {floats({2}, {-8, 4}), boolean(false)})[1], {2}, {0, 0});
}

TEST(Functions, TakeGraphsAsAttributes) {
  ModelBuilder taken(0), model;
  taken.node("Neg", {"x"}, {"t"}).output("t");
  auto* function = model.proto.add_functions();
  function->set_name("f");
  function->set_domain("f");
  function->add_input("q");
  function->add_output("r");
  function->add_attribute("graph");
  auto* import = function->add_opset_import();
  import->set_domain("");
  import->set_version(17);
  *function->add_node() = node_proto("If", {"q"}, {"r"},
                                     {reference("then_branch", "graph", onnx::AttributeProto::GRAPH),
                                      reference("else_branch", "graph", onnx::AttributeProto::GRAPH)});
  model.import("f", 1).input("x", {2}).input("c", {}, kBool).output("y");
  model.node("f", {"c"}, {"y"}, {attribute("graph", graph_of(taken))}, "f");
  expect_floats(evaluate(model, {floats({2}, {-8, 4}), boolean(true)})[0], {2}, {8, -4});
}

}  // namespace
}  // namespace colonnade::onnx_import::testing
