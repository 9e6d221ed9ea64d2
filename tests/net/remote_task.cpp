// What a session asks tasks of other processes for.
#include "rill/net/remote_task.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/sentence.hpp"
#include "net/proxy.hpp"
#include "net/served.hpp"
#include "rill/net.hpp"

namespace rill {
namespace {

// A worker that reaches three ps tasks by roads that can be closed.
class remote_tasks : public testing::Test {
 public:
  remote_tasks() {
    std::string real, by_roads;
    for (int i = 0; i < 3; ++i) {
      auto const n = std::to_string(i);
      real += (i ? "," : "") + folder.socket("ps" + n);
      by_roads += (i ? "," : "") + folder.socket("road" + n);
      roads.push_back(std::make_unique<test::proxy>(folder.socket("road" + n), folder.socket("ps" + n)));
    }
    auto const worker = " worker=" + folder.socket("worker");
    auto const options = test::served_cluster::with(test::quick());
    for (int i = 0; i < 3; ++i)
      ps.push_back(std::make_unique<server>(cluster::parse("ps=" + real + worker, "ps:" + std::to_string(i)), options));
    here = std::make_unique<server>(cluster::parse("ps=" + by_roads + worker, "worker:0"), options);
    for (auto const& t : here->target().tasks)
      if (t->name().job == "ps") tasks.push_back(t);
  }
  void close_roads(bool on = true) {
    for (auto const& r : roads) r->stall(on);
  }

  test::socket_folder folder;
  std::vector<std::unique_ptr<test::proxy>> roads;
  std::vector<std::unique_ptr<server>> ps;
  std::unique_ptr<server> here;
  std::vector<std::shared_ptr<task>> tasks;
};

TEST_F(remote_tasks, are_asked_while_nothing_comes_back) {
  ASSERT_EQ(tasks.size(), 3u);
  close_roads();
  auto devices = detail::ask_all(tasks, [](auto const& t) { return t->ask_devices(); });
  close_roads(false);
  for (auto& d : devices) EXPECT_EQ(d.get().size(), 1u);
  close_roads();
  graph g;
  auto const y = constant(g, 1.f) + 2.f;
  auto values = detail::ask_all(tasks, [](auto const& t) { return t->ask_values({"v", "w"}); });
  auto shares = detail::ask_all(tasks, [&](auto const& t) {
    return t->ask_to_add(prune(g, {}, {y.endpoint()}, {}), {}, {.tasks = {t->name()}});
  });
  close_roads(false);
  for (auto& v : values) EXPECT_EQ(v.get(), std::vector<bool>(2));
  auto const compiled = detail::values_of_all(std::move(shares));
  close_roads();
  auto texts = detail::ask_all(compiled, [](auto const& s) { return s->ask_to_explain(stages::all); });
  close_roads(false);
  for (auto& t : texts) EXPECT_FALSE(t.get().empty());
}

TEST_F(remote_tasks, run_a_new_step_whatever_they_fail_with_before) {
  graph g;
  auto x = placeholder<float, 2>(g, "x");
  value y = x;
  for (int i = 0; i < 3; ++i) y = g.on("/job:ps/task:" + std::to_string(i), [&] { return y + x; });
  auto v = g.on("/job:ps/task:1", [&] { return variable<float, 2>(g, "v"); });
  session s{g, here->target()};
  EXPECT_EQ(refusal([&] { s.run({{x, vector<float>({1, 2})}}, y, v); }), code::failed_precondition);
  tensor const made = s.run({{x, vector<float>({1, 2})}}, y);
  EXPECT_TRUE(same_bits(made, vector<float>({4, 8})));
  EXPECT_NE(s.explain({}, v, stages::all).find("/job:ps/task:1"), std::string::npos);
}

}  // namespace
}  // namespace rill
