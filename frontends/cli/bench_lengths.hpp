// SPDX-License-Identifier: Apache-2.0
// A benchmark of texts of mixed lengths, as they come: what a text takes, what a length met for the first time adds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/colonnade.hpp"
#include "commands.hpp"

namespace colonnade::cli {

/// Lengths of `--lengths`: those in a file, one a line, or 256 of "lognormal:MEDIAN[:SHORTEST:LONGEST]", the same for
/// the same seed. Throws Error{invalid_argument} that says what is expected, Error{io}.
std::vector<std::int64_t> lengths_of(const std::string& text, std::uint64_t seed);

/// The length is what all open dimensions behind the first have in common. Throws Error{invalid_argument} where there
/// is none, or their symbols differ.
void check_has_length(std::span<const TensorInfo> inputs);

/// `bench` with `--lengths`: every text once, then all again; `--batch` puts so many neighbours into one run, as long
/// as the longest of them.
int bench_lengths(const BenchOptions& options, std::string& out);

}  // namespace colonnade::cli
