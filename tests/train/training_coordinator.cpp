#include "rill/train/training_coordinator.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/sentence.hpp"
#include "rill/io.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using detail::training_coordinator;
using detail::training_status;

TEST(training_coordinator, has_the_chiefs_status_and_the_marks_of_all_workers) {
  local_cluster const all({{"ps", 1}, {"worker", 2}}, [](device_name const&) { return task_options{.threads = 1}; });
  training_coordinator chief(all.target("/job:worker/task:0"), "t"), other(all.target("/job:worker/task:1"), "t");
  EXPECT_EQ(other.worker(), 1);
  EXPECT_EQ(other.workers(), 2);
  EXPECT_EQ(other.name_of(0), "/job:worker/task:0");
  EXPECT_FALSE(other.status());
  chief.reset();
  EXPECT_EQ(other.status()->generation, 0);
  chief.announce({7, training_status::phase::running, 5, {1, 32}, 4, 3, 2});
  auto const s = other.status();
  EXPECT_TRUE(s->generation == 7 && s->now == training_status::phase::running && s->steps == 5);
  EXPECT_TRUE(s->position == (batch_position{1, 32}) && s->draws == 4 && s->first_draw == 3 && s->ended == 2);
  EXPECT_FALSE(s->is_over());
  other.set(training_coordinator::done, 7);
  auto const marks = chief.all();
  EXPECT_EQ(marks[training_coordinator::done], (std::vector<std::int64_t>{0, 7}));
  EXPECT_EQ(marks[training_coordinator::joined], (std::vector<std::int64_t>{0, 0}));
  other.fail(error(code::data_loss, "a torn file", "a node"), 7);
  EXPECT_EQ(chief.all()[training_coordinator::failed], (std::vector<std::int64_t>{0, 7}));
  EXPECT_EQ(std::string(chief.reason_of(1).what()), "data_loss: node 'a node': a torn file");
  chief.announce_failure(*s, chief.reason_of(1));
  EXPECT_TRUE(other.status()->is_over());
  EXPECT_EQ(std::string(other.reason().what()), "data_loss: node 'a node': a torn file");
}

TEST(training_coordinator, begins_a_generation_on_a_task) {
  local_cluster const all({{"ps", 1}, {"worker", 1}}, [](device_name const&) { return task_options{.threads = 1}; });
  training_coordinator chief(all.target("/job:worker/task:0"), "t");
  chief.begin_generation(1, 9);
  EXPECT_EQ(all.state("/job:ps/task:0").generation(), 9);
  EXPECT_EQ(all.state("/job:worker/task:0").generation(), 0);
  EXPECT_NE(sentence([&] { chief.begin_generation(0, 0); }).find("expected the number of a generation"),
            std::string::npos);
}

}  // namespace
}  // namespace rill
