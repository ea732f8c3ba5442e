// SPDX-License-Identifier: Apache-2.0
// Operators of ONNX that have no core form: each definition has its shape rule and its evaluation, in the file named
// above it. Their attributes are those of the ONNX operator, but that an element type is a DType.
#pragma once

#include <string_view>

#include "graph/opaque.hpp"

namespace colonnade::reference {

/// Null when there is none of this name: graphs that were written to a file find their definitions again.
const Definition* find_definition(std::string_view name);

// custom.cpp
/// Of the program: its kernel is what is prepared. Not found by its name.
extern const Definition kCustom;

// elementwise.cpp
extern const Definition kBitCast;
/// A quotient of 16-bit floats, which passes would widen were it a Div; rounded to integers that shows.
extern const Definition kNarrowQuotient;

// compress.cpp
extern const Definition kCompress;

// detection.cpp
extern const Definition kRoiAlign, kMaxRoiPool;

// suppression.cpp
extern const Definition kNonMaxSuppression;

// unique.cpp
extern const Definition kUnique, kUniqueByAppearance;

// image.cpp
extern const Definition kImageDecoder;

// matrix.cpp
extern const Definition kDet, kCumProd;

// sliding.cpp
extern const Definition kCol2Im, kDeformConv, kMaxUnpool;

// signal.cpp
extern const Definition kDFT, kSTFT, kMelWeightMatrix;

// random.cpp
extern const Definition kDropout, kRandomNormal, kRandomNormalLike, kRandomUniform, kRandomUniformLike, kBernoulli,
    kMultinomial;

// sequence.cpp
/// An Optional without input has attributes dtype and is_sequence in place of a type.
extern const Definition kSequenceEmpty, kSequenceConstruct, kSequenceAt, kSequenceInsert, kSequenceErase,
    kSequenceLength, kSplitToSequence, kConcatFromSequence, kOptional, kOptionalHasElement, kOptionalGetElement;

// text.cpp
extern const Definition kStringNormalizer, kStringConcat, kStringSplit, kRegexFullMatch;

// tfidf.cpp
extern const Definition kTfIdfVectorizer;

// encoders.cpp
extern const Definition kLabelEncoder, kOneHotEncoder, kDictVectorizer, kCastMap, kZipMap;

// rotate.cpp
/// Inputs x [B, heads, S, size] or [B, S, heads, size], cosines, sines [B or 1, S, angles], or tables of them [M,
/// angles] and positions [B or 1, S].
extern const Definition kRotate;

// append.cpp
/// Inputs past [B, .., P, size], new [B, .., S, size], where the new rows begin (i64 [1] or [B]), rows of the result
/// (i64 [1]) and, where that is known at run time only, how many rows of a head the past and the result lie apart (i64
/// [2], at most as many as their shapes say). Behind the new rows are zeros, or what is there already where past and
/// result are one buffer.
extern const Definition kAppend;

// linear_attention.cpp
/// Inputs query [B, S, query heads * K], key [B, S, heads * K], value [B, S, heads * V], state [B, heads, K, V] or
/// absent, what is left of the state at each token [B, S, heads or heads * K] or absent, and how much of what it gets
/// wrong is corrected [B, S, 1 or heads] or absent: all is then written. Outputs: results [B, S, the larger number of
/// heads * V], the state behind the last token. Float32.
extern const Definition kLinearAttention;

// grouped.cpp
/// Input: the groups that each row is sent to [rows, repeats], i64. Outputs: which row each row of the groups is, those
/// of a group one behind the other, in their order [rows * repeats]; where a row's copies lie [rows, repeats]; where
/// groups end [groups].
extern const Definition kGroupRows;
/// Inputs: rows [R, K], matrices [groups * N, K], where groups of rows end [groups], i64, and bias [groups, N] or
/// absent. Output [R, N]: each row times the matrix of its group; rows beyond the last group are zeros. Float32.
extern const Definition kGroupedProduct;

// coupling.cpp
/// Chances of classes from those of pairs; its attribute is the number of classes.
extern const Definition kPairwiseCoupling;

// microsoft.cpp
extern const Definition kInverse, kCropAndResize, kNGramRepeatBlock, kMurmurHash3;

}  // namespace colonnade::reference
