// SPDX-License-Identifier: Apache-2.0
// Regions of images by the family `regions` as by the reference, on every tier and any number of threads.
#include "program/whole.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::test {
namespace {

using namespace whole;

/// Boxes that begin and end anywhere around an image of `size` pixels.
Tensor random_boxes(std::int64_t count, double size, unsigned seed) {
  return random_tensor(DType::f32, {count, 4}, seed, -size / 4, size * 5 / 4);
}

Operator alignment(std::int64_t height, std::int64_t width, std::int64_t ratio, const std::string& transform) {
  return make_opaque(reference::kRoiAlign, 16,
                     {{"output_height", height},
                      {"output_width", width},
                      {"sampling_ratio", ratio},
                      {"spatial_scale", 0.5F},
                      {"coordinate_transformation_mode", transform}});
}

TEST(Regions, Align) {
  for (const std::string transform : {"half_pixel", "output_half_pixel"})
    for (const std::int64_t ratio : {0, 1, 2})
      for (const auto& [height, width] : {std::pair<std::int64_t, std::int64_t>{7, 7}, {1, 1}, {3, 16}, {2, 35}}) {
        const Graph graph =
            single(alignment(height, width, ratio, transform),
                   {computed(DType::f32, {2, 5, 13, 17}), computed(DType::f32, {9, 4}), computed(DType::i64, {9})}, 1);
        check(graph, families::regions,
              {random_tensor(DType::f32, {2, 5, 13, 17}, 1), random_boxes(9, 30, 2),
               index_tensor({9}, {0, 1, 1, 0, 0, 1, 0, 1, 1})},
              2e-5);
      }
}

TEST(Regions, Largest) {
  const Operator op = make_opaque(reference::kMaxRoiPool, 1, {{"pooled_shape", Ints{3, 5}}, {"spatial_scale", 0.5F}});
  Tensor regions = random_tensor(DType::f32, {9, 5}, 3, -8, 40);
  for (std::int64_t i = 0; i < 9; ++i)
    regions.values<float>()[static_cast<std::size_t>(5 * i)] = i % 2 == 0 ? 0.0F : 1.0F;
  const Graph graph = single(op, {computed(DType::f32, {2, 5, 13, 17}), computed(DType::f32, {9, 5})}, 1);
  check(graph, families::regions, {random_tensor(DType::f32, {2, 5, 13, 17}, 1), regions});
}

TEST(Regions, LargestSample) {
  for (const std::int64_t ratio : {1, 2, 3})
    for (const auto& [height, width] : {std::pair<std::int64_t, std::int64_t>{7, 7}, {1, 1}, {3, 16}}) {
      Operator op = alignment(height, width, ratio, "half_pixel");
      std::get<Opaque>(op).attributes["mode"] = std::string("max");
      const Graph graph = single(
          op, {computed(DType::f32, {2, 5, 13, 17}), computed(DType::f32, {5, 4}), computed(DType::i32, {5})}, 1);
      check(graph, families::regions,
            {random_tensor(DType::f32, {2, 5, 13, 17}, 1), random_boxes(5, 30, 2),
             index_tensor({5}, {0, 1, 1, 0, 1}, DType::i32)},
            2e-5);
    }
}

TEST(Regions, Crops) {
  for (const std::string mode : {"bilinear", "nearest"})
    for (const float outside : {0.0F, -2.5F})
      for (const Ints& size : {Ints{7, 7}, Ints{1, 1}, Ints{3, 16}, Ints{2, 35}})
        for (const Shape& image : {Shape{2, 5, 13, 17}, Shape{2, 1, 1, 1}}) {
          const Operator op =
              make_opaque(reference::kCropAndResize, 1, {{"mode", mode}, {"extrapolation_value", outside}});
          const Graph graph = single(op,
                                     {computed(DType::f32, image), computed(DType::f32, {6, 4}),
                                      computed(DType::i32, {6}), constant(index_tensor({2}, size, DType::i32))},
                                     1);
          Tensor boxes = random_tensor(DType::f32, {6, 4}, 2, -0.25, 1.25);
          std::fill_n(boxes.values<float>().data(), 4, 1.0F);  // the last pixel
          check(graph, families::regions,
                {random_tensor(DType::f32, image, 1), boxes, index_tensor({6}, {0, 1, 1, 0, 0, 1}, DType::i32)}, 2e-5);
        }
}

TEST(Regions, NoneAreFine) {
  const Graph graph =
      single(alignment(2, 3, 1, "half_pixel"),
             {computed(DType::f32, {2, 5, 4, 4}), computed(DType::f32, {0, 4}), computed(DType::i64, {0})}, 1);
  check(graph, families::island, inputs_of(graph, 1));
}

TEST(Regions, RefuseImagesThatAreNotThere) {
  const Graph graph =
      single(alignment(2, 2, 0, "half_pixel"),
             {computed(DType::f32, {2, 1, 4, 4}), computed(DType::f32, {1, 4}), computed(DType::i64, {1})}, 1);
  for (const std::int64_t batch : {-1, 2}) {
    const std::vector<Tensor> inputs{random_tensor(DType::f32, {2, 1, 4, 4}, 1), random_boxes(1, 8, 2),
                                     index_tensor({1}, {batch})};
    EXPECT_THROW(run(graph, {Schedule::layers, Math::fast, 1, 0}, kernels::usable_features(), inputs), Error);
  }
}

}  // namespace
}  // namespace colonnade::test
