// SPDX-License-Identifier: Apache-2.0
// Bodies of control flow that must be refused.
#include "control.hpp"

namespace colonnade::onnx_import::testing {
namespace {

using namespace control;

TEST(HostileBodies, UndefinedCaptures) {
  ModelBuilder then_branch(0), else_branch(0);
  then_branch.node("Neg", {"nothing"}, {"t"}).output("t");
  else_branch.output("x");
  expect_error(if_model(then_branch, else_branch), "node 'y' (If): captured value 'nothing' is not defined");
  ModelBuilder empty(0);
  empty.output("nobody");
  expect_error(if_model(empty, else_branch), "captured value 'nobody' is not defined");
}

TEST(HostileBodies, CaptureOfTheNodesOwnOutput) {
  ModelBuilder then_branch(0), else_branch(0);
  then_branch.node("Neg", {"y"}, {"t"}).output("t");
  else_branch.output("x");
  expect_error(if_model(then_branch, else_branch), "node 'y' (If): is part of or behind a cycle");
}

TEST(HostileBodies, NamesOfAnotherBodyAreNotSeen) {
  ModelBuilder then_branch(0), else_branch(0);
  then_branch.node("Neg", {"x"}, {"t"}).output("t");
  else_branch.node("Neg", {"t"}, {"e"}).output("e");
  expect_error(if_model(then_branch, else_branch), "captured value 't' is not defined");
}

TEST(HostileBodies, WrongCounts) {
  ModelBuilder one(0), two(0), with_input(0), none(0);
  one.output("x");
  two.output("x").output("c", kBool);
  with_input.input("a", {}).output("a");
  expect_error(if_model(one, two), "its branches have 1 and 2 outputs");
  expect_error(if_model(with_input, one), "attribute 'then_branch': expected a graph of 0 inputs, found 1");
  expect_error(if_model(none, none), "has at most 0 outputs, 1 are asked for");
  ModelBuilder body = loop_body({"a", "b"});
  body.output("a").output("b");
  expect_error(loop_model(body), "attribute 'body': expected a graph of 3 inputs, found 4");
  ModelBuilder short_body = loop_body({"a"});
  expect_error(loop_model(short_body), "attribute 'body': expected a graph of 2 outputs or more, found 1");
  ModelBuilder no_slices = loop_body({"a"});
  no_slices.output("a");
  expect_error(loop_model(no_slices), "has at most 1 outputs, 2 are asked for");
}

TEST(HostileBodies, WrongTypes) {
  ModelBuilder one(0), other(0);
  one.output("x");
  other.output("c", kBool);
  expect_error(if_model(one, other), "output 0 of its branches is f32[2] and bool[]");
  ModelBuilder body = loop_body({"a"});
  body.node("Cast", {"a"}, {"b"}, {attribute("to", kInt64)}).output("b", kInt64).output("a");
  expect_error(loop_model(body), "state 0 is f32[2], then i64[2]");
  ModelBuilder model;
  model.input("c", {}, kBool).output("y").node("If", {"c"}, {"y"}, {attribute("then_branch", 1)});
  expect_error(model, "attribute 'then_branch' is required, a graph");
}

TEST(HostileBodies, DoubledNames) {
  ModelBuilder twice(0), else_branch(0);
  twice.node("Neg", {"x"}, {"t"}).node("Abs", {"x"}, {"t"}).output("t");
  else_branch.output("x");
  expect_error(if_model(twice, else_branch), "output 't' is already produced by");
  ModelBuilder constants(0);
  constants.constant(float_tensor("k", {}, {1})).constant(float_tensor("k", {}, {2})).output("k");
  expect_error(if_model(constants, else_branch), "initializer 'k' is defined twice");
}

TEST(HostileBodies, ScanAttributes) {
  ModelBuilder body(0);
  body.input("a", {}).output("a");
  const auto scan = [&](std::vector<onnx::AttributeProto> attributes) {
    attributes.push_back(attribute("body", graph_of(body)));
    ModelBuilder model;
    model.input("x", {3}).output("y").node("Scan", {"x"}, {"y"}, attributes);
    return model;
  };
  expect_floats(evaluate(scan({attribute("num_scan_inputs", 1)}), {counting({3})})[0], {3}, {0, 1, 2});
  expect_error(scan({}), "attribute 'num_scan_inputs' is required");
  for (const int count : {-1, 0, 2}) expect_error(scan({attribute("num_scan_inputs", count)}), "num_scan_inputs");
  expect_error(scan({attribute("num_scan_inputs", 1), attribute("scan_input_axes", Ints{1})}),
               "axis 1 is out of range");
  expect_error(scan({attribute("num_scan_inputs", 1), attribute("scan_output_axes", Ints{0, 0})}),
               "attribute 'scan_output_axes': expected 1 values, found 2");
  expect_error(scan({attribute("num_scan_inputs", 1), attribute("scan_input_directions", Ints{2})}),
               "attribute 'scan_input_directions': expected 0 or 1, found 2");
}

}  // namespace
}  // namespace colonnade::onnx_import::testing
