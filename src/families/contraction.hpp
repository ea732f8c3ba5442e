// SPDX-License-Identifier: Apache-2.0
// Sums over channels and taps with constant weights: what convolutions and matrix products share.
#pragma once

#include "families/lower.hpp"
#include "families/window.hpp"
#include "graph/contraction.hpp"
#include "kernels/gemm/gemm.hpp"

namespace colonnade {

static_assert(kPanel == kernels::gemm::kPanel);

struct Contraction {
  Window window{};
  std::int64_t groups = 1;
  std::int64_t inputs = 0;    ///< channels of a group
  std::int64_t outputs = 0;   ///< channels of a group
  bool pointwise = false;     ///< a matrix product: rows that follow each other are one
  bool partial_sums = false;  ///< a sample is a single pixel (kernels::gemm)
  const kernels::gemm::Kernel* kernel = nullptr;
  std::int64_t chunk_channels = 0;  ///< of the chunks in which its outputs may come
};

/// The terms of its sums as kernels pair them.
kernels::gemm::Terms terms_of(const Contraction& form);
/// Those of a sum in pairs, with the zeros that fill them.
std::int64_t paired_terms(const Contraction& form);
/// Packed weights of a group.
std::int64_t packed_floats(kernels::Encoding encoding, const Contraction& form);

/// What packed weights in an encoding are called: `name` as floats.
std::string format_of(kernels::Encoding encoding, std::string_view name, const Contraction& form);
/// A panel of `k` packed floats in another encoding; pairs are of `run` terms.
void encode_panel(kernels::Encoding encoding, const float* panel, std::size_t k, std::size_t run, float* place);

/// A panel of `count` filters [channels, taps], no more than kPanel, as [tap][channel].
void pack_taps(const float* filters, std::int64_t taps, std::int64_t channels, std::int64_t count, float* panel);
/// Weights [out, in / groups, kernel...] packed group by group.
WeightMemory pack_filters(const Constant& weight, const Contraction& form, kernels::Encoding encoding,
                          WeightRoom& room);

/// Offers with their forms: this one, the kernel and the chunks those of the encoding.
Match offers_of(const Contraction& form, std::vector<Offer> offers, const Candidate& node);

/// What a contraction of so many channels a group takes, by its operations: any family that multiplies by panels.
double contraction_seconds(const Chosen& node, std::int64_t groups, const Rates& rates);

Effort contraction_effort(const Chosen& node, const Rates& rates);
std::int64_t contraction_weights_bytes(const Chosen& node);
std::int64_t contraction_workspace_bytes(const Chosen& node);
/// Of a node whose output pixels each need one input pixel, or of any other.
ChunkRule contraction_chunks(const Chosen& node, bool pointwise, const FusedEpilogue& epilogue);

std::unique_ptr<RowOp> lower_contraction(const LowerContext& context, const float* weights,
                                         const FusedEpilogue& epilogue);

}  // namespace colonnade
