// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/profile.hpp"

#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "frontends/onnxruntime/devices.hpp"
#include "frontends/onnxruntime/status.hpp"

namespace colonnade::ort {
namespace {

long this_thread() { return static_cast<long>(gettid()); }

}  // namespace

Profile::Profile(std::uint64_t start_ns, std::string prefix, bool is_file)
    : start_ns_(start_ns),
      prefix_(std::move(prefix)),
      events_(std::make_unique<nlohmann::json>(nlohmann::json::array())) {
  add("Session", is_file ? "model_loading_uri" : "model_loading_array", 0, now(), this_thread());
  add("Session", "session_initialization", 0, now(), this_thread());
}

Profile::~Profile() = default;

double Profile::now() const {
  const auto ns = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  return static_cast<double>(static_cast<std::uint64_t>(ns) - start_ns_) / 1000;
}

void Profile::add(const char* kind, const std::string& name, double begin, double end, long thread,
                  const std::map<std::string, std::string>& arguments) {
  events_->push_back({{"cat", kind},
                      {"pid", getpid()},
                      {"tid", thread},
                      {"dur", end - begin},
                      {"ts", begin},
                      {"ph", "X"},
                      {"name", name},
                      {"args", arguments}});
}

void Profile::add_nodes(const std::string& trace, double begin) {
  const nlohmann::json parsed = nlohmann::json::parse(trace);
  for (const auto& event : parsed.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const std::string name = event.at("name");
    const double at = begin + event.at("ts").get<double>();
    const int index = nodes_.try_emplace(name, static_cast<int>(nodes_.size())).first->second;
    std::map<std::string, std::string> arguments = {
        {"op_name", event.at("cat")}, {"provider", kProvider}, {"node_index", std::to_string(index)}};
    if (event.contains("args"))
      for (const auto& [key, value] : event.at("args").items())
        arguments[key] = value.is_string() ? value.get<std::string>() : value.dump();
    add("Node", name + "_kernel_time", at, at + event.at("dur").get<double>(),
        this_thread() + event.at("tid").get<long>(), arguments);
  }
}

void Profile::run(Session& session, const std::function<void()>& work) {
  const std::scoped_lock lock(mutex_);
  if (is_over_) return work();
  session.set_profiling(true);
  const double begin = now();
  work();
  const double end = now();
  add_nodes(session.trace(), begin);
  add("Session", "SequentialExecutor::Execute", begin, end, this_thread());
  add("Session", "model_run", begin, end, this_thread());
  session.set_profiling(false);
}

std::string Profile::finish() {
  const std::scoped_lock lock(mutex_);
  if (is_over_) return "";
  const std::time_t seconds = std::time(nullptr);
  std::tm parts = {};
  localtime_r(&seconds, &parts);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y-%m-%d_%H-%M-%S", &parts);
  const std::string path = prefix_ + "_" + stamp + ".json";
  std::ofstream file(path);
  file << *events_;
  if (!file.flush()) throw Failure(ORT_FAIL, "profile '" + path + "' cannot be written");
  is_over_ = true;
  events_ = std::make_unique<nlohmann::json>();
  return path;
}

}  // namespace colonnade::ort
