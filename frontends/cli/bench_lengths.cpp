// SPDX-License-Identifier: Apache-2.0
#include "bench_lengths.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "files.hpp"
#include "model_io.hpp"
#include "process.hpp"
#include "text.hpp"

namespace colonnade::cli {
namespace {

constexpr std::string_view kDistribution = "lognormal:";
constexpr std::int64_t kLongestLength = 1 << 20;
constexpr std::size_t kTexts = 256;
constexpr double kSpread = 0.6;  ///< of the logarithm: half of the texts within a factor of 1.5 of the median

[[noreturn]] void refuse(const std::string& found) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("--lengths takes a file of lengths, one a line, or lognormal:MEDIAN[:SHORTEST:LONGEST], each "
                          "1 to {}; found '{}'",
                          kLongestLength, one_line(found)));
}

std::int64_t length_from(std::string_view text, const std::string& whole) {
  std::int64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size() || length < 1 || length > kLongestLength) refuse(whole);
  return length;
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(by, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<std::int64_t> drawn_lengths(const std::string& text, std::uint64_t seed) {
  std::int64_t numbers[] = {0, 8, 480};
  const auto parts = split(std::string_view(text).substr(kDistribution.size()), ':');
  if (parts.size() != 1 && parts.size() != std::size(numbers)) refuse(text);
  for (std::size_t i = 0; i < parts.size(); ++i) numbers[i] = length_from(parts[i], text);
  const auto [median, shortest, longest] = numbers;
  if (shortest > longest) refuse(text);
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> lengths(kTexts);
  for (std::int64_t& length : lengths) {
    // Box and Muller's method: the same numbers with every standard library.
    const double u = (static_cast<double>(random() >> 11) + 1) * 0x1p-53,
                 v = static_cast<double>(random() >> 11) * 0x1p-53;
    const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v);
    const double drawn = static_cast<double>(median) * std::exp(kSpread * normal);
    length = std::clamp(static_cast<std::int64_t>(drawn), shortest, longest);
  }
  return lengths;
}

/// One run: texts, padded to the longest one.
struct Call {
  std::vector<std::int64_t> lengths;
  std::int64_t texts() const { return std::ssize(lengths); }
  std::int64_t length() const { return *std::max_element(lengths.begin(), lengths.end()); }
};

std::vector<Call> calls_of(const std::vector<std::int64_t>& lengths, std::int64_t batch) {
  std::vector<Call> calls;
  for (std::size_t first = 0; first < lengths.size(); first += static_cast<std::size_t>(batch)) {
    const auto end = std::min(lengths.size(), first + static_cast<std::size_t>(batch));
    const auto at = [&](std::size_t i) { return lengths.begin() + static_cast<std::ptrdiff_t>(i); };
    calls.push_back({{at(first), at(end)}});
  }
  return calls;
}

double percentile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[static_cast<std::size_t>(fraction * static_cast<double>(values.size() - 1))];
}

struct Timed {
  std::vector<double> ms;     ///< by call, each as it came
  std::vector<double> again;  ///< by call, shapes met before
  std::vector<bool> is_new;   ///< by call: a shape not met before
};

/// Zeros behind the end of each text.
void end_texts(const Call& call, Tensor& mask) {
  if (mask.dtype() != DType::i64 || mask.shape() != Shape{call.texts(), call.length()}) return;
  auto element = mask.values<std::int64_t>().begin();
  for (const std::int64_t length : call.lengths)
    for (std::int64_t token = 0; token < call.length(); ++token) *element++ = token < length ? 1 : 0;
}

class Caller {
 public:
  Caller(const Model& model, std::uint64_t seed) : model_(model), seed_(seed), session_(model) {
    check_has_length(model.inputs());
  }

  double ms_of(const Call& call) {
    std::vector<Shape> shapes;
    for (const TensorInfo& input : model_.inputs()) {
      Shape shape = input.shape;
      for (std::size_t d = 0; d < shape.size(); ++d)
        if (shape[d] < 0) shape[d] = d == 0 ? call.texts() : call.length();
      shapes.push_back(std::move(shape));
    }
    std::vector<Tensor> inputs = random_inputs(model_, shapes, seed_);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (is_mask(model_.inputs()[i])) end_texts(call, inputs[i]);
    const std::vector<TensorView> views = views_of(inputs);
    const auto start = std::chrono::steady_clock::now();
    session_.run(views);
    return milliseconds_since(start);
  }
  Session& session() { return session_; }

 private:
  const Model& model_;
  std::uint64_t seed_;
  Session session_;
};

Timed timed(Caller& caller, const std::vector<Call>& calls, bool quiet) {
  Progress progress("bench", !quiet);
  Timed result;
  std::set<std::pair<std::int64_t, std::int64_t>> met;
  const auto done = [&](std::size_t runs) {
    progress.update(static_cast<double>(runs) / static_cast<double>(2 * calls.size()));
  };
  for (const Call& call : calls) {
    result.is_new.push_back(met.insert({call.texts(), call.length()}).second);
    result.ms.push_back(caller.ms_of(call));
    done(result.ms.size());
  }
  for (const Call& call : calls) {
    result.again.push_back(caller.ms_of(call));
    done(calls.size() + result.again.size());
  }
  return result;
}

/// What a new shape adds, and as a multiple of the same run again; medians.
struct FirstSight {
  double ms = 0, ratio = 1;
};
FirstSight first_sight(const Timed& times) {
  std::vector<double> added, ratios;
  for (std::size_t i = 0; i < times.ms.size(); ++i) {
    if (!times.is_new[i]) continue;
    added.push_back(times.ms[i] - times.again[i]);
    ratios.push_back(times.ms[i] / times.again[i]);
  }
  return {percentile(added, 0.5), percentile(ratios, 0.5)};
}

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

Json report(const BenchOptions& options, const std::vector<std::int64_t>& lengths, const std::vector<Call>& calls,
            const Timed& times) {
  std::int64_t computed = 0;
  for (const Call& call : calls) computed += call.texts() * call.length();
  const auto tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  const auto texts = static_cast<double>(lengths.size());
  const FirstSight first = first_sight(times);
  return {{"schema", "colonnade.bench-lengths/1"},
          {"model", options.engine.model},
          {"texts", lengths.size()},
          {"calls", calls.size()},
          {"tokens", tokens},
          {"shortest", *std::min_element(lengths.begin(), lengths.end())},
          {"longest", *std::max_element(lengths.begin(), lengths.end())},
          {"new_shapes", std::count(times.is_new.begin(), times.is_new.end(), true)},
          {"padding", finite(1 - static_cast<double>(tokens) / static_cast<double>(computed))},
          {"ms_per_text", finite(sum(times.ms) / texts)},
          {"ms_per_text_again", finite(sum(times.again) / texts)},
          {"tokens_per_s", finite(static_cast<double>(tokens) / sum(times.ms) * 1000)},
          {"call_ms", {{"p50", finite(percentile(times.ms, 0.5))}, {"p99", finite(percentile(times.ms, 0.99))}}},
          {"first_sight_ms", finite(first.ms)},
          {"first_over_again", finite(first.ratio)}};
}

std::string to_text(const Json& json) {
  const auto number = [&](const char* name) { return json[name].get<double>(); };
  const double above = number("peak_rss_bytes") - number("idle_rss_bytes");
  return fmt::format(
      "texts        {:.0f} of {:.0f} to {:.0f} tokens in {:.0f} runs, {:.0f} % padding\n"
      "text         {:.2f} ms ({:.2f} ms where its length was met before)\n"
      "tokens       {:.0f} a second\n"
      "run          p50 {:.2f} ms, p99 {:.2f} ms\n"
      "new shape    {:.2f} ms more, {:.2f} times the same run again ({:.0f} shapes)\n"
      "memory       weights {}, arena {}, {:.0f} plans {}, peak above idle {}\n",
      number("texts"), number("shortest"), number("longest"), number("calls"), 100 * number("padding"),
      number("ms_per_text"), number("ms_per_text_again"), number("tokens_per_s"), json["call_ms"]["p50"].get<double>(),
      json["call_ms"]["p99"].get<double>(), number("first_sight_ms"), number("first_over_again"), number("new_shapes"),
      human_bytes(number("weights_bytes")), human_bytes(number("arena_bytes")), number("plans"),
      human_bytes(number("plan_bytes")), human_bytes(above));
}

}  // namespace

std::vector<std::int64_t> lengths_of(const std::string& text, std::uint64_t seed) {
  if (text.starts_with(kDistribution)) return drawn_lengths(text, seed);
  const std::vector<std::byte> bytes = read_file(text);
  std::vector<std::int64_t> lengths;
  for (std::string_view line : split({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) lengths.push_back(length_from(line, std::string(line)));
  }
  if (lengths.empty()) refuse(text);
  return lengths;
}

void check_has_length(std::span<const TensorInfo> inputs) {
  std::set<std::string> symbols;
  for (const TensorInfo& input : inputs)
    for (std::size_t d = 1; d < input.shape.size(); ++d)
      if (input.shape[d] < 0) symbols.insert(input.dim_names[d]);
  if (symbols.empty())
    throw Error(ErrorCode::invalid_argument, "--lengths needs a model that leaves a dimension behind the first open");
  if (symbols.size() == 1) return;
  std::string names;
  for (const std::string& symbol : symbols) names += (names.empty() ? "'" : ", '") + symbol + "'";
  throw Error(ErrorCode::invalid_argument,
              fmt::format("--lengths needs one open dimension behind the first, the model has {}", names));
}

int bench_lengths(const BenchOptions& options, std::string& out) {
  const std::vector<std::int64_t> lengths = lengths_of(options.lengths, options.seed);
  const std::vector<Call> calls = calls_of(lengths, std::max<std::int64_t>(options.shape.batch, 1));
  const std::size_t idle = resident_bytes();
  const Model model = open_model(options.engine);
  Caller caller(model, options.seed);
  caller.ms_of({{1}});  // packs the weights
  const Timed times = timed(caller, calls, options.quiet || options.json);
  Json json = report(options, lengths, calls, times);
  const Session::MemoryStats memory = caller.session().memory_stats();
  json["weights_bytes"] = memory.weights_bytes;
  json["arena_bytes"] = memory.arena_bytes;
  json["plan_bytes"] = memory.plan_bytes;
  json["plans"] = memory.plans;
  json["idle_rss_bytes"] = idle;
  json["peak_rss_bytes"] = std::max(idle, peak_resident_bytes());
  out += options.json ? dump(json) : to_text(json);
  return kGood;
}

}  // namespace colonnade::cli
