// SPDX-License-Identifier: Apache-2.0
#include "service_fixture.hpp"

#include "frontends/onnx/proto.hpp"

namespace colonnade::test {

std::string lookup_model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto& graph = *model.mutable_graph();
  graph.set_name("lookup");
  auto& table = *graph.add_initializer();
  table.set_name("table");
  table.set_data_type(onnx_import::data_type_of(DType::f32));
  constexpr int kRows = 10;
  table.add_dims(kRows);
  for (int i = 0; i < kRows; ++i) table.add_float_data(static_cast<float>(10 * i));
  auto* node = graph.add_node();
  node->set_op_type("Gather");
  node->add_input("table");
  node->add_input("i");
  node->add_output("y");
  const auto describe = [](onnx::ValueInfoProto& info, const char* name, DType dtype) {
    info.set_name(name);
    auto* type = info.mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx_import::data_type_of(dtype));
    type->mutable_shape()->add_dim()->set_dim_param("batch");
    type->mutable_shape()->add_dim()->set_dim_value(1);
  };
  describe(*graph.add_input(), "i", DType::i64);
  describe(*graph.add_output(), "y", DType::f32);
  return model.SerializeAsString();
}

}  // namespace colonnade::test
