// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <colonnade/colonnade.hpp>
#include <cstdio>

int main() {
  try {
    const auto model = colonnade::Model::embedded("digits");  // or Model::load("model.onnx"); shared by threads
    colonnade::Session session(model);                        // one a thread
    float picture[28][28] = {};                               // your memory, read where it is
    for (int row = 4; row < 24; ++row) picture[row][13] = picture[row][14] = 1;
    const std::vector<colonnade::TensorView> inputs = {{colonnade::DType::f32, {1, 1, 28, 28}, picture}};
    const std::vector<colonnade::Tensor> outputs = session.run(inputs);
    const auto scores = outputs[0].values<float>();
    std::printf("digit %td\n", std::max_element(scores.begin(), scores.end()) - scores.begin());
  } catch (const colonnade::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
