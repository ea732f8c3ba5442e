// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "colonnade/colonnade.hpp"
#include "runtime/allocations.hpp"

namespace colonnade {
namespace {

TEST(SessionRun, AllocatesNothingWithMemoryOfTheCaller) {
  Options options;
  options.threads = 1;
  options.duel = false;  // which opens when runs have taken as long as the plan, soon on a busy machine
  const Model model = Model::embedded("digits", options);
  Session session(model);
  const std::vector<Shape> shapes = model.resolve_shapes();
  const Tensor input(model.inputs()[0].dtype, shapes[0]);
  Tensor output(model.outputs()[0].dtype, session.output_shapes(shapes)[0]);
  const std::vector<TensorView> inputs = {input};
  const std::vector<MutableTensorView> outputs = {output};
  session.run(inputs, outputs);
  const std::int64_t before = test::allocations();
  for (int i = 0; i < 10; ++i) session.run(inputs, outputs);
  EXPECT_EQ(test::allocations(), before);
}

}  // namespace
}  // namespace colonnade
