// SPDX-License-Identifier: Apache-2.0
// Attention, a block of rows of one head at a time: its scores, their softmax and what it mixes of the values stay in
// the caches, and no tensor of rows times keys is made. Keys and values are packed once a head, or read where they lie
// by a row that is alone.
#include "kernels/attention/attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "families/attention_form.hpp"
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/move/move.hpp"
#include "kernels/vector_product/vector_product.hpp"

namespace colonnade {
namespace {

namespace gemm = kernels::gemm;

class AttentionOp final : public RowOp {
 public:
  explicit AttentionOp(const LowerContext& context)
      : product_(gemm::select(context.features, kernels::Encoding::f32)),
        kernel_(kernels::attention::select(context.features)),
        move_(kernels::move::select(context.features)),
        one_(kernels::vector_product::select(context.features)),
        form_(context.form<AttentionForm>()),
        scale_(std::get<Attention>(context.node.op).scale),
        cap_(std::get<Attention>(context.node.op).cap),
        q_(context.in<float>(0)),
        k_(context.in<float>(1)),
        v_(context.in<float>(2)),
        out_(context.out<float>()) {
    for (std::size_t i = 0; i < kMostAddends; ++i) addends_[i] = context.in<float>(kAddendInput + i);
    if (form_.sinks) sinks_ = context.in<float>(kSinksInput);
    if (form_.bounded) bounds_ = context.in<std::int64_t>(kBoundsInput);
    if (form_.by_distance) places_ = context.in<std::int64_t>(kPlacesInput);
    if (form_.grows) live_ = context.in<std::int64_t>(kLiveInput);
    for (std::size_t i = 0; i < kMostAddends; ++i)
      if (addends_[i]) most_ = std::min(most_, context.input_shape(kAddendInput + i).back());
    without_shares_ = std::get<Attention>(context.node.op).without_shares;
    name_ = context.node.name;
  }

  void run(const StepContext& step) const override {
    const Room room = room_of(step.scratch);
    const Cache cache = form_.grows ? cache_of(step) : Cache{form_.keys, form_.keys};
    if (form_.is_one_row()) return run_single_rows(step, room, {step.row_begin, step.row_end}, cache);
    Packed packed;
    for (std::int64_t unit = step.row_begin; unit < step.row_end; ++unit) {
      const std::int64_t head = unit / form_.blocks, first = unit % form_.blocks * kUnitRows;
      const Interval rows{first, std::min(form_.rows, first + kUnitRows)};
      if (form_.bounded)
        run_texts(step, room, head, rows, packed);
      else
        run_rows(step, room, head, rows, {0, cache.keys}, packed, cache.room);
    }
  }

  std::string_view kernel() const override { return product_.name; }

 private:
  struct Room {
    float *keys, *values, *scores, *sums, *addends;
  };
  Room room_of(float* scratch) const {
    float* values = scratch + form_.key_floats();
    float* scores = values + form_.value_floats();
    float* sums = scores + form_.score_floats();
    return {scratch, values, scores, sums, sums + kUnitRows};
  }

  /// Keys that there are, and rows of a head that they lie apart.
  struct Cache {
    std::int64_t keys, room;
  };
  Cache cache_of(const StepContext& step) const {
    const std::int64_t* live = whole(step, live_);
    if (live[0] < 1 || live[0] > live[1] || live[1] > form_.keys || live[0] > most_)
      fail(ErrorCode::invalid_input, "node '{}' (Attention): {} keys, {} rows apart, expected at most {}", name_,
           live[0], live[1], form_.keys);
    return {live[0], live[1]};
  }

  /// Where the keys and values lie that are packed.
  struct Packed {
    std::int64_t keys = -1, values = -1;
  };

  /// Where the keys or values of a head begin: heads of the class's keys lie elsewhere, where they grow.
  std::int64_t first_of(const Matrices& rows, std::int64_t head, std::int64_t apart) const {
    const std::int64_t first = rows.offset(head, form_.batch);
    return form_.grows ? first / form_.keys * apart : first;
  }

  /// Heads of one row each, in groups that share what they read.
  void run_single_rows(const StepContext& step, const Room& room, Interval heads, const Cache& cache) const {
    const std::int64_t sharing = form_.sharing_heads();
    for (std::int64_t head = heads.begin, count = 0; head < heads.end; head += count) {
      count = std::min({heads.end - head, sharing - head % sharing, form_.rows_together()});
      const Lying lying{whole(step, k_) + first_of(form_.k, head, cache.room),
                        whole(step, v_) + first_of(form_.v, head, cache.room), count};
      attend(step, room, head, {0, 1}, {0, cache.keys}, lying);
    }
  }

  /// Rows of a head that meet these keys.
  void run_rows(const StepContext& step, const Room& room, std::int64_t head, Interval rows, Interval keys,
                Packed& packed, std::int64_t apart) const {
    const std::int64_t k = first_of(form_.k, head, apart) + keys.begin * form_.k.row;
    const std::int64_t v = first_of(form_.v, head, apart) + keys.begin * form_.v.row;
    if (k != packed.keys) pack_keys(whole(step, k_) + k, keys.size(), room.keys);
    if (v != packed.values) pack_values(whole(step, v_) + v, keys.size(), room.values);
    packed = {k, v};
    const std::int64_t block = form_.block_rows(keys.size());
    for (std::int64_t row = rows.begin; row < rows.end; row += block)
      attend(step, room, head, {row, std::min(rows.end, row + block)}, keys, {});
  }

  void run_texts(const StepContext& step, const Room& room, std::int64_t head, Interval rows, Packed& packed) const {
    const std::int64_t* bounds = whole(step, bounds_);
    if (!std::is_sorted(bounds, bounds + form_.texts + 1) || bounds[0] < 0 || bounds[form_.texts] > form_.rows)
      fail(ErrorCode::invalid_input, "node '{}' (Attention): the bounds of texts are not in order within {} rows",
           name_, form_.rows);
    const std::int64_t* text = std::upper_bound(bounds, bounds + form_.texts + 1, rows.begin);
    clear(step, head, {rows.begin, std::min(rows.end, bounds[0])});
    for (text -= text == bounds ? 0 : 1; text < bounds + form_.texts && *text < rows.end; ++text) {
      const Interval keys{text[0], text[1]}, own = intersect(rows, keys);
      if (!own.empty()) run_rows(step, room, head, own, keys, packed, form_.keys);
    }
    clear(step, head, {std::max(rows.begin, bounds[form_.texts]), rows.end});
  }

  void clear(const StepContext& step, std::int64_t head, Interval rows) const {
    float* out = whole(step, out_) + form_.out.offset(head, form_.batch);
    for (std::int64_t row = rows.begin; row < rows.end; ++row)
      std::fill_n(out + row * form_.out.row, form_.columns, 0.0f);
  }

  void pack_keys(const float* from, std::int64_t keys, float* to) const {
    const auto size = static_cast<std::size_t>(form_.size);
    for (std::int64_t key = 0; key < keys; key += kPanelWidth, to += form_.size * kPanelWidth) {
      const std::int64_t count = std::min(kPanelWidth, keys - key);
      if (count < kPanelWidth) std::fill_n(to, form_.size * kPanelWidth, 0.0f);
      move_.planes_to_pixels(
          {size, static_cast<std::size_t>(count), from + key * form_.k.row, form_.k.row, to, kPanelWidth});
    }
  }

  void pack_values(const float* from, std::int64_t count_of_keys, float* to) const {
    constexpr auto kPanelBytes = static_cast<std::ptrdiff_t>(sizeof(float)) * kPanelWidth;
    const auto keys = static_cast<std::size_t>(count_of_keys);
    for (std::int64_t column = 0; column < form_.columns; column += kPanelWidth, to += count_of_keys * kPanelWidth) {
      const std::int64_t count = std::min(kPanelWidth, form_.columns - column);
      if (count < kPanelWidth) std::fill_n(to, count_of_keys * kPanelWidth, 0.0f);
      move_.copy({keys, static_cast<std::size_t>(count) * sizeof(float), from + column, to,
                  form_.v.row * static_cast<std::ptrdiff_t>(sizeof(float)), kPanelBytes});
    }
  }

  struct Product {
    const float* in;
    std::int64_t in_stride, rows, depth;
    const float* weights;
    std::int64_t panel_rows;  ///< of a panel of weights
    float* out;
    std::int64_t out_stride, columns;
  };
  /// Keys and values where they lie, and the heads whose single rows meet them; null where they are packed.
  struct Lying {
    const float *keys = nullptr, *values = nullptr;
    std::int64_t heads = 0;
  };

  void multiply(const Product& p) const {
    gemm::ConvArgs args;
    args.in_rows = &p.in;
    args.out_rows = &p.out;
    args.width_in = args.width_out = static_cast<std::size_t>(p.rows);
    args.channels_in = static_cast<std::size_t>(p.depth);
    args.channels_out = static_cast<std::size_t>(p.columns);
    args.in_pixel_stride = p.in_stride;
    args.out_pixel_stride = p.out_stride;
    args.weights = p.weights;
    args.panel_stride = static_cast<std::size_t>(p.panel_rows) * gemm::kPanel;
    product_.run(args);
  }

  /// Addend `which` for rows and keys of a text: where it lies, one float before for each row that follows, while no
  /// token is missing between them; else picked.
  void add_by_distance(const StepContext& step, const Room& room, std::size_t which, std::int64_t head, Interval rows,
                       Interval keys, kernels::attention::SharesArgs& shares, std::size_t given) const {
    const std::int64_t* places = whole(step, places_);
    const float* middle = whole(step, addends_[which]) + form_.addends[which].offset(head, form_.batch) + form_.far;
    const std::int64_t span = places[keys.end - 1] - places[keys.begin];
    if (span == keys.size() - 1 && span <= form_.far) {
      shares.addends[given] = middle + (keys.begin - rows.begin);
      shares.addend_strides[given] = -1;
      return;
    }
    float* to = room.addends + static_cast<std::int64_t>(given) * form_.score_floats();
    shares.addends[given] = to;
    shares.addend_strides[given] = shares.stride;
    for (std::int64_t row = rows.begin; row < rows.end; ++row, to += shares.stride)
      for (std::int64_t key = keys.begin; key < keys.end; ++key)
        to[key - keys.begin] = middle[std::clamp(places[key] - places[row], -form_.far, form_.far)];
  }

  /// Rows that meet keys together: of a head, or the single ones of several.
  struct Rows {
    std::int64_t count;
    const float* q;
    std::ptrdiff_t q_stride;
    float* out;
    std::ptrdiff_t out_stride;
  };

  /// Those without shares.
  void clear_rows(const kernels::attention::SharesArgs& shares, const Rows& rows) const {
    for (std::int64_t row = 0; row < rows.count; ++row) {
      if (!std::isnan(shares.sums[row])) continue;
      if (without_shares_ == WithoutShares::zero || is_barred(shares, row))
        std::fill_n(rows.out + row * rows.out_stride, form_.columns, 0.0f);
    }
  }
  static bool is_barred(const kernels::attention::SharesArgs& shares, std::int64_t row) {
    const auto bars = [&](std::size_t which, std::size_t key) {
      const float* addend = shares.addends[which];
      return addend != nullptr && addend[row * shares.addend_strides[which] + static_cast<std::ptrdiff_t>(key)] ==
                                      -std::numeric_limits<float>::infinity();
    };
    for (std::size_t key = 0; key < shares.keys; ++key)
      if (!bars(0, key) && !bars(1, key)) return false;
    return true;
  }

  void score(const Room& room, const Rows& rows, std::int64_t keys, Interval live, const Lying& lying) const {
    const std::int64_t stride = score_stride(keys);
    if (lying.keys == nullptr)
      multiply({rows.q, rows.q_stride, rows.count, form_.size, room.keys + live.begin * form_.size, form_.size,
                room.scores, stride, live.size()});
    else
      one_.by_rows({.vectors_count = static_cast<std::size_t>(rows.count),
                    .k = static_cast<std::size_t>(form_.size),
                    .n = static_cast<std::size_t>(live.size()),
                    .vectors = rows.q,
                    .vector_stride = rows.q_stride,
                    .matrix = lying.keys + live.begin * form_.k.row,
                    .matrix_stride = form_.k.row,
                    .out = room.scores,
                    .out_vector_stride = stride});
  }

  void mix(const Room& room, const Rows& rows, std::int64_t keys, Interval live, const Lying& lying) const {
    const std::int64_t stride = score_stride(keys);
    if (lying.values == nullptr)
      return multiply({room.scores, stride, rows.count, live.size(), room.values + live.begin * kPanelWidth, keys,
                       rows.out, rows.out_stride, form_.columns});
    constexpr std::int64_t kNearKeys = 256;  // that several rows meet before the next ones
    for (std::int64_t first = 0; first < live.size(); first += kNearKeys)
      for (std::int64_t row = 0; row < rows.count; ++row) {
        float* const out = rows.out + row * rows.out_stride;
        one_.by_columns({.vectors_count = 1,
                         .k = static_cast<std::size_t>(std::min(kNearKeys, live.size() - first)),
                         .n = static_cast<std::size_t>(form_.columns),
                         .vectors = room.scores + row * stride + first,
                         .matrix = lying.values + (live.begin + first) * form_.v.row,
                         .matrix_stride = form_.v.row,
                         .bias = first > 0 ? out : nullptr,
                         .out = out});
      }
  }

  /// Rows of a head that meet the packed keys, or single rows of heads that meet those that lie there. Keys that are
  /// barred for all of them are left out at both ends.
  void attend(const StepContext& step, const Room& room, std::int64_t head, Interval own, Interval meets,
              const Lying& lying) const {
    const std::int64_t keys = meets.size(), row = own.begin;
    const auto stride_of = [&](const Matrices& at) { return lying.heads > 1 ? at.strides.back() : at.row; };
    const auto place_of = [&](const Matrices& at) { return at.offset(head, form_.batch) + row * at.row; };
    const Rows rows{std::max(own.size(), lying.heads), whole(step, q_) + place_of(form_.q), stride_of(form_.q),
                    whole(step, out_) + place_of(form_.out), stride_of(form_.out)};
    kernels::attention::SharesArgs shares{.rows = static_cast<std::size_t>(rows.count),
                                          .keys = static_cast<std::size_t>(keys),
                                          .scores = room.scores,
                                          .stride = score_stride(keys),
                                          .scale = scale_,
                                          .cap = cap_,
                                          .sums = room.sums};
    std::size_t given = 0;
    for (std::size_t i = 0; i < kMostAddends; ++i) {
      if (!addends_[i]) continue;
      if (form_.by_distance) {
        add_by_distance(step, room, i, head, own, meets, shares, given++);
        continue;
      }
      shares.addends[given] = whole(step, addends_[i]) + place_of(form_.addends[i]);
      shares.addend_strides[given++] = stride_of(form_.addends[i]);
    }
    if (form_.sinks) {
      shares.sinks = whole(step, sinks_) + place_of(*form_.sinks);
      shares.sink_stride = stride_of(*form_.sinks);
    }
    const Interval live = keep_live(shares);
    score(room, rows, keys, live, lying);
    kernel_.shares(shares);
    mix(room, rows, keys, live, lying);
    kernel_.divide({shares.rows, static_cast<std::size_t>(form_.columns), rows.out, rows.out_stride, room.sums});
    if (without_shares_ != WithoutShares::nan) clear_rows(shares, rows);
  }

  /// Takes keys that have no share out of the rows' scores.
  Interval keep_live(kernels::attention::SharesArgs& shares) const {
    const kernels::attention::LiveKeys live = kernel_.live(shares);
    shares.keys = live.end - live.begin;
    for (const float*& addend : shares.addends)
      if (addend != nullptr) addend += live.begin;
    return {static_cast<std::int64_t>(live.begin), static_cast<std::int64_t>(live.end)};
  }

  const gemm::Kernel& product_;
  const kernels::attention::Kernel& kernel_;
  const kernels::move::Kernel& move_;
  const kernels::vector_product::Kernel& one_;
  AttentionForm form_;
  float scale_, cap_;
  ValueOf<float> q_, k_, v_, out_;
  std::array<ValueOf<float>, kMostAddends> addends_;
  ValueOf<float> sinks_;
  ValueOf<std::int64_t> bounds_, places_, live_;
  std::int64_t most_ = std::numeric_limits<std::int64_t>::max();  ///< keys that addends know
  WithoutShares without_shares_ = WithoutShares::nan;
  std::string name_;
};

Match match(const Candidate& node) {
  const auto* op = std::get_if<Attention>(&node.node.op);
  if (op == nullptr) return refuse();
  for (std::size_t i = 0; i < node.node.inputs.size(); ++i)
    if (node.has_input(i) && element_count(node.input_shape(i)) == 0) return refuse("empty tensor");
  auto form = attention_form(node, *op);
  return form ? take(Form::of(*std::move(form))) : refuse("no kernel for such addends");
}

std::int64_t units(const Chosen& node) {
  const auto& form = node.form<AttentionForm>();
  return form.heads() * form.blocks;
}

Effort effort(const Chosen& node, const Rates& rates) {
  const auto& form = node.form<AttentionForm>();
  const auto real = [](std::int64_t count) { return static_cast<double>(count); };
  constexpr std::int64_t kTextKeys = 256;  // of a text, as far as one can know
  const std::int64_t keys = form.bounded ? std::min(kTextKeys, form.keys) : form.keys;
  const double scores = real(form.heads()) * real(form.rows) * real(keys);
  return {rates.seconds(Work::contraction, 2 * scores * real(form.size), real(form.size)) +
          rates.seconds(Work::contraction, 2 * scores * real(form.columns), real(form.keys)) +
          rates.seconds(Work::normalise, scores, 1)};
}

std::int64_t workspace_bytes(const Chosen& node) {
  return node.form<AttentionForm>().workspace_floats() * static_cast<std::int64_t>(sizeof(float));
}

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<AttentionOp>(context); }

}  // namespace

constinit const Family families::attention = whole_family({.name = "attention",
                                                           .types = kFloats,
                                                           .match = match,
                                                           .units = units,
                                                           .effort = effort,
                                                           .weights_bytes = no_bytes,
                                                           .workspace_bytes = workspace_bytes,
                                                           .lower = lower});

}  // namespace colonnade
