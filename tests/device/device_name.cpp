#include "rill/device/device_name.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rill {
namespace {

device_name read(std::string_view text) { return device_name::parse(text); }

std::string refusal(std::string_view text) {
  try {
    auto const made = read(text);
    ADD_FAILURE() << "'" << text << "' was read as " << made.text();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::invalid_argument);
    EXPECT_NE(e.message().find("'" + std::string(text) + "' is no device's name"), std::string::npos) << e.message();
    return e.message();
  }
  return {};
}

TEST(device_name, reads_a_full_name_as_the_white_paper_writes_it) {
  auto const n = read("/job:worker/task:17/device:gpu:3");
  EXPECT_EQ(n, (device_name{"worker", 17, "gpu", 3}));
  EXPECT_EQ(n.text(), "/job:worker/task:17/device:gpu:3");
}

TEST(device_name, reads_partial_names_in_any_order) {
  EXPECT_EQ(read("/job:ps"), (device_name{.job = "ps"}));
  EXPECT_EQ(read("/task:2"), (device_name{.task = 2}));
  EXPECT_EQ(read("/device:gpu"), (device_name{.type = "gpu"}));
  EXPECT_EQ(read("/device:cpu:0/job:ps"), (device_name{.job = "ps", .type = "cpu", .index = 0}));
  EXPECT_EQ(read("/device:cpu:0/job:ps").text(), "/job:ps/device:cpu:0");
  EXPECT_EQ(read("/job:my-ps_2").job, "my-ps_2");
}

TEST(device_name, reads_the_short_form_of_a_device_of_any_process) {
  EXPECT_EQ(read("gpu:3"), read("/device:gpu:3"));
  EXPECT_EQ(read("accelerator:0").text(), "/device:accelerator:0");
  EXPECT_EQ(read("cpu"), read("/device:cpu"));
}

TEST(device_name, takes_a_star_for_what_is_open) {
  EXPECT_EQ(read("/job:*/task:*/device:gpu:*"), read("/device:gpu"));
  EXPECT_TRUE(read("/device:*").empty());
  EXPECT_TRUE(read("/device:*:*").empty());
  EXPECT_TRUE(read("").empty());
  EXPECT_EQ(read("").text(), "");
}

TEST(device_name, takes_large_letters_in_types_and_tells_jobs_apart_by_them) {
  EXPECT_EQ(read("/device:GPU:0"), read("/device:gpu:0"));
  EXPECT_EQ(read("/device:GPU:0").text(), "/device:gpu:0");
  EXPECT_NE(read("/job:Worker"), read("/job:worker"));
}

TEST(device_name, says_why_a_text_is_none) {
  EXPECT_NE(refusal("/job").find("':' before its value"), std::string::npos);
  EXPECT_NE(refusal("/job:").find("a job has a name of letters"), std::string::npos);
  EXPECT_NE(refusal("/job:7up").find("a job has a name of letters"), std::string::npos);
  EXPECT_NE(refusal("/job:a b").find("a job has a name of letters"), std::string::npos);
  EXPECT_NE(refusal("/replica:0").find("each part begins with /job:, /task: or /device:"), std::string::npos);
  EXPECT_NE(refusal("/").find("each part begins with"), std::string::npos);
  EXPECT_NE(refusal("/job:a//task:1").find("each part begins with"), std::string::npos);
  EXPECT_NE(refusal("/job:a/").find("each part begins with"), std::string::npos);
  EXPECT_NE(refusal("/gpu:0").find("each part begins with"), std::string::npos);
  EXPECT_NE(refusal("/task:one").find("one to nine digits"), std::string::npos);
  EXPECT_NE(refusal("/task:-1").find("one to nine digits"), std::string::npos);
  EXPECT_NE(refusal("/task:1234567890").find("one to nine digits"), std::string::npos);
  EXPECT_NE(refusal("/task:1/task:1").find("a part stands twice"), std::string::npos);
  EXPECT_NE(refusal("/device:cpu/device:*").find("a part stands twice"), std::string::npos);
  EXPECT_NE(refusal("/device:").find("a device's type has letters"), std::string::npos);
  EXPECT_NE(refusal("/device:gpu:").find("one to nine digits"), std::string::npos);
  EXPECT_NE(refusal("/device:gpu:0:1").find("one to nine digits"), std::string::npos);
  EXPECT_NE(refusal("/device:*:1").find("needs a type"), std::string::npos);
  EXPECT_NE(refusal(":0").find("a device's type has letters"), std::string::npos);
  EXPECT_NE(refusal("gpu 0").find("a device's type has letters"), std::string::npos);
  EXPECT_NE(refusal("job:ps").find("one to nine digits"), std::string::npos);
}

TEST(device_name, matches_where_no_named_field_differs) {
  auto const full = read("/job:worker/task:1/device:gpu:2");
  for (auto const* partial :
       {"", "/job:worker", "/task:1", "gpu", "gpu:2", "/task:1/device:gpu:2", "/job:worker/task:1/device:gpu:2"})
    EXPECT_TRUE(matches(read(partial), full)) << partial;
  for (auto const* other : {"/job:ps", "/task:2", "cpu", "gpu:1", "/job:worker/task:0"})
    EXPECT_FALSE(matches(read(other), full)) << other;
  EXPECT_FALSE(matches(read("/job:worker"), read("/device:cpu:0")));
}

TEST(device_name, inherits_from_around_it_what_it_leaves_open) {
  auto const within = [](char const* outer, char const* inner) { return nested(read(outer), read(inner)).text(); };
  EXPECT_EQ(within("/job:worker/task:1", "gpu:0"), "/job:worker/task:1/device:gpu:0");
  EXPECT_EQ(within("/job:worker/task:1/device:gpu:0", "gpu:1"), "/job:worker/task:1/device:gpu:1");
  EXPECT_EQ(within("/device:gpu:3", "/task:2"), "/task:2/device:gpu:3");
  EXPECT_EQ(within("/device:gpu:3", "gpu"), "/device:gpu:3");
  EXPECT_EQ(within("/device:gpu:3", "cpu"), "/device:cpu");
  EXPECT_EQ(within("/job:worker/task:3", "/job:ps"), "/job:ps");
  EXPECT_EQ(within("/job:worker/task:3", "/job:worker"), "/job:worker/task:3");
}

TEST(device_name, is_ordered_by_job_task_type_and_index) {
  std::vector<device_name> const sorted{read(""),        read("cpu:0"),  read("cpu:1"),          read("gpu:0"),
                                        read("/task:0"), read("/job:a"), read("/job:a/task:10"), read("/job:b")};
  for (std::size_t i = 1; i < sorted.size(); ++i) EXPECT_LT(sorted[i - 1], sorted[i]) << sorted[i].text();
}

TEST(device_name, joins_names_that_can_mean_one_device) {
  auto const joined = [](char const* a, char const* b) { return common(read(a), read(b)); };
  EXPECT_EQ(joined("/job:ps", "gpu:0"), read("/job:ps/device:gpu:0"));
  EXPECT_EQ(joined("/job:ps/task:1", "/job:ps"), read("/job:ps/task:1"));
  EXPECT_EQ(joined("gpu", "gpu:3"), read("gpu:3"));
  EXPECT_EQ(joined("", "cpu:0"), read("cpu:0"));
  EXPECT_EQ(joined("gpu:0", "cpu"), std::nullopt);
  EXPECT_EQ(joined("gpu:0", "gpu:1"), std::nullopt);
  EXPECT_EQ(joined("/job:ps", "/job:worker/device:gpu:0"), std::nullopt);
}

}  // namespace
}  // namespace rill
