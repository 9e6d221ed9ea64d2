// Checkpoints of a cluster of servers.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/sentence.hpp"
#include "io/scratch.hpp"
#include "net/served.hpp"
#include "rill/io.hpp"
#include "rill/net.hpp"
#include "train/workers.hpp"

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

// A network and a session that trains it.
struct trainer {
  test::network n;
  operation step = adam{.rate = 0.05f}.minimize(n.loss);
  session s;

  explicit trainer(target const& on) : s(n.g, on) {}
  void run(int from, int to) {
    for (int i = from; i < to; ++i) {
      auto const b = test::batch_of(0, i);
      s.run({{n.x, b.images}, {n.label, b.labels}}, n.loss, step);
    }
  }
};

TEST_F(served_checkpoints, bring_back_the_variables_of_a_task_that_was_lost) {
  trainer a(c.at("/job:worker/task:0").target());
  a.s.run(initializer(a.n.g));
  saver writes(a.n.g, place / "run", {.written_by = shard_writer::tasks});
  a.run(0, 3);
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
  auto const again = a.n.variables(a.s);
  for (std::size_t i = 0; i < again.size(); ++i) EXPECT_TRUE(same_bits(again[i], undisturbed[i])) << i;
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
  auto const after = a.n.variables(a.s);
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_TRUE(same_bits(after[i], before[i])) << i;
}

}  // namespace
}  // namespace rill
