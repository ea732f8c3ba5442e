// SPDX-License-Identifier: Apache-2.0
// Elements of a table of 256 by bytes, row by row.
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/bytes/bytes.hpp"

namespace colonnade {
namespace {

class LookupOp final : public RowOp {
 public:
  explicit LookupOp(const LowerContext& context)
      : kernel_(kernels::bytes::select(context.features)),
        chunks_(context.chunks),
        in_(context.in<std::byte>(0)),
        table_(context.in<std::byte>(1)),
        out_(context.out<std::byte>()),
        constant_(context.bytes(1)),
        out_bytes_(element_bytes(context.input(1))),
        shape_(row_shape(context.output_shape())) {}

  void run(const StepContext& step) const override {
    const std::int64_t chunk = std::max<std::int64_t>(0, step.chunk);
    const Rows in(step, in_, chunk), out(step, out_, chunk);
    kernels::bytes::LookupArgs args;
    args.rows.channels = static_cast<std::size_t>(step.chunk < 0 ? shape_.channels : chunks_.size(step.chunk));
    args.rows.in_pixel_stride = in.pixel_stride();
    args.rows.out_pixel_stride = out.pixel_stride() / out_bytes_;
    args.table = constant_ ? constant_ : whole(step, table_);
    const std::int64_t width = out.width();
    for (std::int64_t r = step.row_begin; r < step.row_end;) {
      const std::int64_t end = run_end({&in, &out}, r, step.row_end, width);
      args.rows.pixels = static_cast<std::size_t>((end - r) * width);
      args.in = reinterpret_cast<const std::uint8_t*>(in.at(r, out.column_begin()));
      args.out = out(r);
      (out_bytes_ == 1 ? kernel_.lookup_bytes : kernel_.lookup_floats)(args);
      r = end;
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::bytes::Kernel& kernel_;
  ChunkInfo chunks_;
  ValueOf<std::byte> in_, table_, out_;
  const std::byte* constant_;
  std::int64_t out_bytes_;
  RowShape shape_;
};

Match match(const Candidate& node) { return std::holds_alternative<Lookup>(node.node.op) ? take() : refuse(); }

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<LookupOp>(context); }

}  // namespace

constinit const Family families::lookup = {.name = "lookup",
                                           .scope = Scope::rows,
                                           .border = Border::none,
                                           .types = {DType::u8, DType::i8, DType::f32},
                                           .match = match,
                                           .units = one_unit,
                                           .effort = byte_effort<Work::copy>,
                                           .weights_bytes = no_bytes,
                                           .workspace_bytes = no_bytes,
                                           .window = same_columns,
                                           .chunks = carries_chunks,
                                           .placements = no_placements,
                                           .tell = nothing_told,
                                           .lower = lower};

}  // namespace colonnade
