// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#ifdef COLONNADE_SERVER
#include "serve.hpp"
#endif
#include "text.hpp"

namespace colonnade::cli {
namespace {

constexpr const char* kDescription =
    "Colonnade runs ONNX models on CPUs by tensor columns: depth-wise through many layers, in cache.";
constexpr const char* kFooter =
    "Exit status: 0 good; 1 the run or the check failed; 2 wrong use; 3 the model or an input is invalid; 4 not "
    "supported.\n"
    "'colonnade COMMAND --help' explains a command and shows examples.";

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return kWrongUse;
    case ErrorCode::invalid_model:
    case ErrorCode::invalid_input: return kInvalidModelOrInput;
    case ErrorCode::unsupported: return kUnsupported;
    case ErrorCode::resource_limit:
    case ErrorCode::io:
    case ErrorCode::internal:
    case ErrorCode::cancelled:
    case ErrorCode::deadline: return kFailed;
  }
  return kFailed;
}

int complain(int status, std::string_view message) {
  const std::string line = fmt::format("colonnade: error: {}\n", one_line(message));
  std::fputs(line.c_str(), stderr);
  return status;
}

/// A reader that went away (EPIPE) has seen what it wanted; any other failure is one.
int write_out(const std::string& out, int status) {
  errno = 0;
  const bool written = std::fwrite(out.data(), 1, out.size(), stdout) == out.size() && std::fflush(stdout) == 0;
  if (written || errno == EPIPE) return status;
  return complain(kFailed, fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

int obey(const std::function<int(std::string&)>& command) {
  std::string out;
  int status = kFailed;
  try {
    status = command(out);
  } catch (const Error& error) {
    write_out(out, kGood);
    return complain(status_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return complain(kFailed, "out of memory");
  } catch (const std::exception& error) {
    return complain(kFailed, error.what());
  }
  return write_out(out, status);
}

int show_parse_result(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() != 0) return complain(kWrongUse, error.what());
  std::string out;
  if (error.get_name() == "CallForVersion") {
    out = std::string(error.what()) + "\n";
  } else {
    out = app.help();
  }
  return write_out(out, kGood);
}

/// Letters to insert, remove, replace or swap with their neighbour that make one word of another.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({last[j] + 1, next[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before = std::exchange(last, next);
  }
  return last.back();
}

/// What is wrong with a word that is no command; "" for one that is, and for options.
std::string unknown_command(const CLI::App& app, std::string_view word) {
  if (word.starts_with('-')) return "";
#ifndef COLONNADE_SERVER
  if (word == "serve") return "this command was built without its server; './dev build' adds it";
#endif
  constexpr std::size_t kSimilar = 2;
  std::string nearest, all;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    const std::string& name = sub->get_name();
    if (word == name) return "";
    all += (all.empty() ? "" : ", ") + name;
    if (distance(word, name) <= kSimilar && (nearest.empty() || distance(word, name) < distance(word, nearest)))
      nearest = name;
  }
  return fmt::format("there is no command '{}'; {}", word,
                     nearest.empty() ? "there are: " + all : fmt::format("did you mean '{}'?", nearest));
}

/// What each command is told.
struct AllOptions {
  BenchOptions bench;
  RunOptions run;
  ExplainOptions explain;
  CheckOptions check;
  MachineOptions machine;
  QuantizeOptions quantize;
  OptimizeOptions optimize;
  SimulateArguments simulate;
};

int run(int argc, char** argv) {
  CLI::App app(kDescription, "colonnade");
  app.footer(kFooter);
  app.require_subcommand(1);
  const std::string version_line = fmt::format("colonnade {}", version());
  app.set_version_flag("--version", version_line, "Print the version");
  std::function<int(std::string&)> command;
  const auto add = [&](const char* name, const char* description, auto& options) {
    CLI::App* sub = app.add_subcommand(name, description);
    add_arguments(*sub, options);
    sub->callback([&command, &options] { command = [&options](std::string& out) { return execute(options, out); }; });
  };
  AllOptions told;
  add("bench", "Measure latency, throughput, memory and where the time goes", told.bench);
  add("run", "Run a model on files and write its outputs", told.run);
  add("explain", "Show how a model is cut into segments and columns", told.explain);
  add("check", "Compare the engine with the reference evaluation or with given outputs", told.check);
  add("machine", "Describe this machine, measure its rates and keep them for plans made from then on", told.machine);
  add("quantize", "Write a model with weights and activations of bytes, calibrated with samples", told.quantize);
  add("optimize", "Write a model with what can be computed beforehand computed, and folded", told.optimize);
  add("simulate", "Predict a model's time on this machine or another, by threads, and what bounds it", told.simulate);
#ifdef COLONNADE_SERVER
  ServeArguments serve;
  add("serve", "Answer requests for inference over HTTP and gRPC (Open Inference Protocol)", serve);
#endif
  app.add_subcommand("version", "Print the version")->callback([&] {
    command = [&](std::string& out) { return out = version_line + "\n", kGood; };
  });
  if (const std::string wrong = unknown_command(app, argc > 1 ? argv[1] : "-"); !wrong.empty())
    return complain(kWrongUse, wrong);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return show_parse_result(app, error);
  }
  return obey(command);
}

}  // namespace
}  // namespace colonnade::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return colonnade::cli::run(argc, argv);
  } catch (const std::exception& error) {
    return colonnade::cli::complain(colonnade::cli::kFailed, error.what());
  }
}
