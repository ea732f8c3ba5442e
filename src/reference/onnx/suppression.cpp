// SPDX-License-Identifier: Apache-2.0
// NonMaxSuppression: of boxes that overlap the best one.
#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>

#include "base/interruption.hpp"
#include "base/lists.hpp"
#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

struct Box {
  float y1, x1, y2, x2;
  float area() const { return (y2 - y1) * (x2 - x1); }
};

Types infer_suppression(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(2, 5);
  ctx.rank(0, 3);
  ctx.rank(1, 3);
  ctx.dim(0, 2, 4, "a box");
  if (const std::int64_t form = op.int_or("center_point_box", 0); form != 0 && form != 1) {
    ctx.fail("attribute 'center_point_box': {} does not exist", form);
  }
  if (ctx.shape(0) && ctx.shape(1)) {
    ctx.dim(1, 0, (*ctx.shape(0))[0], "the batch");
    ctx.dim(1, 2, (*ctx.shape(0))[1], "the boxes");
  }
  return {{DType::i64, Shape{kUnknownDim, 3}}};
}

Box box_of(const float* corners, bool centered) {
  if (centered) {
    const float half_width = corners[2] / 2, half_height = corners[3] / 2;
    return {corners[1] - half_height, corners[0] - half_width, corners[1] + half_height, corners[0] + half_width};
  }
  return {std::min(corners[0], corners[2]), std::min(corners[1], corners[3]), std::max(corners[0], corners[2]),
          std::max(corners[1], corners[3])};
}

/// Boxes that stay, side by side, so that many of them are compared with another one at a time.
class Kept {
 public:
  void clear() { count_ = 0; }
  std::size_t size() const { return count_; }

  void add(const Box& box) {
    if (count_ % kAtOnce == 0) blocks_.resize(std::max(blocks_.size(), count_ / kAtOnce + 1));
    Block& block = blocks_[count_ / kAtOnce];
    if (count_ % kAtOnce == 0) block = {};
    const std::size_t i = count_++ % kAtOnce;
    block.y1[i] = box.y1;
    block.x1[i] = box.x1;
    block.y2[i] = box.y2;
    block.x2[i] = box.x2;
    block.area[i] = box.area();
  }

  /// Some box overlaps this one by more than the threshold. Boxes without an area overlap none.
  bool overlap(const Box& box, float threshold) const {
    const float area = box.area();
    if (!(area > 0)) return false;
    for (std::size_t b = 0; b * kAtOnce < count_; ++b) {
      const Block& other = blocks_[b];
      int any = 0;
      for (std::size_t i = 0; i < kAtOnce; ++i) {
        const float height = std::min(box.y2, other.y2[i]) - std::max(box.y1, other.y1[i]);
        const float width = std::min(box.x2, other.x2[i]) - std::max(box.x1, other.x1[i]);
        const float common = height * width;
        const bool covers = common / (area + other.area[i] - common) > threshold;
        any |= static_cast<int>(covers) & static_cast<int>(height > 0) & static_cast<int>(width > 0) &
               static_cast<int>(other.area[i] > 0);
      }
      if (any != 0) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kAtOnce = 16;
  struct Block {
    std::array<float, kAtOnce> y1{}, x1{}, y2{}, x2{}, area{};  // of no area, but where a box is
  };
  std::vector<Block> blocks_;
  std::size_t count_ = 0;
};

/// A candidate as a number: the higher its score the larger, and the earlier of equal ones.
std::uint64_t ranked(float score, std::size_t place) {
  const auto bits = std::bit_cast<std::uint32_t>(score);
  const std::uint32_t size = bits & 0x7fffffffU, key = (bits >> 31) != 0 ? 0x80000000U - size : 0x80000000U + size;
  return (std::uint64_t{key} << 32) | static_cast<std::uint32_t>(~place);
}

/// Finds the boxes of one class that stay, best first; keeps its memory for the next class.
class Suppression {
 public:
  Suppression(double limit, float overlap_threshold, float score_threshold)
      : limit_(limit), overlap_threshold_(overlap_threshold), score_threshold_(score_threshold) {}

  template <class Take>
  void run(std::span<const Box> boxes, const float* scores, Take take) {
    find_candidates(scores, boxes.size());
    kept_.clear();
    std::size_t ordered = 0;
    for (std::size_t i = 0; i < found_ && static_cast<double>(kept_.size()) < limit_; ++i) {
      count_work(static_cast<std::int64_t>(kept_.size()));
      if (i == ordered) ordered = order_some(i);
      const std::size_t place = static_cast<std::uint32_t>(~candidates_[i]);
      if (kept_.overlap(boxes[place], overlap_threshold_)) continue;
      kept_.add(boxes[place]);
      take(static_cast<std::int64_t>(place));
    }
  }

 private:
  static constexpr std::size_t kAtOnce = 16, kFewest = 64;

  /// Most scores are below the threshold: where none of some is above it, none is looked at.
  void find_candidates(const float* scores, std::size_t count) {
    candidates_.resize(std::max(candidates_.size(), count + 1));
    found_ = 0;
    for (std::size_t begin = 0; begin < count; begin += kAtOnce) {
      const std::size_t end = std::min(count, begin + kAtOnce);
      int any = 0;
      for (std::size_t i = begin; i < end; ++i) any |= static_cast<int>(scores[i] > score_threshold_);
      for (std::size_t i = begin; any != 0 && i < end; ++i) {
        candidates_[found_] = ranked(scores[i], i);
        found_ += scores[i] > score_threshold_ ? 1 : 0;
      }
    }
  }

  /// Puts as many candidates as are in order already, from `begin` on, in order too; ends where that is. The limit may
  /// be met long before the last one.
  std::size_t order_some(std::size_t begin) {
    const auto first = candidates_.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = candidates_.begin() + static_cast<std::ptrdiff_t>(found_);
    const std::size_t count = std::min(found_ - begin, std::max(kFewest, begin));
    const auto middle = first + static_cast<std::ptrdiff_t>(count);
    if (middle != last) std::nth_element(first, middle, last, std::greater<>());
    std::sort(first, middle, std::greater<>());
    return begin + count;
  }

  double limit_;
  float overlap_threshold_, score_threshold_;
  std::vector<std::uint64_t> candidates_;
  std::size_t found_ = 0;
  Kept kept_;
};

/// The elements as they are, or a copy in `room`.
const float* floats_of(const Tensor& tensor, std::vector<float>& room) {
  if (tensor.dtype() == DType::f32) return elements<float>(tensor);
  const std::vector<double> values = load_all<double>(tensor);
  room.assign(values.begin(), values.end());
  return room.data();
}

Data evaluate_suppression(const Opaque& op, const Call& call) {
  const bool centered = op.int_or("center_point_box", 0) == 1;
  const Shape &scores_shape = call.input(1).shape(), &boxes_shape = call.input(0).shape();
  const auto overlap_threshold = static_cast<float>(call.number_or(3, 0));
  const auto score_threshold = static_cast<float>(call.number_or(4, -std::numeric_limits<double>::infinity()));
  Suppression suppression(call.number_or(2, 0), overlap_threshold, score_threshold);
  std::vector<float> boxes_room, scores_room;
  const float* corners = floats_of(call.input(0), boxes_room);
  const float* scores = floats_of(call.input(1), scores_room);
  if (boxes_shape[1] > std::numeric_limits<std::int32_t>::max()) call.unsupported("{} boxes", boxes_shape[1]);
  std::vector<Box> boxes(static_cast<std::size_t>(boxes_shape[1]));
  Ints selected;
  for (std::int64_t batch = 0; batch < scores_shape[0]; ++batch) {
    for (Box& box : boxes) {
      box = box_of(corners, centered);
      corners += 4;
    }
    for (std::int64_t label = 0; label < scores_shape[1]; ++label, scores += boxes.size()) {
      suppression.run(boxes, scores, [&](std::int64_t box) { selected.insert(selected.end(), {batch, label, box}); });
    }
  }
  const auto rows = static_cast<std::int64_t>(selected.size() / 3);
  return {ints_tensor(selected).reshaped({rows, 3})};
}

}  // namespace

constexpr Definition kNonMaxSuppression{"NonMaxSuppression", infer_suppression, evaluate_suppression};

}  // namespace colonnade::reference
