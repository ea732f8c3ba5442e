// SPDX-License-Identifier: Apache-2.0
// Malformed and malicious models: each must be refused with a one-line Error.
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>

#include "evaluate.hpp"

namespace colonnade::onnx_import::testing {
namespace {

/// x [1, 2, 4, 4] -> Conv 3x3 -> y, to be damaged.
ModelBuilder conv_model() {
  ModelBuilder model;
  model.input("x", {1, 2, 4, 4}).output("y");
  model.constant(float_tensor("w", {2, 2, 3, 3}, std::vector<float>(36, 0.5f)));
  model.node("Conv", {"x", "w"}, {"y"},
             {attribute("pads", Ints{1, 1, 1, 1}), attribute("strides", Ints{1, 1}), attribute("dilations", Ints{1, 1}),
              attribute("kernel_shape", Ints{3, 3})});
  return model;
}

onnx::NodeProto& conv_node(ModelBuilder& model) { return *model.proto.mutable_graph()->mutable_node(0); }
onnx::TensorProto& weight(ModelBuilder& model) { return *model.proto.mutable_graph()->mutable_initializer(0); }

void replace(ModelBuilder& model, const onnx::AttributeProto& changed) {
  auto& node = conv_node(model);
  for (auto& each : *node.mutable_attribute()) {
    if (each.name() != changed.name()) continue;
    each = changed;
    return;
  }
  *node.add_attribute() = changed;
}

struct Case {
  const char* name;
  ErrorCode code;
  std::function<std::string()> bytes;
};
void PrintTo(const Case& hostile, std::ostream* stream) { *stream << hostile.name; }

Case damaged(const char* name, ErrorCode code, void (*damage)(ModelBuilder&)) {
  return {name, code, [damage] {
            ModelBuilder model = conv_model();
            damage(model);
            return model.bytes();
          }};
}

/// One node on x [2, 3]; w is a matrix, i a list of two integers.
Case node_case(const char* name, ErrorCode code, const std::string& op, const Names& inputs,
               const std::vector<onnx::AttributeProto>& attributes = {}, std::int64_t opset = 17,
               const std::string& domain = "") {
  return {name, code, [=] {
            ModelBuilder model(opset, 3);
            model.input("x", {2, 3}).output("y", 0);
            model.constant(float_tensor("w", {3, 2}, {1, 2, 3, 4, 5, 6})).constant(int_tensor("i", {2}, {0, 1}));
            model.node(op, inputs, {"y"}, attributes, domain);
            return model.bytes();
          }};
}

std::string nested_types(int depth) {
  onnx::ModelProto model = conv_model().proto;
  auto* type = model.mutable_graph()->mutable_input(0)->mutable_type();
  for (int i = 0; i < depth; ++i) type = type->mutable_sequence_type()->mutable_elem_type();
  return model.SerializeAsString();
}

std::string nested_graphs(int depth) {
  onnx::ModelProto model = conv_model().proto;
  auto* graph = model.mutable_graph();
  for (int i = 0; i < depth; ++i) {
    auto* node = graph->add_node();
    node->set_op_type("If");
    auto* branch = node->add_attribute();
    branch->set_name("then_branch");
    branch->set_type(onnx::AttributeProto::GRAPH);
    graph = branch->mutable_g();
  }
  return model.SerializeAsString();
}

/// Each function calls the next twice: 2^depth nodes when expanded.
std::string exploding_functions(int depth) {
  ModelBuilder model;
  model.import("f", 1).input("x", {1}).output("y").node("f0", {"x"}, {"y"}, {}, "f");
  for (int i = 0; i < depth; ++i) {
    auto* function = model.proto.add_functions();
    function->set_name("f" + std::to_string(i));
    function->set_domain("f");
    function->add_input("a");
    function->add_output("c");
    for (const char* domain : {"", "f"}) {
      auto* import = function->add_opset_import();
      import->set_domain(domain);
      import->set_version(17);
    }
    const bool last = i + 1 == depth;
    const std::string callee = last ? "Relu" : "f" + std::to_string(i + 1);
    *function->add_node() = node_proto(callee, {"a"}, {"b"}, {}, last ? "" : "f");
    *function->add_node() = node_proto(callee, {"b"}, {"c"}, {}, last ? "" : "f");
  }
  return model.bytes();
}

std::string recursive_function() {
  ModelBuilder model;
  model.import("f", 1).input("x", {1}).output("y").node("f", {"x"}, {"y"}, {}, "f");
  auto* function = model.proto.add_functions();
  function->set_name("f");
  function->set_domain("f");
  function->add_input("a");
  function->add_output("b");
  auto* import = function->add_opset_import();
  import->set_domain("f");
  import->set_version(1);
  *function->add_node() = node_proto("f", {"a"}, {"b"}, {}, "f");
  return model.bytes();
}

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

onnx::AttributeProto& named(onnx::NodeProto& node, std::string_view name) {
  for (auto& each : *node.mutable_attribute()) {
    if (each.name() == name) return each;
  }
  throw std::logic_error("no such attribute");
}

constexpr ErrorCode kInvalid = ErrorCode::invalid_model;
constexpr ErrorCode kUnsupported = ErrorCode::unsupported;

std::vector<Case> container_cases() {
  return {
      {"empty", kInvalid, [] { return std::string(); }},
      {"zeros", kInvalid, [] { return std::string(64, '\0'); }},
      {"text", kInvalid, [] { return std::string("this is not a model at all\n\n\n"); }},
      {"zip", kInvalid, [] { return std::string("PK\x03\x04") + std::string(60, 'x'); }},
      {"lfs_pointer", kInvalid,
       [] { return std::string("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"); }},
      {"all_ones", kInvalid, [] { return std::string(256, '\xff'); }},
      {"truncated", kInvalid, [] { return conv_model().bytes().substr(0, 100); }},
      {"trailing_garbage", kInvalid, [] { return conv_model().bytes() + std::string("\xff\xff\xff\xff garbage"); }},
      {"trailing_unknown_field", kInvalid, [] { return conv_model().bytes() + std::string("\xfa\x3f\x01z"); }},
      {"huge_varint_length", kInvalid, [] { return std::string("\x08\x08\x3a\xff\xff\xff\xff\x7f"); }},
      {"overlong_varint", kInvalid, [] { return std::string("\x08") + std::string(12, '\xff'); }},
      {"deep_types", kInvalid, [] { return nested_types(5000); }},
      {"deep_graphs", kInvalid, [] { return nested_graphs(2000); }},
      {"exploding_functions", ErrorCode::resource_limit, [] { return exploding_functions(40); }},
      {"recursive_function", kInvalid, [] { return recursive_function(); }},
      {"external_data_from_bytes", kInvalid,
       [] {
         ModelBuilder model = conv_model();
         weight(model) = external_tensor("w", {2, 2, 3, 3}, {{"location", "w.bin"}});
         return model.bytes();
       }},
  };
}

std::vector<Case> graph_cases() {
  return {
      damaged("no_graph", kInvalid, [](auto& m) { m.proto.clear_graph(); }),
      damaged("empty_graph", kInvalid, [](auto& m) { m.proto.mutable_graph()->Clear(); }),
      damaged("no_outputs", kInvalid, [](auto& m) { m.proto.mutable_graph()->clear_output(); }),
      damaged("missing_output", kInvalid,
              [](auto& m) { m.proto.mutable_graph()->mutable_output(0)->set_name("nowhere"); }),
      damaged("unnamed_output", kInvalid, [](auto& m) { m.proto.mutable_graph()->mutable_output(0)->set_name(""); }),
      damaged("output_twice", kInvalid, [](auto& m) { m.output("y"); }),
      damaged("input_twice", kInvalid,
              [](auto& m) {
                m.input("x", {1, 2, 4, 4});
              }),
      damaged("initializer_twice", kInvalid, [](auto& m) { m.constant(weight(m)); }),
      damaged("unnamed_initializer", kInvalid, [](auto& m) { weight(m).set_name(""); }),
      damaged("newline_in_name", kInvalid,
              [](auto& m) { m.proto.mutable_graph()->mutable_input(0)->set_name("x\ny"); }),
      damaged("value_produced_twice", kInvalid, [](auto& m) { m.node("Relu", {"x"}, {"y"}); }),
      damaged("output_shadows_input", kInvalid, [](auto& m) { m.node("Relu", {"y"}, {"x"}); }),
      damaged("undefined_input", kInvalid, [](auto& m) { conv_node(m).set_input(0, "nowhere\n"); }),
      damaged("cycle", kInvalid, [](auto& m) { m.node("Relu", {"b"}, {"a"}).node("Relu", {"a"}, {"b"}); }),
      damaged("self_loop", kInvalid, [](auto& m) { conv_node(m).set_input(0, "y"); }),
      damaged("no_ir_version_or_opset", kUnsupported, [](auto& m) { m.proto.clear_ir_version(); }),
      damaged("future_ir_version", kUnsupported, [](auto& m) { m.proto.set_ir_version(1000); }),
      damaged("negative_ir_version", kUnsupported, [](auto& m) { m.proto.set_ir_version(-1); }),
      damaged("no_opset", kInvalid, [](auto& m) { m.proto.clear_opset_import(); }),
      damaged("future_opset", kUnsupported, [](auto& m) { m.proto.mutable_opset_import(0)->set_version(999); }),
      damaged("negative_opset", kInvalid, [](auto& m) { m.proto.mutable_opset_import(0)->set_version(-3); }),
      damaged("unknown_operator", kUnsupported, [](auto& m) { conv_node(m).set_op_type("Conv\nolution"); }),
      damaged("no_operator", kInvalid, [](auto& m) { conv_node(m).set_op_type(""); }),
      damaged("unknown_domain", kUnsupported, [](auto& m) { conv_node(m).set_domain("com.example"); }),
      damaged("sequence_input", kInvalid,
              [](auto& m) {
                m.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_sequence_type()->mutable_elem_type();
              }),
      damaged("sparse_input", kUnsupported,
              [](auto& m) { m.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_sparse_tensor_type(); }),
      damaged("untyped_input", kInvalid, [](auto& m) { m.proto.mutable_graph()->mutable_input(0)->clear_type(); }),
      damaged("negative_input_dim", kInvalid,
              [](auto& m) {
                m.proto.mutable_graph()
                    ->mutable_input(0)
                    ->mutable_type()
                    ->mutable_tensor_type()
                    ->mutable_shape()
                    ->mutable_dim(0)
                    ->set_dim_value(-7);
              }),
      damaged("wrong_output_type", kInvalid,
              [](auto& m) {
                m.proto.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(7);
              }),
      damaged("initializer_contradicts_input", kInvalid,
              [](auto& m) {
                m.input("w", {9, 9});
              }),
  };
}

std::vector<Case> tensor_cases() {
  return {
      damaged("unknown_element_type", kInvalid, [](auto& m) { weight(m).set_data_type(77); }),
      damaged("undefined_element_type", kInvalid, [](auto& m) { weight(m).set_data_type(0); }),
      damaged("element_type_after_the_last", kInvalid, [](auto& m) { weight(m).set_data_type(29); }),
      damaged("float8_in_floats", kInvalid, [](auto& m) { weight(m).set_data_type(17); }),
      damaged("int4_in_floats", kInvalid, [](auto& m) { weight(m).set_data_type(22); }),
      damaged("complex_of_half_the_floats", kInvalid, [](auto& m) { weight(m).set_data_type(14); }),
      damaged("too_little_data", kInvalid, [](auto& m) { weight(m).mutable_float_data()->RemoveLast(); }),
      damaged("too_much_data", kInvalid, [](auto& m) { weight(m).add_float_data(1); }),
      damaged("no_data", kInvalid, [](auto& m) { weight(m).clear_float_data(); }),
      damaged("raw_and_typed", kInvalid, [](auto& m) { weight(m).set_raw_data(std::string(144, '\0')); }),
      damaged("raw_of_wrong_length", kInvalid,
              [](auto& m) {
                weight(m).clear_float_data();
                weight(m).set_raw_data(std::string(143, '\0'));
              }),
      damaged("data_in_wrong_field", kInvalid,
              [](auto& m) {
                weight(m).clear_float_data();
                for (int i = 0; i < 36; ++i) weight(m).add_int32_data(i);
              }),
      damaged("negative_dim", kInvalid, [](auto& m) { weight(m).set_dims(0, -2); }),
      damaged("product_overflow", kInvalid,
              [](auto& m) {
                for (int i = 0; i < 4; ++i) weight(m).set_dims(i, std::int64_t{1} << 40);
              }),
      damaged("byte_overflow", kInvalid,
              [](auto& m) {
                weight(m).clear_dims();
                weight(m).add_dims(std::int64_t{1} << 62);
              }),
      damaged("huge_tensor_tiny_data", kInvalid, [](auto& m) { weight(m).set_dims(0, std::int64_t{1} << 33); }),
      damaged("strings_as_raw_data", kInvalid,
              [](auto& m) {
                weight(m) = raw_tensor<char>("w", onnx::TensorProto::STRING, {2}, {'a', 'b'});
              }),
      damaged("segment", kUnsupported, [](auto& m) { weight(m).mutable_segment()->set_begin(0); }),
      damaged("external_keys_not_external", kInvalid,
              [](auto& m) { weight(m).add_external_data()->set_key("location"); }),
      damaged("int8_out_of_range", kInvalid,
              [](auto& m) {
                weight(m).Clear();
                weight(m).set_name("w");
                weight(m).set_data_type(onnx::TensorProto::INT8);
                weight(m).add_dims(1);
                weight(m).add_int32_data(300);
              }),
      damaged("sparse_index_out_of_range", kInvalid,
              [](auto& m) {
                auto* sparse = m.proto.mutable_graph()->add_sparse_initializer();
                *sparse->mutable_values() = float_tensor("s", {1}, {1});
                *sparse->mutable_indices() = int_tensor("", {1}, {100});
                sparse->add_dims(4);
              }),
      damaged("sparse_too_large", ErrorCode::resource_limit,
              [](auto& m) {
                auto* sparse = m.proto.mutable_graph()->add_sparse_initializer();
                *sparse->mutable_values() = float_tensor("s", {1}, {1});
                *sparse->mutable_indices() = int_tensor("", {1}, {100});
                sparse->add_dims(std::int64_t{1} << 40);
              }),
  };
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

class Hostile : public ::testing::TestWithParam<Case> {};

TEST_P(Hostile, IsRefusedInOneLine) {
  const std::string bytes = GetParam().bytes();
  try {
    import_bytes(as_bytes(bytes));
    FAIL() << "imported";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_FALSE(message.empty());
    EXPECT_EQ(message.find_first_of("\r\n\t"), std::string::npos) << message;
    EXPECT_EQ(error.code(), GetParam().code) << message;
    EXPECT_LT(message.size(), 2000u) << message;
  }
}

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Container, Hostile, ::testing::ValuesIn(container_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(GraphStructure, Hostile, ::testing::ValuesIn(graph_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Tensors, Hostile, ::testing::ValuesIn(tensor_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Attributes, Hostile, ::testing::ValuesIn(attribute_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Trees, Hostile, ::testing::ValuesIn(tree_cases()), name_of_case);

TEST(HostileModels, TheUndamagedModelIsFine) {
  verify(conv_model().import_graph());
  const std::string tree = tree_model([](auto&) {});
  verify(import_bytes(as_bytes(tree)));
}

/// A model with many kinds of content for the fuzzers to damage.
std::string varied_model() {
  ModelBuilder model(13, 3);
  model.import("f", 1).input("x", {1, 2, 6, 6}).output("y").output("z", onnx::TensorProto::INT64);
  model.constant(float_tensor("w", {4, 2, 3, 3}, std::vector<float>(72, 0.25f)));
  model.constant(raw_tensor<float>("b", onnx::TensorProto::FLOAT, {4}, {1, 2, 3, 4}));
  model.constant(int_tensor("shape", {2}, {1, -1})).constant(int_tensor("axes", {1}, {1}));
  model.node("Conv", {"x", "w", "b"}, {"c"}, {attribute("pads", Ints{1, 1, 1, 1})});
  model.node("f", {"c"}, {"d"}, {attribute("alpha", 0.5f)}, "f");
  model.node("MaxPool", {"d"}, {"p"}, {attribute("kernel_shape", Ints{2, 2}), attribute("strides", Ints{2, 2})});
  model.node("Reshape", {"p", "shape"}, {"r"}).node("Softmax", {"r"}, {"y"}, {attribute("axis", 1)});
  model.node("ReduceSum", {"r", "axes"}, {"s"}).node("ArgMax", {"s"}, {"z"}, {attribute("axis", 0)});
  auto* function = model.proto.add_functions();
  function->set_name("f");
  function->set_domain("f");
  function->add_input("a");
  function->add_output("b");
  function->add_attribute("alpha");
  auto* import = function->add_opset_import();
  import->set_version(13);
  *function->add_node() =
      node_proto("LeakyRelu", {"a"}, {"b"}, {reference("alpha", "alpha", onnx::AttributeProto::FLOAT)});
  return model.bytes();
}

void expect_graph_or_error(const std::string& bytes, const std::string& what) {
  try {
    verify(import_bytes(as_bytes(bytes)));
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_FALSE(message.empty()) << what;
    EXPECT_EQ(message.find('\n'), std::string::npos) << what << ": " << message;
    EXPECT_NE(error.code(), ErrorCode::internal) << what << ": " << message;
  }
}

TEST(HostileModels, EveryTruncationIsHandled) {
  const std::string bytes = varied_model();
  verify(import_bytes(as_bytes(bytes)));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    expect_graph_or_error(bytes.substr(0, size), fmt::format("truncated to {} bytes", size));
  }
}

TEST(HostileModels, BitFlipsAreHandled) {
  constexpr unsigned kSeed = 20260801;
  RecordProperty("seed", static_cast<int>(kSeed));
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  const std::string bytes = varied_model();
  std::mt19937 random(kSeed);
  for (int round = 0; round < 6000; ++round) {
    std::string damaged_bytes = bytes;
    const int flips = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < flips; ++i) {
      char& byte = damaged_bytes[random() % damaged_bytes.size()];
      byte = static_cast<char>(byte ^ (1 << (random() % 8)));
    }
    expect_graph_or_error(damaged_bytes, fmt::format("round {}", round));
  }
}

TEST(HostileModels, ByteReplacementsAreHandled) {
  constexpr unsigned kSeed = 7;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  const std::string bytes = varied_model();
  std::mt19937 random(kSeed);
  for (int round = 0; round < 4000; ++round) {
    std::string damaged_bytes = bytes;
    const std::size_t at = random() % damaged_bytes.size();
    switch (random() % 3) {
      case 0: damaged_bytes[at] = static_cast<char>(random()); break;
      case 1: damaged_bytes.insert(at, 1 + random() % 5, static_cast<char>(random())); break;
      default: damaged_bytes.erase(at, 1 + random() % 5); break;
    }
    expect_graph_or_error(damaged_bytes, fmt::format("round {}", round));
  }
}

}  // namespace
}  // namespace colonnade::onnx_import::testing
