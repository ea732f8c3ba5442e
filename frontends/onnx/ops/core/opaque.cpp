// SPDX-License-Identifier: Apache-2.0
// ai.onnx: operators without a core form, whose attributes are taken as they are.
#include "frontends/onnx/lowering.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::onnx_import {
namespace {

constexpr Row kOpaqueRows[] = {
    {kOnnxDomain, "Col2Im", 18, kNoLimit, 3, 3, 1, opaque<reference::kCol2Im>},
    {kOnnxDomain, "CumProd", 26, kNoLimit, 2, 2, 1, opaque<reference::kCumProd>},
    {kOnnxDomain, "DFT", 17, 19, 1, 2, 1, opaque<reference::kDFT>},
    {kOnnxDomain, "DFT", 20, kNoLimit, 1, 3, 1, opaque<reference::kDFT>},
    {kOnnxDomain, "DeformConv", 19, kNoLimit, 3, 5, 1, opaque<reference::kDeformConv>},
    {kOnnxDomain, "Det", 11, kNoLimit, 1, 1, 1, opaque<reference::kDet>},
    {kOnnxDomain, "ImageDecoder", 20, kNoLimit, 1, 1, 1, opaque<reference::kImageDecoder>},
    {kOnnxDomain, "MaxRoiPool", 1, kNoLimit, 2, 2, 1, opaque<reference::kMaxRoiPool>},
    {kOnnxDomain, "MaxUnpool", 9, kNoLimit, 2, 3, 1, opaque<reference::kMaxUnpool>},
    {kOnnxDomain, "MelWeightMatrix", 17, kNoLimit, 5, 5, 1, opaque<reference::kMelWeightMatrix>},
    {kOnnxDomain, "NonMaxSuppression", 10, kNoLimit, 2, 5, 1, opaque<reference::kNonMaxSuppression>},
    {kOnnxDomain, "RegexFullMatch", 20, kNoLimit, 1, 1, 1, opaque<reference::kRegexFullMatch>},
    {kOnnxDomain, "RoiAlign", 10, kNoLimit, 3, 3, 1, opaque<reference::kRoiAlign>},
    {kOnnxDomain, "STFT", 17, kNoLimit, 2, 4, 1, opaque<reference::kSTFT>},
    {kOnnxDomain, "StringConcat", 20, kNoLimit, 2, 2, 1, opaque<reference::kStringConcat>},
    {kOnnxDomain, "StringNormalizer", 10, kNoLimit, 1, 1, 1, opaque<reference::kStringNormalizer>},
    {kOnnxDomain, "StringSplit", 20, kNoLimit, 1, 1, 2, opaque<reference::kStringSplit>},
    {kOnnxDomain, "TfIdfVectorizer", 9, kNoLimit, 1, 1, 1, opaque<reference::kTfIdfVectorizer>},
    {kOnnxDomain, "Unique", 11, kNoLimit, 1, 1, 4, opaque<reference::kUnique>},
};

}  // namespace

std::span<const Row> opaque_rows() { return kOpaqueRows; }

}  // namespace colonnade::onnx_import
