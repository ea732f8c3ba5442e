// SPDX-License-Identifier: Apache-2.0
// `colonnade serve` as a process of its own.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "http_client.hpp"

extern char** environ;

namespace colonnade::test {

/// `colonnade serve` on free ports, and its log.
class ServerProcess {
 public:
  explicit ServerProcess(std::vector<std::string> arguments, int port = 0) {
    std::vector<std::string> words = {COLONNADE_CLI, "serve", "--http-port",    std::to_string(port),
                                      "--grpc-port", "0",     "--http-address", "127.0.0.1"};
    if (std::find(arguments.begin(), arguments.end(), "--metrics-port") == arguments.end())
      arguments.insert(arguments.end(), {"--metrics-port", "-1"});
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    std::array<int, 2> pipe{};
    EXPECT_EQ(pipe2(pipe.data(), O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe[1], STDERR_FILENO);
    EXPECT_EQ(posix_spawn(&process_, COLONNADE_CLI, &actions, nullptr, pointers.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe[1]);
    log_ = fdopen(pipe[0], "r");
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess() {
    if (process_ > 0) {
      kill(SIGKILL);
      wait();
    }
    fclose(log_);
  }

  /// The next line of the log; "" at its end.
  std::string line() {
    std::string text;
    for (int c = std::fgetc(log_); c != EOF && c != '\n'; c = std::fgetc(log_)) text += static_cast<char>(c);
    return text;
  }

  /// The next line about this event.
  nlohmann::json event(const std::string& name) {
    for (std::string text = line(); !text.empty(); text = line()) {
      auto parsed = nlohmann::json::parse(text, nullptr, false);
      if (parsed.is_object() && parsed.value("event", "") == name) return parsed;
    }
    return nullptr;
  }

  int http_port() {
    const auto first = nlohmann::json::parse(line(), nullptr, false);
    if (!first.is_object() || first.value("event", "") != "listening") return -1;
    const std::string address = first["http"];
    return std::stoi(address.substr(address.rfind(':') + 1));
  }

  void kill(int signal) const { ::kill(process_, signal); }

  /// Lets it open only so many descriptors beyond those it has.
  void limit_descriptors(rlim_t more) const {
    const std::filesystem::directory_iterator open("/proc/" + std::to_string(process_) + "/fd");
    const rlim_t most = static_cast<rlim_t>(std::distance(begin(open), end(open))) + more;
    const rlimit limit{most, most};
    EXPECT_EQ(::prlimit(process_, RLIMIT_NOFILE, &limit, nullptr), 0);
  }

  pid_t process() const { return process_; }

  /// Exit status; 128 + signal when killed.
  int wait() {
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t process_ = -1;
  FILE* log_ = nullptr;
};

inline void wait_until_ready(int port) {
  Client client(port);
  for (int i = 0; i < 3000 && client.ask("GET", "/v2/health/ready").status != 200; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

}  // namespace colonnade::test
