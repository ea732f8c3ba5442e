// SPDX-License-Identifier: Apache-2.0
// What operators on regions of images share, and how the largest of a region is found.
#pragma once

#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/shared.hpp"
#include "reference/onnx/regions.hpp"

namespace colonnade {

inline const Opaque* opaque_of(const Node& node, const Definition& definition) {
  const auto* opaque = std::get_if<Opaque>(&node.op);
  return opaque != nullptr && opaque->definition == &definition ? opaque : nullptr;
}

/// The planes of all regions, which threads share.
inline Shared planes_of(const Subject& node) { return {node.output_shape()[0] * node.output_shape()[1]}; }

/// What these operators have: an image, regions of it, bins.
class RegionOp : public RowOp {
 public:
  explicit RegionOp(const LowerContext& context)
      : image_(context.in<float>(0)),
        regions_(context.in<float>(1)),
        out_(context.out<float>()),
        shape_(context.input_shape(0)),
        bins_(context.output_shape()),
        shared_(planes_of(context)),
        node_(context.node.name),
        origin_(context.node.origin) {}

  void run(const StepContext& step) const override {
    const Interval planes = shared_.of(step);
    const std::int64_t channels = shape_[1];
    for (std::int64_t at = planes.begin; at < planes.end;) {
      const std::int64_t region = at / channels, first = at % channels;
      const std::int64_t count = std::min(channels - first, planes.end - at);
      pool(step, region, {first, first + count}, whole(step, out_) + at * bins_[2] * bins_[3]);
      at += count;
    }
  }

 protected:
  /// Some channels of a region.
  virtual void pool(const StepContext& step, std::int64_t region, Interval channels, float* out) const = 0;

  /// The first of its planes in the image; throws Error{invalid_input} where there is no such image.
  const float* planes(const StepContext& step, double batch, std::int64_t channel) const {
    if (!(batch >= 0 && batch < static_cast<double>(shape_[0])))
      fail(ErrorCode::invalid_input, "node '{}' ({}): batch index {} is out of range [0,{})", node_, origin_, batch,
           shape_[0]);
    return whole(step, image_) + (static_cast<std::int64_t>(batch) * shape_[1] + channel) * shape_[2] * shape_[3];
  }
  const float* region(const StepContext& step, std::int64_t index, std::int64_t numbers) const {
    return whole(step, regions_) + index * numbers;
  }

  ValueOf<float> image_, regions_, out_;
  Shape shape_, bins_;
  Shared shared_;
  std::string node_, origin_;
};

/// The numbers of images, integers of either size.
class Batches {
 public:
  Batches(const LowerContext& context, std::size_t input)
      : numbers_(context.in<std::byte>(input)), is_wide_(context.input(input).type.dtype == DType::i64) {}
  double of(const StepContext& step, std::int64_t region) const {
    const std::byte* numbers = whole(step, numbers_);
    return is_wide_ ? static_cast<double>(reinterpret_cast<const std::int64_t*>(numbers)[region])
                    : static_cast<double>(reinterpret_cast<const std::int32_t*>(numbers)[region]);
  }

 private:
  ValueOf<std::byte> numbers_;
  bool is_wide_;
};

/// A MaxRoiPool, or a RoiAlign whose bins are the largest of as many samples as its attribute says.
std::unique_ptr<RowOp> make_largest(const LowerContext& context, const Opaque& op);
std::int64_t largest_scratch_floats(const Subject& node, const Opaque& op);

}  // namespace colonnade
