// SPDX-License-Identifier: Apache-2.0
// Operators whose attributes are wrong.
#include <cmath>
#include <cstdint>

#include "hostile.hpp"

namespace colonnade::onnx_import::testing::hostile {
namespace {

onnx::AttributeProto& named(onnx::NodeProto& node, std::string_view name) {
  for (auto& each : *node.mutable_attribute()) {
    if (each.name() == name) return each;
  }
  throw std::logic_error("no such attribute");
}

}  // namespace

std::string tree_model(const std::function<void(onnx::NodeProto&)>& damage) {
  ModelBuilder model(17, 3);
  model.input("x", {2, 3}).output("y");
  model.node("TreeEnsembleRegressor", {"x"}, {"y"},
             {attribute("nodes_treeids", Ints{0, 0, 0}), attribute("nodes_nodeids", Ints{0, 1, 2}),
              attribute("nodes_featureids", Ints{1, 0, 0}), attribute("nodes_values", std::vector<float>{0.5f, 0, 0}),
              attribute("nodes_truenodeids", Ints{1, 0, 0}), attribute("nodes_falsenodeids", Ints{2, 0, 0}),
              attribute("nodes_modes", Names{"BRANCH_LEQ", "LEAF", "LEAF"}), attribute("target_treeids", Ints{0, 0}),
              attribute("target_nodeids", Ints{1, 2}), attribute("target_ids", Ints{0, 0}),
              attribute("target_weights", std::vector<float>{1, 2}), attribute("n_targets", 1)},
             "ai.onnx.ml");
  auto& node = *model.proto.mutable_graph()->mutable_node(0);
  damage(node);
  return model.bytes();
}

std::vector<Case> attribute_cases() {
  return {
      damaged("stride_zero", kInvalid,
              [](auto& m) {
                replace(m, attribute("strides", Ints{0, 1}));
              }),
      damaged("stride_negative", kInvalid,
              [](auto& m) {
                replace(m, attribute("strides", Ints{1, -1}));
              }),
      damaged("strides_too_short", kInvalid, [](auto& m) { replace(m, attribute("strides", Ints{1})); }),
      damaged("dilation_zero", kInvalid,
              [](auto& m) {
                replace(m, attribute("dilations", Ints{1, 0}));
              }),
      damaged("dilation_huge", kInvalid,
              [](auto& m) {
                replace(m, attribute("dilations", Ints{std::int64_t{1} << 62, 1}));
              }),
      damaged("pads_too_short", kInvalid,
              [](auto& m) {
                replace(m, attribute("pads", Ints{1, 1}));
              }),
      damaged("pads_negative", kInvalid,
              [](auto& m) {
                replace(m, attribute("pads", Ints{-1, 0, 0, 0}));
              }),
      damaged("kernel_contradicts_weight", kInvalid,
              [](auto& m) {
                replace(m, attribute("kernel_shape", Ints{5, 5}));
              }),
      damaged("kernel_too_long", kInvalid,
              [](auto& m) {
                replace(m, attribute("kernel_shape", Ints{3, 3, 3}));
              }),
      damaged("group_zero", kInvalid, [](auto& m) { replace(m, attribute("group", 0)); }),
      damaged("group_does_not_divide", kInvalid, [](auto& m) { replace(m, attribute("group", 3)); }),
      damaged("group_changes_channels", kInvalid, [](auto& m) { replace(m, attribute("group", 2)); }),
      damaged("attribute_of_wrong_type", kInvalid, [](auto& m) { replace(m, attribute("strides", 1.5f)); }),
      damaged("attribute_twice", kInvalid,
              [](auto& m) {
                *conv_node(m).add_attribute() = attribute("pads", Ints{1, 1, 1, 1});
              }),
      damaged("reference_outside_function", kInvalid,
              [](auto& m) { replace(m, reference("group", "g", onnx::AttributeProto::INT)); }),
      damaged("unknown_auto_pad", kInvalid, [](auto& m) { replace(m, attribute("auto_pad", "WRONG\nWAY")); }),
      damaged("kernel_larger_than_input", kInvalid,
              [](auto& m) {
                replace(m, attribute("pads", Ints{0, 0, 0, 0}));
                replace(m, attribute("dilations", Ints{9, 9}));
              }),
      damaged("too_few_inputs", kInvalid, [](auto& m) { conv_node(m).mutable_input()->RemoveLast(); }),
      damaged("too_many_inputs", kInvalid,
              [](auto& m) {
                const std::string name = weight(m).name();
                for (int i = 0; i < 5; ++i) *conv_node(m).add_input() = name;
              }),
      damaged("required_input_is_empty", kInvalid, [](auto& m) { conv_node(m).set_input(1, ""); }),
      damaged("too_many_outputs", kInvalid, [](auto& m) { conv_node(m).add_output("z"); }),
      damaged("no_output_name", kInvalid, [](auto& m) { conv_node(m).clear_output(); }),
      node_case("axis_out_of_range", kInvalid, "Concat", {"x", "x"}, {attribute("axis", 7)}),
      node_case("axis_far_out_of_range", kInvalid, "ArgMax", {"x"}, {attribute("axis", INT64_MIN)}),
      node_case("softmax_axis", kInvalid, "Softmax", {"x"}, {attribute("axis", 2)}),
      node_case("old_softmax_axis", kInvalid, "Softmax", {"x"}, {attribute("axis", 5)}, 11),
      node_case("missing_attribute", kInvalid, "Concat", {"x", "x"}),
      node_case("matmul_shapes", kInvalid, "MatMul", {"x", "x"}),
      node_case("add_shapes", kInvalid, "Add", {"x", "w"}),
      node_case("types_differ", kInvalid, "Add", {"x", "i"}),
      node_case("cast_to_nothing", kInvalid, "Cast", {"x"}, {attribute("to", 99)}),
      node_case("perm_twice", kInvalid, "Transpose", {"x"}, {attribute("perm", Ints{0, 0})}),
      node_case("perm_too_long", kInvalid, "Transpose", {"x"}, {attribute("perm", Ints{0, 1, 2})}),
      node_case("reshape_count", kInvalid, "Reshape", {"x", "i"}),
      node_case("block_zero", kInvalid, "DepthToSpace", {"x"}, {attribute("blocksize", 0)}),
      node_case("split_count", kInvalid, "Split", {"x"}, {attribute("split", Ints{1, 2, 3})}, 11),
      node_case("slice_lengths", kInvalid, "Slice", {"x"},
                {attribute("starts", Ints{0, 0}), attribute("ends", Ints{1})}, 9),
      node_case("pads_do_not_fit", kInvalid, "Pad", {"x"}, {attribute("pads", Ints{1, 1})}, 10),
      node_case("unknown_pad_mode", kInvalid, "Pad", {"x", "i"}, {attribute("mode", "sideways")}),
      node_case("scale_zero", kInvalid, "Upsample", {"x"}, {attribute("scales", std::vector<float>{0, 1})}, 7),
      node_case("scale_nan", kInvalid, "Upsample", {"x"}, {attribute("scales", std::vector<float>{NAN, 1})}, 7),
      node_case("resize_without_size", kInvalid, "Resize", {"x"}, {}, 13),
      node_case("constant_without_value", kInvalid, "Constant", {}),
      node_case("unpermitted_einsum", kInvalid, "Einsum", {"x"}, {attribute("equation", "ij,jk->ik")}),
      node_case("broken_einsum", kInvalid, "Einsum", {"x"}, {attribute("equation", "i->->j")}),
      node_case("if_without_graph", kInvalid, "If", {"x"}),
      node_case("loop_without_graph", kInvalid, "Loop", {"x"}),
      node_case("scan_without_graph", kInvalid, "Scan", {"x"}),
      node_case("lstm_direction", kInvalid, "LSTM", {"x", "x", "x"}, {attribute("direction", "up")}),
      node_case("no_kernel", kInvalid, "MaxPool", {"x"}),
      node_case("kernel_rank", kInvalid, "MaxPool", {"x"}, {attribute("kernel_shape", Ints{2, 2})}),
      node_case("groups_do_not_divide", kInvalid, "GroupNormalization", {"x", "i", "i"}, {attribute("num_groups", 5)},
                18),
      node_case("training_mode_input", kInvalid, "Dropout", {"x", "", "x"}),
      node_case("no_labels", kInvalid, "LinearClassifier", {"x"},
                {attribute("coefficients", std::vector<float>{1, 2, 3})}, 17, "ai.onnx.ml"),
      node_case("scaler_width", kInvalid, "Scaler", {"x"}, {attribute("scale", std::vector<float>{1, 2})}, 17,
                "ai.onnx.ml"),
  };
}

std::vector<Case> tree_cases() {
  const auto set = [](const char* name, std::size_t at, std::int64_t value) {
    return [=] { return tree_model([&](auto& node) { named(node, name).set_ints(static_cast<int>(at), value); }); };
  };
  return {
      {"tree_child_missing", kInvalid, set("nodes_truenodeids", 0, 9)},
      {"tree_cycle", kInvalid, set("nodes_truenodeids", 0, 0)},
      {"tree_feature_out_of_range", kInvalid, set("nodes_featureids", 0, 3)},
      {"tree_feature_negative", kInvalid, set("nodes_featureids", 0, -1)},
      {"tree_node_twice", kInvalid, set("nodes_nodeids", 1, 0)},
      {"tree_two_roots", kInvalid, set("nodes_falsenodeids", 0, 1)},
      {"tree_target_out_of_range", kInvalid, set("target_ids", 0, 1)},
      {"tree_weight_of_missing_node", kInvalid, set("target_nodeids", 0, 17)},
      {"tree_lengths", kInvalid,
       [] { return tree_model([](auto& node) { named(node, "nodes_values").add_floats(1); }); }},
      {"tree_mode", kInvalid,
       [] { return tree_model([](auto& node) { named(node, "nodes_modes").set_strings(0, "BRANCH_?"); }); }},
  };
}

}  // namespace colonnade::onnx_import::testing::hostile
