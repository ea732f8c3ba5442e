// SPDX-License-Identifier: Apache-2.0
// colonnade-fuzz MODE: seeded cases until the count or the time is over; resumable by --from.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "fuzz/supervise.hpp"

#if defined(COLONNADE_ASAN)
/// A single allocation beyond the limit fails as it does where memory is short; the sum ends the process.
extern "C" const char* __asan_default_options() {
  return "detect_leaks=1:allocator_may_return_null=1:max_allocation_size_mb=1024:hard_rss_limit_mb=3000";
}
#endif

namespace {

using colonnade::fuzz::Target;

constexpr std::size_t kMostCorpusBytes = 100'000;

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Target target_named(const std::string& name, const std::vector<std::string>& folders) {
#if defined(COLONNADE_SERVER)
  if (name == "http") return colonnade::fuzz::http_target();
  if (name == "shared") return colonnade::fuzz::shared_target();
  if (name == "grpc") return colonnade::fuzz::grpc_target();
  if (name == "config") return colonnade::fuzz::config_target();
#endif
  if (name == "graph") return colonnade::fuzz::graph_target();
  auto corpus = colonnade::fuzz::read_corpus(folders, kMostCorpusBytes);
  if (name == "compiled") return compiled_target(corpus);
  return name == "model" ? model_target(std::move(corpus)) : tensor_target(std::move(corpus));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Checks seeded cases: models, graphs, tensor and compiled files, requests, configurations.");
  std::string mode;
  std::vector<std::string> folders, files;
  colonnade::fuzz::Campaign campaign;
  campaign.failures = "fuzz-failures";
  app.add_option("mode", mode, "model, graph, tensor, compiled, http, shared, grpc or config")
      ->required()
      ->check(CLI::IsMember({"model", "graph", "tensor", "compiled", "http", "shared", "grpc", "config"}));
  app.add_option("--seed", campaign.seed, "which sequence of cases");
  app.add_option("--from", campaign.from, "index of the first case");
  app.add_option("--count", campaign.count, "number of cases");
  app.add_option("--seconds", campaign.seconds, "stop after this time");
  app.add_option("--corpus", folders, "folder of models and tensor files; may be given several times");
  app.add_option("--failures", campaign.failures, "folder for the bytes of failing cases");
  app.add_option("--replay", files, "check these files in this process instead");
  CLI11_PARSE(app, argc, argv);
  try {
    const Target target = target_named(mode, folders);
    for (const std::string& file : files) target.check(contents(file));
    if (!files.empty()) return 0;
    if (campaign.count == 0 && campaign.seconds == 0) campaign.count = 1000;
    return colonnade::fuzz::supervise(target, campaign) > 0 ? 1 : 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "colonnade-fuzz: %s\n", error.what());
    return 2;
  }
}
