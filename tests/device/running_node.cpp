#include "rill/device/running_node.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "rill/device/step_progress.hpp"

namespace rill::detail {
namespace {

std::vector<std::string> nodes_of(step_progress const& p) {
  std::vector<std::string> names;
  running_node::for_each([&](running_node::seen const& n) {
    if (n.of == &p) names.push_back(n.name);
  });
  return names;
}

TEST(running_node, is_seen_while_it_runs) {
  step_progress const p("a step");
  {
    running_node::scope const outer(&p, "outer");
    {
      running_node::scope const inner(&p, std::string(100, 'x'));
      EXPECT_EQ(nodes_of(p), std::vector<std::string>{std::string(63, 'x')}) << "names are cut";
    }
    EXPECT_TRUE(nodes_of(p).empty()) << "the innermost alone";
  }
}

TEST(running_node, is_never_seen_half_written) {
  step_progress const p("a step");
  std::atomic<bool> over = false;
  std::string const names[] = {std::string(60, 'a'), std::string(60, 'b')};
  std::thread runs([&] {
    for (int i = 0; !over; ++i) running_node::scope const now(&p, names[i % 2]);
  });
  for (int i = 0; i < 20000; ++i)
    for (auto const& name : nodes_of(p)) EXPECT_TRUE(name == names[0] || name == names[1]) << name;
  over = true;
  runs.join();
}

}  // namespace
}  // namespace rill::detail
