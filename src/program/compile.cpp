// SPDX-License-Identifier: Apache-2.0
#include "program/compile.hpp"

#include <algorithm>
#include <iterator>

#include "base/interruption.hpp"
#include "base/subnormals.hpp"
#include "families/lower.hpp"

namespace colonnade {
namespace {

/// Per node: its part in the segment's chunk groups.
ByNode<ChunkInfo> chunk_infos(const Graph& graph, const Plan& plan) {
  auto infos = ByNode<ChunkInfo>::of(graph.nodes.size());
  for (const SegmentPlan& segment : plan.segments)
    for (const ChunkGroup& group : segment.chunk_groups)
      for (std::size_t i = 0; i < group.nodes.size(); ++i) {
        const ChunkRole role = i == 0                        ? ChunkRole::output
                               : i + 1 == group.nodes.size() ? ChunkRole::input
                                                             : ChunkRole::both;
        infos[group.nodes[i]] = {role, group.channels, group.chunk_channels};
      }
  return infos;
}

bool is_double(const Graph& graph, ValueId id) { return id != kAbsent && graph.value(id).type.dtype == DType::f64; }

bool computes_in_doubles(const Graph& graph, const Node& node) {
  const auto is_one = [&](ValueId id) { return is_double(graph, id); };
  return std::any_of(node.inputs.begin(), node.inputs.end(), is_one) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), is_one);
}

/// An operator on numbers of 64 bits, which are wanted exactly: only those of 32 bits are faster without subnormals.
class OnDoubles final : public RowOp {
 public:
  explicit OnDoubles(std::unique_ptr<RowOp> op) : op_(std::move(op)) {}
  void run(const StepContext& context) const override {
    const SubnormalMode mode(true);
    op_->run(context);
  }
  std::size_t pointer_count(std::int64_t rows) const override { return op_->pointer_count(rows); }
  std::string_view kernel() const override { return op_->kernel(); }
  bool changes_in_place() const override { return op_->changes_in_place(); }

 private:
  std::unique_ptr<RowOp> op_;
};

/// Of rows that one step reads; what asks for more has dimensions that no memory holds.
constexpr std::size_t kMostPointers = std::size_t{1} << 28;

class Compiler {
 public:
  Compiler(const Graph& graph, const Plan& plan, kernels::Features features, WeightStore& weights)
      : graph_(graph),
        plan_(plan),
        features_(features),
        weights_(weights),
        program_(std::make_shared<Program>()),
        is_viewed_(ByValue<bool>::of(graph.values.size(), false)) {
    for (const ValueId id : graph.outputs) is_viewed_[id] = true;
  }

  std::shared_ptr<const Program> run() {
    program_->threads = plan_.threads;
    program_->arena_bytes = plan_.arena_bytes;
    program_->flop = plan_.flop;
    program_->is_brief = is_brief(plan_);
    program_->keeps_subnormals = plan_.options.math == Math::exact;
    describe_borders();
    lower_nodes();
    find_overwritten();
    weights_.trim();
    make_views();
    for (const SegmentPlan& segment : plan_.segments) add_segment(segment);
    add_copies();
    return program_;
  }

 private:
  void describe_borders() {
    for (const ValueId id : graph_.inputs) {
      program_->input_types.push_back(graph_.value(id).type.dtype);
      program_->input_shapes.push_back(graph_.value(id).type.static_shape());
    }
    for (const ValueId id : graph_.outputs) {
      const Value& value = graph_.value(id);
      if (!value.type.is_static())
        fail(ErrorCode::unsupported, "output '{}': its shape {} depends on data", value.name, to_text(value.type));
      program_->output_types.push_back(value.type.dtype);
      program_->output_shapes.push_back(value.type.static_shape());
    }
  }

  ByValue<int> reader_counts() const {
    auto counts = ByValue<int>::of(graph_.values.size(), 0);
    for (const Node& node : graph_.nodes)
      for (const ValueId id : node.inputs)
        if (id != kAbsent) ++counts[id];
    for (const ValueId id : graph_.outputs) ++counts[id];
    return counts;
  }

  /// The input that an output may be written over: its node changes some of it, and nothing else reads its memory.
  std::int32_t overwritten_by(ValueId output, const ByValue<int>& readers) const {
    for (const NodeIndex i : nodes_of(graph_)) {
      const Node& node = node_of(graph_, i);
      const auto& op = program_->ops[i];
      if (node.outputs[0] != output || op == nullptr || !op->changes_in_place()) continue;
      const ValueId given = node.inputs[0];
      const auto input = std::find(graph_.inputs.begin(), graph_.inputs.end(), given);
      const bool is_read_here = input != graph_.inputs.end() && readers[given] == 1;
      const bool lies_there = plan_.storage[output].place == Place::output;
      const bool fits = is_read_here && lies_there && graph_.value(given).type == graph_.value(output).type;
      return fits ? to_int32(input - graph_.inputs.begin()) : -1;
    }
    return -1;
  }

  void find_overwritten() {
    const ByValue<int> readers = reader_counts();
    for (const ValueId id : graph_.outputs) program_->overwrites.push_back(overwritten_by(id, readers));
  }

  void lower_nodes() {
    const ByNode<ChunkInfo> chunks = chunk_infos(graph_, plan_);
    for (const NodeIndex i : nodes_of(graph_)) {
      interruption_point();
      const Node& node = node_of(graph_, i);
      std::vector<bool> taken(node.inputs.size());
      const LowerContext context{{{graph_, node}, plan_.choices[i]},
                                 chunks[i],
                                 features_,
                                 weights_,
                                 program_->owned,
                                 program_->weights_bytes,
                                 program_->islands,
                                 taken};
      auto op = plan_.choices[i].family->lower(context);
      if (op && computes_in_doubles(graph_, node)) op = std::make_unique<OnDoubles>(std::move(op));
      program_->ops.push_back(std::move(op));
      for (std::size_t input = 0; input < taken.size(); ++input)
        if (node.inputs[input] != kAbsent && !taken[input]) is_viewed_[node.inputs[input]] = true;
      program_->op_names.push_back(node.name);
      program_->op_kinds.push_back(name_of(node.op));
    }
  }

  std::int32_t constant_base(const std::shared_ptr<const Constant>& constant) {
    auto bytes = weights_.plain(constant);
    program_->constants.push_back(bytes.get());
    program_->owned.push_back(std::move(bytes));
    return to_int32(static_cast<std::int64_t>(program_->base_count())) - 1;
  }

  std::int32_t first_output() const { return Program::kFirstInput + to_int32(std::ssize(graph_.inputs)); }

  View whole_view(ValueId id) {
    View view;
    const Value& value = graph_.value(id);
    view.type = value.type.dtype;
    const Storage& storage = plan_.storage[id];
    if (value.type.is_static()) {
      const Value& frame = storage.host == kAbsent ? value : graph_.value(storage.host);
      const RowShape shape = row_shape(frame.type.static_shape());
      view.pixel_stride = shape.channels * element_bytes(value);
      view.row_stride = shape.width * view.pixel_stride;
      view.image_stride = shape.rows * view.row_stride;
      view.width = static_cast<std::int32_t>(shape.width);
    }
    switch (storage.place) {
      case Place::nowhere:
      case Place::ring: break;
      case Place::arena: view.offset = storage.offset; break;
      case Place::input: view.base = Program::kFirstInput + storage.index; break;
      case Place::output: view.base = first_output() + storage.index; break;
      case Place::constant:
        if (is_viewed_[id]) view.base = constant_base(graph_.value(storage.root).constant);
        break;
    }
    view.offset += storage.channel * element_bytes(value);
    return view;
  }

  void make_views() {
    ByValue<View> shared;
    for (const ValueId id : values_of(graph_)) shared.push_back(whole_view(id));
    program_->views.assign(static_cast<std::size_t>(plan_.threads), shared);
    for (const SegmentPlan& segment : plan_.segments)
      for (const Ring& ring : segment.rings) add_ring(segment, ring);
  }

  /// First row of `node` in every list of steps, and past the last one.
  struct BandRows {
    Indexed<std::int64_t, std::int32_t> begin, end;
  };
  static BandRows band_rows(const SegmentPlan& segment, NodeIndex node) {
    BandRows rows;
    for (const auto& steps : segment.steps) {
      rows.begin.push_back(-1);
      rows.end.push_back(0);
      for (const Step& step : steps) {
        if (step.kind != Step::Kind::run || step.node != node) continue;
        if (rows.begin.back() < 0) rows.begin.back() = step.row_begin;
        rows.end.back() = std::max(rows.end.back(), step.row_end);
      }
    }
    return rows;
  }

  void add_ring(const SegmentPlan& segment, const Ring& ring) {
    const auto producer = std::find_if(segment.nodes.begin(), segment.nodes.end(),
                                       [&](NodeIndex node) { return output_of(graph_, node) == ring.value; });
    const BandRows rows = band_rows(segment, *producer);
    const auto element = static_cast<std::int64_t>(size_of(ring.type));
    const std::int64_t instances =
        segment.sharing == Sharing::rounds ? plan_.threads : static_cast<std::int64_t>(segment.steps.size());
    for (std::int64_t thread = 0; thread < instances; ++thread) {
      const std::int64_t band = segment.sharing == Sharing::rounds ? 0 : thread;
      View& view = program_->views[static_cast<std::size_t>(thread)][ring.value];
      const std::int64_t offset = ring.offset + thread * ring.thread_stride;
      view.base = Program::kArena;
      view.ring_rows = to_int32(std::max<std::int64_t>(1, ring.rows));
      view.band_begin = rows.begin[band];
      view.head_end = rows.begin[band] + (band > 0 ? to_int32(ring.head_rows) : 0);
      view.next_begin = rows.end[band];
      if (band + 1 < std::ssize(rows.begin.items)) view.next_begin = std::max(view.next_begin, rows.begin[band + 1]);
      view.head_offset = offset - ring.head_bytes();
      view.offset = offset;
      view.next_offset = view.head_offset + ring.thread_stride;
      view.row_stride = ring.row_bytes;
      view.image_stride = 0;
      if (ring.host != kAbsent) {
        const Ring& host = *std::find_if(segment.rings.begin(), segment.rings.end(),
                                         [&](const Ring& other) { return other.value == ring.host; });
        view.offset = host.offset + thread * host.thread_stride + ring.channel * element;
        view.pixel_stride = graph_.value(ring.host).type.static_shape().back() * element;
      }
      if (ring.chunk_count > 1) {
        view.chunk_stride = ring.bytes_a_thread() / ring.chunk_count;
        view.pixel_stride = chunk_channels(segment, *producer) * element;
      }
    }
  }

  static std::int64_t chunk_channels(const SegmentPlan& segment, NodeIndex node) {
    for (const ChunkGroup& group : segment.chunk_groups)
      if (std::find(group.nodes.begin(), group.nodes.end(), node) != group.nodes.end()) return group.chunk_channels;
    fail(ErrorCode::internal, "ring in chunks without a chunk group");
  }

  bool makes_planes(NodeIndex node) const { return plan_.choices[node].family->border == Border::leaves; }

  /// What the segment's nodes mention, as the program has it.
  std::vector<StripView> mentioned_views(const SegmentPlan& plan, std::size_t list) const {
    std::vector<StripView> views;
    const auto mention = [&](ValueId id) {
      const auto is_same = [id](const StripView& known) { return known.value == id; };
      if (id != kAbsent && std::none_of(views.begin(), views.end(), is_same))
        views.push_back({id, program_->views[list][id]});
    };
    for (const NodeIndex index : plan.nodes) {
      const Node& node = node_of(graph_, index);
      std::for_each(node.inputs.begin(), node.inputs.end(), mention);
      std::for_each(node.outputs.begin(), node.outputs.end(), mention);
    }
    return views;
  }

  static View& view_of(std::vector<StripView>& views, ValueId id) {
    return std::find_if(views.begin(), views.end(), [id](const StripView& strip) { return strip.value == id; })->view;
  }

  /// Planes have as many columns as the rows that they are made from, where they are made: who reads them later sees a
  /// tensor of their own shape.
  void add_planes(const SegmentPlan& plan, ProgramSegment& segment) {
    auto& lists = segment.strip_views.emplace_back();
    for (std::size_t list = 0; list < program_->views.size(); ++list) {
      lists.push_back(mentioned_views(plan, list));
      for (const NodeIndex index : plan.nodes) {
        if (!makes_planes(index)) continue;
        const Node& node = node_of(graph_, index);
        view_of(lists.back(), node.outputs[0]).width = view_of(lists.back(), node.inputs[0]).width;
      }
    }
  }

  /// The views of each strip: the values that the segment makes start at the strip's first column.
  void add_strips(const SegmentPlan& plan, ProgramSegment& segment) {
    const bool has_planes =
        std::any_of(plan.nodes.begin(), plan.nodes.end(), [this](NodeIndex node) { return makes_planes(node); });
    if (plan.strips.empty() && has_planes) return add_planes(plan, segment);
    if (plan.strips.empty()) return;
    std::vector<std::vector<StripView>> whole;
    for (std::size_t list = 0; list < program_->views.size(); ++list) whole.push_back(mentioned_views(plan, list));
    for (const auto& columns : plan.strips) {
      auto lists = whole;
      for (auto& views : lists)
        for (const LocalIndex i : plan.nodes.indices()) {
          View& view = view_of(views, output_of(graph_, plan.nodes[i]));
          view.column_begin = to_int32(columns[i].begin);
          view.width = to_int32(columns[i].size());
          if (view.ring_rows == 0 && !makes_planes(plan.nodes[i])) view.offset += columns[i].begin * view.pixel_stride;
        }
      segment.strip_views.push_back(std::move(lists));
    }
  }

  void add_segment(const SegmentPlan& plan) {
    if (plan.kind == SegmentPlan::Kind::view) return;
    ProgramSegment segment;
    add_strips(plan, segment);
    segment.share_rounds = plan.sharing == Sharing::rounds;
    segment.images = plan.images;
    segment.turns = plan.turns;
    segment.scratch_offset = plan.scratch_offset;
    segment.shared_bytes = plan.shared_bytes;
    segment.scratch_bytes = plan.scratch_bytes;
    segment.participants = segment.share_rounds ? plan_.threads : static_cast<int>(plan.steps.size());
    segment.lists = plan.steps;
    for (const auto& list : segment.lists)
      for (const Step& step : list) {
        if (step.kind == Step::Kind::wait) continue;
        const RowOp& op = *program_->ops[step.node];
        program_->pointer_count = std::max(program_->pointer_count, op.pointer_count(step.row_end - step.row_begin));
      }
    if (program_->pointer_count > kMostPointers)
      fail(ErrorCode::resource_limit, "segment {}: a step would read more than {} rows at once",
           program_->segments.size(), kMostPointers);
    program_->segments.push_back(std::move(segment));
  }

  void add_copies() {
    for (std::int32_t output = 0; const ValueId id : graph_.outputs) {
      const View& view = program_->views[0][id];
      if (view.base != first_output() + output)
        program_->copies.push_back({view.base, view.offset, output, bytes_of(graph_.value(id))});
      ++output;
    }
  }

  const Graph& graph_;
  const Plan& plan_;
  kernels::Features features_;
  WeightStore& weights_;
  std::shared_ptr<Program> program_;
  ByValue<bool> is_viewed_;  ///< someone reads its view
};

}  // namespace

std::shared_ptr<const Program> compile(const Graph& graph, const Plan& plan, kernels::Features features,
                                       WeightStore& weights) {
  return Compiler(graph, plan, features, weights).run();
}

}  // namespace colonnade
