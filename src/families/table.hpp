// SPDX-License-Identifier: Apache-2.0
// The rows of the table, each defined in the file of its family.
#pragma once

#include "families/family.hpp"

namespace colonnade::families {

extern const Family view, depthwise, byte_depthwise, planes, winograd, conv, conv_transpose, matmul, vector_product,
    product, pool, pool_taps, byte_pool, unary, binary, byte_conv, byte_matmul, convert, quantize, dequantize, lookup,
    byte_binary, softmax, layer_norm, lrn, instance_norm, batch_norm, softmax_across, plane_norm, reduce_width, reduce,
    typed_reduce, resize, resize_lines, to_channels_last, to_channels_first, swap_axes, concat, concat_outer, slice,
    gather, pad, depth_to_space, space_to_depth, recurrent, trees, grid_sample, indexing, pad_whole, trilu, lines,
    top_k, regions, typed_product, typed, island;

/// In the order in which they are asked: special ones before general ones, the island last.
inline constexpr const Family* kTable[] = {&view,
                                           &depthwise,
                                           &byte_depthwise,
                                           &planes,
                                           &winograd,
                                           &conv,
                                           &conv_transpose,
                                           &matmul,
                                           &vector_product,
                                           &product,
                                           &pool,
                                           &pool_taps,
                                           &byte_pool,
                                           &unary,
                                           &binary,
                                           &byte_conv,
                                           &byte_matmul,
                                           &convert,
                                           &quantize,
                                           &dequantize,
                                           &lookup,
                                           &byte_binary,
                                           &softmax,
                                           &layer_norm,
                                           &lrn,
                                           &instance_norm,
                                           &batch_norm,
                                           &softmax_across,
                                           &plane_norm,
                                           &reduce_width,
                                           &reduce,
                                           &typed_reduce,
                                           &resize,
                                           &resize_lines,
                                           &to_channels_last,
                                           &to_channels_first,
                                           &swap_axes,
                                           &concat,
                                           &concat_outer,
                                           &slice,
                                           &gather,
                                           &pad,
                                           &depth_to_space,
                                           &space_to_depth,
                                           &recurrent,
                                           &trees,
                                           &grid_sample,
                                           &indexing,
                                           &pad_whole,
                                           &trilu,
                                           &lines,
                                           &top_k,
                                           &regions,
                                           &typed_product,
                                           &typed,
                                           &island};

}  // namespace colonnade::families
