// SPDX-License-Identifier: Apache-2.0
// GatedDeltaNet of com.microsoft against values worked out by hand.
#include <cmath>

#include "evaluate.hpp"

namespace colonnade::onnx_import::testing {
namespace {

using Given = std::vector<onnx::AttributeProto>;

/// Inputs by their place; those that are left out are absent.
struct Inputs {
  std::map<std::size_t, Tensor> at;

  Inputs with(std::size_t place, Tensor tensor) const {
    Inputs changed = *this;
    changed.at.insert_or_assign(place, std::move(tensor));
    return changed;
  }
  Inputs without(std::size_t place) const {
    Inputs changed = *this;
    changed.at.erase(place);
    return changed;
  }
};

std::vector<Tensor> run(const Inputs& inputs, const Given& given = {}) {
  ModelBuilder model(21);
  model.import("com.microsoft", 1).output("y", 0).output("s", 0);
  Names names(inputs.at.rbegin()->first + 1);
  std::vector<Tensor> tensors;
  for (const auto& [place, tensor] : inputs.at) {
    names[place] = "x" + std::to_string(place);
    model.input(names[place], tensor.shape());
    tensors.push_back(tensor);
  }
  Given attributes{attribute("scale", 1.0f)};
  attributes.insert(attributes.end(), given.begin(), given.end());
  model.node("GatedDeltaNet", names, {"y", "s"}, attributes, "com.microsoft");
  return evaluate(model, tensors);
}

/// Two tokens, one head of queries and keys, two of values, all of one element: half of a state stays, and half of
/// what it gets wrong is corrected.
Inputs two_tokens() {
  const float half = -std::log(2.0f);
  return {{{0, floats({2, 1, 1}, {1, 2})},
           {1, floats({2, 1, 1}, {3, -4})},
           {2, floats({2, 2, 1}, {5, 6, 7, 8})},
           {4, floats({2, 2}, {half, half, half, half})},
           {5, floats({2, 2}, {0.5f, 0.5f, 0.5f, 0.5f})},
           {6, floats({1, 2, 1, 1}, {10, 20})}}};
}

void expect_both(const std::vector<Tensor>& found, const Shape& shape, const std::vector<float>& results,
                 const std::vector<float>& state) {
  expect_floats(found[0], shape, results, 1e-4f);
  expect_floats(found[1], {1, 2, 1, 1}, state, 1e-4f);
}

TEST(GatedDeltaNet, FadesAndCorrects) {
  const Inputs inputs = two_tokens();
  expect_both(run(inputs), {2, 2, 1}, {-10, -26, 42, 150}, {21, 75});
  expect_both(run(inputs, {attribute("update_rule", "gated")}), {2, 2, 1}, {20, 28, -36, -36}, {-18, -18});
  expect_both(run(inputs, {attribute("update_rule", "linear")}), {2, 2, 1}, {25, 38, -6, 12}, {-3, 6});
  expect_both(run(inputs, {attribute("qk_l2_norm", 1)}), {2, 2, 1}, {5, 8, -2.25f, -2}, {-2.25f, -2});
  EXPECT_THROW(run(inputs, {attribute("update_rule", "other")}), Error);
}

/// The same numbers, sentences apart from their tokens, or queries, keys and values in one.
TEST(GatedDeltaNet, OtherForms) {
  const std::vector<float> results{-10, -26, 42, 150}, state{21, 75};
  const Inputs inputs = two_tokens();
  Inputs apart;
  for (const auto& [place, tensor] : inputs.at) {
    Shape shape = tensor.shape();
    if (place != 6) shape.insert(shape.begin(), 1);
    apart.at.emplace(place, floats(shape, {tensor.values<float>().begin(), tensor.values<float>().end()}));
  }
  expect_both(run(apart), {1, 2, 2, 1}, results, state);
  const Tensor one = floats({2, 4}, {1, 3, 5, 6, 2, -4, 7, 8});
  expect_both(run(inputs.with(0, one).without(1).without(2)), {2, 2, 1}, results, state);
  const auto fresh = run(apart.without(6));
  expect_floats(fresh[0], {1, 2, 2, 1}, {7.5f, 9, -80.5f, -95}, 1e-4f);
  EXPECT_THROW(run(inputs.without(6)), Error);
  EXPECT_THROW(run(inputs.with(0, floats({2, 2, 1}, {1, 2, 3, 4}))), Error);
}

/// Numbers whose gates make the same decays and rates of them.
TEST(GatedDeltaNet, Gates) {
  const std::vector<float> results{-10, -26, 42, 150}, state{21, 75};
  const Tensor zeros = floats({2, 2}, {0, 0, 0, 0}), none = floats({2}, {0, 0});
  const Inputs raw = two_tokens().with(4, zeros).with(5, zeros).with(7, none);
  const auto beta = attribute("beta_activation", "sigmoid");
  expect_both(run(raw, {attribute("gate_activation", "softplus"), beta}), {2, 2, 1}, results, state);
  expect_both(run(raw.with(4, floats({2, 2}, {1, -1, 1, -1})).with(8, floats({2}, {-1, 1})),
                  {attribute("gate_activation", "softplus"), beta}),
              {2, 2, 1}, results, state);
  expect_both(run(raw, {attribute("gate_activation", "kda"), attribute("gate_lower_bound", -2 * std::log(2.0f)), beta}),
              {2, 2, 1}, results, state);
  EXPECT_THROW(run(raw, {attribute("gate_activation", "other")}), Error);
  EXPECT_THROW(run(raw, {attribute("beta_activation", "other")}), Error);
  EXPECT_THROW(run(raw, {attribute("state_update_capacity", 2)}), Error);
}

}  // namespace
}  // namespace colonnade::onnx_import::testing
