// SPDX-License-Identifier: Apache-2.0
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

constexpr const Definition* kAll[] = {&kBitCast,
                                      &kNarrowQuotient,
                                      &kCompress,
                                      &kNonMaxSuppression,
                                      &kRoiAlign,
                                      &kMaxRoiPool,
                                      &kUnique,
                                      &kImageDecoder,
                                      &kDet,
                                      &kCumProd,
                                      &kCol2Im,
                                      &kDeformConv,
                                      &kMaxUnpool,
                                      &kDFT,
                                      &kSTFT,
                                      &kMelWeightMatrix,
                                      &kDropout,
                                      &kRandomNormal,
                                      &kRandomNormalLike,
                                      &kRandomUniform,
                                      &kRandomUniformLike,
                                      &kBernoulli,
                                      &kMultinomial,
                                      &kSequenceEmpty,
                                      &kSequenceConstruct,
                                      &kSequenceAt,
                                      &kSequenceInsert,
                                      &kSequenceErase,
                                      &kSequenceLength,
                                      &kSplitToSequence,
                                      &kConcatFromSequence,
                                      &kOptional,
                                      &kOptionalHasElement,
                                      &kOptionalGetElement,
                                      &kStringNormalizer,
                                      &kStringConcat,
                                      &kStringSplit,
                                      &kRegexFullMatch,
                                      &kTfIdfVectorizer,
                                      &kLabelEncoder,
                                      &kOneHotEncoder,
                                      &kDictVectorizer,
                                      &kCastMap,
                                      &kZipMap,
                                      &kPairwiseCoupling,
                                      &kRotate,
                                      &kAppend,
                                      &kLinearAttention,
                                      &kGroupRows,
                                      &kGroupedProduct,
                                      &kInverse,
                                      &kCropAndResize,
                                      &kUniqueByAppearance,
                                      &kNGramRepeatBlock,
                                      &kMurmurHash3};

}  // namespace

const Definition* find_definition(std::string_view name) {
  for (const Definition* definition : kAll) {
    if (definition->name == name) return definition;
  }
  return nullptr;
}

}  // namespace colonnade::reference
