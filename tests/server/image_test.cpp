// SPDX-License-Identifier: Apache-2.0
// What images cost the server, however many pixels their few bytes promise: memory and time of its process.
#include <fstream>
#include <optional>
#include <sstream>

#include "echo_models.hpp"
#include "server_process.hpp"
#include "support/image_files.hpp"

namespace colonnade::test {
namespace {

#if defined(COLONNADE_ASAN) || defined(COLONNADE_TSAN)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr double kMebibyte = 1 << 20;

struct Cost {
  Answer answer;
  double seconds = 0;    ///< of processors
  double mebibytes = 0;  ///< that the largest size of the process grew by
};

class ServerImages : public ::testing::Test {
 protected:
  void SetUp() override {
    repository_.add("echo", echo_model({{"x", DType::f32, {1, 3, 224, 224}}}));
    repository_.add("open", echo_model({{"x", DType::f32, {-1, 3, -1, -1}}}));
    server_.emplace(std::vector<std::string>{repository_.path()});
    port_ = server_->http_port();
    ASSERT_GT(port_, 0);
    wait_until_ready(port_);
    ASSERT_EQ(ask(png_of(checkered(300, 200))).answer.status, 200);
  }

  Cost ask(const std::string& image, const std::string& model = "echo") {
    const double seconds = processor_seconds(), largest = largest_mebibytes();
    Answer answer = Client(port_).ask("POST", "/v2/models/" + model + "/infer", image, "Content-Type: image/png\r\n");
    return {std::move(answer), processor_seconds() - seconds, largest_mebibytes() - largest};
  }

  static void expect_cost(const Cost& cost, double seconds, double mebibytes) {
    if (kSanitized) return;
    EXPECT_LT(cost.seconds, seconds);
    EXPECT_LT(cost.mebibytes, mebibytes);
  }

 private:
  std::ifstream process_file(const std::string& name) const {
    return std::ifstream("/proc/" + std::to_string(server_->process()) + "/" + name);
  }
  double processor_seconds() const {
    std::ifstream file = process_file("stat");
    std::string line;
    std::getline(file, line);
    std::istringstream fields(line.substr(line.rfind(')') + 2));
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    double user = 0, system = 0;
    fields >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  double largest_mebibytes() const {
    std::ifstream file = process_file("status");
    for (std::string word; file >> word;) {
      double kibibytes = 0;
      if (word == "VmHWM:" && file >> kibibytes) return kibibytes * 1024 / kMebibyte;
    }
    ADD_FAILURE() << "no VmHWM";
    return 0;
  }

  Repository repository_;
  std::optional<ServerProcess> server_;
  int port_ = -1;
};

TEST_F(ServerImages, ColumnsAndLinesOfAMillionPixelsTakeAFewRows) {
  for (const auto& [width, height] : {std::pair{1, 1000000}, {1000000, 1}, {8, 1000000}, {1000000, 8}}) {
    SCOPED_TRACE(std::to_string(width) + " x " + std::to_string(height));
    const std::string image = black_png(width, height);
    EXPECT_LT(image.size(), 16384u);
    const Cost cost = ask(image);
    EXPECT_EQ(cost.answer.status, 200) << cost.answer.body.substr(0, 300);
    expect_cost(cost, 3, 80);
  }
}

TEST_F(ServerImages, LargeImagesAreScaledAsTheyAreRead) {
  const Cost cost = ask(black_png(4000, 4000));
  EXPECT_EQ(cost.answer.status, 200) << cost.answer.body.substr(0, 300);
  expect_cost(cost, 4, 24);
}

TEST_F(ServerImages, InterlacedOnesAreHeldOnce) {
  const Cost cost = ask(black_png(4000, 4000, true));
  EXPECT_EQ(cost.answer.status, 200) << cost.answer.body.substr(0, 300);
  expect_cost(cost, 6, 3 * 16e6 / kMebibyte + 24);
}

TEST_F(ServerImages, WhatIsTooLargeIsRefusedAtOnce) {
  const std::string small = png_of(checkered(9, 5));
  const std::pair<std::string, std::string> cases[] = {
      {black_png(5000, 5000), "5000 x 5000 pixels are more than the limit of 16777216"},
      {with_size(small, 4000, 4000), "4000 x 4000 pixels cannot be in"},
      {with_size(small, 1000000, 1000000), "1000000 x 1000000 pixels are more than the limit"},
      {with_size(small, 0x7fffffff, 1), "2147483647 x 1 pixels are more than the limit"},
  };
  for (const auto& [image, part] : cases) {
    const Cost cost = ask(image);
    EXPECT_EQ(cost.answer.status, 400);
    EXPECT_NE(cost.answer.error().find(part), std::string::npos) << cost.answer.error();
    expect_cost(cost, 0.5, 8);
  }
}

TEST_F(ServerImages, AnOpenInputIsNoLargerThanABody) {
  {
    const Cost small = ask(black_png(40, 30), "open");
    EXPECT_EQ(small.answer.status, 200) << small.answer.body.substr(0, 300);
  }
  const Cost cost = ask(black_png(2400, 2400), "open");
  EXPECT_EQ(cost.answer.status, 400);
  EXPECT_EQ(cost.answer.error(), "input 'x' of 2400 x 2400 pixels takes 69120000 bytes, limit 67108864");
}

}  // namespace
}  // namespace colonnade::test
