// Checkpoints of a cluster of servers.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/sentence.hpp"
#include "io/scratch.hpp"
#include "net/served.hpp"
#include "rill/io.hpp"
#include "rill/net.hpp"
#include "train/single_steps.hpp"

namespace rill {
namespace {

struct served_checkpoints : testing::Test {
  scratch place;
  test::served_cluster c{{{"ps", 2}, {"worker", 1}}, options()};

  server_options options() {
    auto made = test::served_cluster::with(test::quick());
    made.checkpoints = checkpoint_folder(place / "run");
    return made;
  }
};

using test::expect_same;
using test::trainer;

TEST_F(served_checkpoints, bring_back_the_variables_of_a_task_that_was_lost) {
  trainer a(c.at("/job:worker/task:0").target());
  a.begin();
  saver writes(a.n.g, place / "run", {.written_by = shard_writer::tasks});
  writes.save(a.s);
  a.run(3, 6);
  auto const undisturbed = a.n.variables(a.s);
  c.end(0);
  try {
    a.run(6, 7);
    ADD_FAILURE() << "a step needs no task that is lost";
  } catch (error const& e) {
    EXPECT_EQ(e.cause(), cause::lost) << e.what();
  }
  c.start(0);
  ASSERT_TRUE(writes.restore(a.s));
  a.run(3, 6);
  expect_same(a.n.variables(a.s), undisturbed);
}

TEST_F(served_checkpoints, are_written_for_tasks_and_not_for_clients) {
  trainer a(connect(c.address(0), test::quick()));
  a.s.run(initializer(a.n.g));
  auto const text = sentence([&] { saver(a.n.g, place / "run", {.written_by = shard_writer::tasks}).save(a.s); });
  EXPECT_NE(text.find("the operation 'snapshot' is not known here"), text.npos) << text;
  saver fetches(a.n.g, place / "run");
  fetches.save(a.s);
  auto const before = a.n.variables(a.s);
  a.run(0, 2);
  ASSERT_TRUE(fetches.restore(a.s));
  expect_same(a.n.variables(a.s), before);
}

}  // namespace
}  // namespace rill
