// SPDX-License-Identifier: Apache-2.0
// What passes do to contractions: maps of channels, folded into their weights.
#pragma once

#include "graph/contraction.hpp"
#include "passes/editor.hpp"

namespace colonnade::rewrite {

inline constexpr std::size_t kBiasInput = 2;

/// Nothing has been fused into the sums but, maybe, the bias.
bool is_plain(const FusedEpilogue& epilogue);

/// y[..., c] = x[..., c] * scale[c] + shift[c], in double precision. Empty scale: all 1; empty shift: all 0. One
/// element stands for all channels.
struct ChannelAffine {
  std::vector<double> scale, shift;
};
double element(const std::vector<double>& values, std::size_t channel, double absent);

/// Elements of a float32 constant that varies at most along the last axis: one, or one a channel.
std::optional<std::vector<double>> channel_constant(const Editor& editor, ValueId id, std::size_t rank,
                                                    std::int64_t channels);

/// What a Binary, a BatchNorm or a convolution of one weight a channel does to the value `input` with channels last, by
/// constants; nothing when it is no such thing.
std::optional<ChannelAffine> affine_of(const Editor& editor, const Node& node, ValueId input);

/// The affine map that equals `first`, then `second`.
ChannelAffine then(const ChannelAffine& first, const ChannelAffine& second);

/// Makes the plain contraction compute affine(its sums); weights and bias are copied, never changed in place. False,
/// nothing changed, when weights or bias are not float32 constants.
bool fold_affine(Editor& editor, int contraction, const ChannelAffine& affine);

/// Makes a convolution compute of its input what it computed of affine(its input), whose padding stays zero. False,
/// nothing changed, when the map shifts or the weights are no float32 constant.
bool fold_scale_of_input(Editor& editor, int convolution, const ChannelAffine& affine);

/// Makes a MatMul compute of its input what it computed of affine(its input). False, nothing changed, when its matrix
/// or bias is no float32 constant, or when the map shifts values so far that the sums would lose what a product with
/// the shifted values keeps.
bool fold_affine_of_input(Editor& editor, int contraction, const ChannelAffine& affine);

}  // namespace colonnade::rewrite
