// Steps over a network that is slow, stands still for a while, or ends in the middle of a frame.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/limit.hpp"
#include "base/sentence.hpp"
#include "net/proxy.hpp"
#include "net/recipes.hpp"

namespace rill {
namespace {

using namespace std::chrono_literals;

// A worker that reaches ps by a bad road. What ps sends of itself goes another way.
class bad_network : public testing::Test {
 public:
  test::socket_folder folder;
  std::string worker = folder.socket("worker"), ps = folder.socket("ps");
  server there{cluster::parse("worker=" + worker + " ps=" + ps, "ps:0"), test::recipe_options()};
  test::proxy road{folder.socket("road"), ps};
  server here{cluster::parse("worker=" + worker + " ps=" + folder.socket("road"), "worker:0"), test::recipe_options()};

  // Sends 400 kB there and back.
  graph g;
  expr<of<float, unknown>> x = placeholder<float, unknown>(g, "x");
  expr<of<float, unknown>> y = g.on("/job:worker", [&] { return g.on("/job:ps", [&] { return x * 2.f; }) + 1.f; });
  session s{g, here.target()};

  void run() {
    std::vector<float> numbers(100000);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 1000);
    auto const result = s.run({{x, tensor::adopt(numbers, shape{100000})}}, y);
    for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(result.values()[i], numbers[i] * 2 + 1) << i;
  }
  // A step that meets the end of the connections before fails, and the next one need not.
  void run_once_it_is_back() {
    for (bool lost = true; lost;) try {
        run();
        lost = false;
      } catch (error const& e) {
        ASSERT_EQ(e.code(), code::unavailable) << e.what();
        ASSERT_EQ(e.cause(), cause::lost) << e.what();
      }
  }
};

TEST_F(bad_network, that_is_slow_changes_no_bit) {
  run();
  road.delay(2ms);
  run();
}

TEST_F(bad_network, that_stands_still_for_a_while_changes_no_bit) {
  run();
  road.stall();
  std::thread goes_on([&] {
    std::this_thread::sleep_for(700ms);
    road.stall(false);
  });
  run();
  goes_on.join();
}

TEST_F(bad_network, that_drops_what_is_sent_fails_the_step_and_nothing_else) {
  test::allow(120);  // silence lasts for 30 s
  run();
  road.drop();
  auto const text = sentence([&] { run(); });
  EXPECT_NE(text.find("unavailable"), std::string::npos) << text;
  EXPECT_NE(text.find("/job:ps/task:0"), std::string::npos) << text;
  // Both sides find the other silent; one hangs up first.
  EXPECT_TRUE(text.find("nothing was heard") != std::string::npos ||
              text.find("closed by the other side") != std::string::npos)
      << text;
  road.drop(false);
  road.cut();  // what is left of the streams begins in the middle of a frame
  run_once_it_is_back();
}

TEST_F(bad_network, that_ends_within_a_frame_fails_the_step_and_nothing_else) {
  run();
  std::mt19937 draw(3);
  int lost = 0;
  for (int i = 0; i < 40; ++i) {
    road.cut_after(std::uniform_int_distribution<std::size_t>(1, 900000)(draw));
    try {
      run();
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::unavailable) << e.what();
      EXPECT_NE(e.message().find("/job:ps/task:0"), std::string::npos) << e.what();
      ++lost;
    }
  }
  EXPECT_GT(lost, 0);
  road.cut_after(SIZE_MAX);
  run_once_it_is_back();
}

}  // namespace
}  // namespace rill
