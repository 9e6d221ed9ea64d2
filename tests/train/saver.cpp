#include "rill/train/saver.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "base/limit.hpp"
#include "base/sentence.hpp"
#include "io/scratch.hpp"
#include "rill/device/emulated.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/fill.hpp"
#include "rill/ops/array/full.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/cond.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/control/function.hpp"
#include "rill/ops/control/while_loop.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/queues/queue.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/ops/sum/sum.hpp"
#include "rill/ops/table/gather.hpp"
#include "rill/train/dropout.hpp"
#include "rill/train/gradient_descent.hpp"
#include "rill/train/initializers.hpp"

namespace rill {
namespace {

// Three variables whose elements all equal one number, which each step increments.
struct model {
  graph g;
  std::vector<variable_value> variables;
  operation step;
  std::unique_ptr<session> s;

  explicit model(std::int64_t rows = 3, std::vector<std::string> const& names = {"a", "b", "c"}) {
    std::vector<operation> updates;
    for (auto const& name : names) {
      variables.push_back(variable(fill(constant(g, 0.0), {rows, 4}), name));
      updates.emplace_back(assign_add(variables.back(), fill(constant(g, 1.0), {rows, 4})));
    }
    step = group(g, updates);
    s = std::make_unique<session>(g, session_options{.threads = 1});
    s->run(initializer(g));
    s->set_steps(0);
  }
  void run(int steps = 1) {
    for (int i = 0; i < steps; ++i) s->run(step);
  }
  // Returns the number that all elements equal; -1 if they differ.
  double number() {
    double const first = s->run(variables[0]).at<double>(0, 0);
    for (auto const& v : variables) {
      tensor const t = s->run(v);
      for (auto x : t.span<double>())
        if (x != first) return -1;
    }
    return first;
  }
};

TEST(saver, restores_variables_steps_and_position) {
  scratch place;
  model a, b;
  a.run(5);
  saver saves(a.g, place / "run"), restores(b.g, place / "run");
  EXPECT_FALSE(restores.restore(*b.s));
  auto const saved = saves.save(*a.s, {3, 64}, 0.5);
  EXPECT_EQ(a.s->steps(), 5u) << "saving is not a step";
  auto const found = restores.restore(*b.s);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->index(), saved.index());
  EXPECT_EQ(found->position, (batch_position{3, 64}));
  EXPECT_EQ(found->metric, 0.5);
  EXPECT_EQ(b.s->steps(), 5u);
  EXPECT_EQ(b.number(), 5);
}

TEST(saver, splits_large_models_into_several_files) {
  scratch place;
  model a, b;
  a.run();
  saver saves(a.g, place / "run", {.shard_bytes = 100});
  auto const c = saves.save(*a.s);
  EXPECT_EQ(c.shards.at("c"), "checkpoint-000001-00003-of-00003.safetensors");
  EXPECT_TRUE(saver(b.g, place / "run").restore(*b.s)) << "a saver with other shards";
  EXPECT_EQ(b.number(), 1);
}

TEST(saver, keeps_the_last_and_the_best) {
  scratch place;
  model a;
  saver saves(a.g, place / "run", {.keep = 2, .better = better::higher});
  for (double metric : {0.1, 0.9, 0.3, 0.2, 0.4}) a.run(), saves.save(*a.s, {}, metric);
  std::vector<std::int64_t> numbers;
  for (auto const& c : saves.checkpoints()) numbers.push_back(c.number);
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{2, 4, 5}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place / "run"), {}), 6) << "two files each";
  saves.restore(*a.s, saves.best().value());
  EXPECT_EQ(a.number(), 2);
}

TEST(saver, lists_everything_that_does_not_fit_and_changes_nothing) {
  scratch place;
  model a(3, {"a", "b"}), b(3, {"a", "x", "b", "y"}), c(5, {"b", "a"});
  saver(a.g, place / "run").save(*a.s);
  b.run(2), c.run(2);
  saver other(b.g, place / "run"), larger(c.g, place / "run");
  auto const missing = sentence([&] { other.restore(*b.s); });
  EXPECT_TRUE(missing.starts_with("not_found: ")) << missing;
  EXPECT_NE(missing.find("has no tensor 'x', 'y'"), missing.npos) << missing;
  auto const misshaped = sentence([&] { larger.restore(*c.s); });
  EXPECT_TRUE(misshaped.starts_with("invalid_argument: ")) << misshaped;
  EXPECT_NE(misshaped.find("'b' (float64[3, 4] there, float64[5, 4] in the graph), 'a' ("), misshaped.npos)
      << misshaped;
  EXPECT_EQ(b.number(), 2);
  EXPECT_EQ(c.number(), 2);
}

TEST(saver, picks_and_renames_for_fine_tuning) {
  scratch place;
  model a(3, {"body", "head"}), b(3, {"trunk", "head"});
  a.run(7);
  saver(a.g, place / "run").save(*a.s);
  saver tuned(b.g, place / "run");
  tuned.restore(*b.s, [](std::string const& v) -> std::optional<std::string> {
    if (v == "head") return {};
    return "body";
  });
  EXPECT_EQ(b.s->run("trunk").at<double>(2, 3), 7);
  EXPECT_EQ(b.s->run("head").at<double>(2, 3), 0);
  EXPECT_NE(sentence([&] {
              tuned.restore(*b.s, [](std::string const& v) { return std::optional("old/" + v); });
            }).find("'old/trunk' (for 'trunk'), 'old/head' (for 'head')"),
            std::string::npos);
}

TEST(saver, refuses_damaged_files_and_changes_nothing) {
  scratch place;
  model a;
  saver saves(a.g, place / "run", {.shard_bytes = 1});
  auto const c = saves.save(*a.s);
  a.run();
  auto const flip = [](std::filesystem::path const& file, std::streamoff from_end) {
    std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
    f.seekg(-from_end, std::ios::end);
    char const byte = static_cast<char>(f.peek() ^ 1);
    f.seekp(-from_end, std::ios::end);
    f.put(byte);
  };
  flip(place / "run" / c.shards.at("c"), 1);
  EXPECT_EQ(refusal([&] { saves.restore(*a.s); }), code::data_loss);
  EXPECT_EQ(a.number(), 1);
  flip(c.index(), 20);
  EXPECT_EQ(refusal([&] { saves.restore(*a.s); }), code::data_loss);
  write_file(c.index(), "{}");
  EXPECT_EQ(refusal([&] { saves.restore(*a.s); }), code::data_loss);
  std::filesystem::remove(c.index());
  std::filesystem::remove(place / "run" / c.shards.at("b"));
  EXPECT_FALSE(saves.restore(*a.s));
}

TEST(saver, refuses_unsupported_variables_when_it_is_created) {
  scratch place;
  graph g;
  variable(constant(g, std::string("hello")), "words");
  auto const number = variable(constant(g, 1.f), "number");
  auto const said = sentence([&] { saver(g, place / "run"); });
  EXPECT_NE(said.find("safetensors files can't hold string: tensor 'words'"), std::string::npos) << said;
  saver picked(g, place / "run", {}, {number});
  session s(g);
  s.run(initializer(g));
  picked.save(s);
}

TEST(saver, refuses_variables_without_a_value) {
  scratch place;
  graph g;
  variable<float, 2>(g, "w");
  session s{g, {.threads = 1}};
  saver saves(g, place / "run");
  EXPECT_EQ(refusal([&] { saves.save(s); }), code::failed_precondition);
  EXPECT_TRUE(saves.checkpoints().empty());
}

// Checks that every checkpoint restores completely: all elements of all variables equal one number.
void expect_whole(std::filesystem::path const& place, std::size_t count) {
  model b(1000);
  saver restores(b.g, place);
  auto const all = restores.checkpoints();
  ASSERT_EQ(all.size(), count);
  std::set<double> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(all[i].number, static_cast<std::int64_t>(i) + 1) << "two checkpoints have one number";
    restores.restore(*b.s, all[i]);
    EXPECT_NE(b.number(), -1);
    numbers.insert(b.number());
  }
  EXPECT_EQ(numbers.size(), count) << "a checkpoint was overwritten";
}

constexpr int saved_by_each = 20;
void save_often(std::filesystem::path const& place, int first) {
  model a(1000);
  a.run(first);
  saver saves(a.g, place, {.keep = 1000, .shard_bytes = 40000});
  for (int i = 0; i < saved_by_each; ++i) a.run(), saves.save(*a.s);
}

TEST(saver, waits_for_another_process_that_saves_to_the_same_directory) {
  scratch place;
  std::vector<pid_t> children;
  for (int first : {0, 100, 200}) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    try {
      save_often(place / "run", first);
      ::_exit(0);
    } catch (...) {
      ::_exit(1);
    }
  }
  for (auto child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "saving failed";
  }
  expect_whole(place / "run", 3 * saved_by_each);
}

TEST(saver, waits_for_another_thread_that_saves_to_the_same_directory) {
  test::allow(300);
  scratch place;
  {
    std::vector<std::jthread> threads;
    for (int first : {0, 100, 200})
      threads.emplace_back([&place, first] { EXPECT_NO_THROW(save_often(place / "run", first)); });
  }
  expect_whole(place / "run", 3 * saved_by_each);
}

// A child that saves repeatedly until it is killed. If `bytes` is not 0, its files can't grow beyond that, so it dies
// within a write. It reports its first save.
struct saving_child {
  pid_t id = 0;
  int saved_once = -1;

  saving_child(model& m, saver& saves, rlim_t bytes) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    id = ::fork();
    if (id == 0) {
      try {
        m.run(), saves.save(*m.s);
        if (::write(ends[1], "1", 1) != 1) ::_exit(2);
        rlimit const most{bytes, bytes}, no_core{0, 0};
        ::setrlimit(RLIMIT_CORE, &no_core);
        if (bytes != 0) ::setrlimit(RLIMIT_FSIZE, &most);
        for (;;) m.run(), saves.save(*m.s);
      } catch (...) {
        ::_exit(1);
      }
    }
    ::close(ends[1]);
    saved_once = ends[0];
  }
  saving_child(saving_child const&) = delete;
  ~saving_child() { ::close(saved_once); }

  bool has_saved() const {
    char one;
    return ::read(saved_once, &one, 1) == 1;
  }
  // Whether a signal ended the child.
  bool was_killed() const {
    int status = 0;
    return ::waitpid(id, &status, 0) == id && WIFSIGNALED(status);
  }
};

// Half of the children are killed after some time. The others die within a write, at a byte that depends on the round,
// so that writes are truncated on every machine.
TEST(saver, leaves_a_whole_checkpoint_when_killed_at_any_moment) {
  test::allow(300);
  scratch place;
  model a(1000), b(1000);
  saver saves(a.g, place / "run", {.keep = 1, .shard_bytes = 70000}), restores(b.g, place / "run");
  a.run();
  std::minstd_rand random(1);
  double last = 0;
  int cut = 0;  // how often a write was truncated
  for (int i = 0; i < 200; ++i) {
    bool const within_write = i % 2 == 1;
    saving_child const child(a, saves, within_write ? 1 + random() % 32000 : 0);
    ASSERT_TRUE(child.has_saved()) << "round " << i;
    if (!within_write) {
      ::usleep(static_cast<useconds_t>(random() % 20000));
      ::kill(child.id, SIGKILL);
    }
    ASSERT_TRUE(child.was_killed()) << "saving failed in round " << i;
    ASSERT_TRUE(restores.restore(*b.s));
    ASSERT_GT(b.number(), last) << "round " << i;
    last = b.number();
    saves.restore(*a.s);
    if (within_write)
      for (auto const& file : std::filesystem::directory_iterator(place / "run"))
        cut += file.path().extension() == ".tmp";
  }
  EXPECT_GE(cut, 100) << "a write must be truncated in every second round";
  saves.save(*a.s);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place / "run"), {}), 3)
      << "files of a killed program remain";
}

TEST(saver, loses_nothing_on_a_full_disk) {
  scratch place;
  auto const disk = place / "disk";
  std::filesystem::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=390k") != 0)
    GTEST_SKIP() << "a small disk can't be mounted here: " << std::strerror(errno);
  struct unmount {
    std::filesystem::path at;
    ~unmount() { ::umount(at.c_str()); }
  } const guard{disk};
  model a(1000), b(1000);  // 96 kB per checkpoint
  saver saves(a.g, disk, {.keep = 9, .shard_bytes = 40000}), restores(b.g, disk);
  for (int i = 0; i < 3; ++i) a.run(), saves.save(*a.s);
  for (int i = 0; i < 3; ++i) {
    a.run();
    EXPECT_EQ(refusal([&] { saves.save(*a.s); }), code::resource_exhausted);
    EXPECT_EQ(a.s->steps(), 4u + static_cast<unsigned>(i));
    EXPECT_EQ(restores.restore(*b.s)->number, 3);
    EXPECT_EQ(b.number(), 3);
  }
  std::filesystem::remove(restores.checkpoints()[0].index());
  saves.save(*a.s);
  restores.restore(*b.s);
  EXPECT_EQ(b.number(), 6);
}

TEST(saver, treats_a_metric_that_is_not_finite_as_missing) {
  scratch place;
  model m;
  saver saves(m.g, place / "run", {.better = better::lower});
  saves.save(*m.s, {}, 2.0);
  for (double const lost : {std::nan(""), HUGE_VAL, -HUGE_VAL}) EXPECT_FALSE(saves.save(*m.s, {}, lost).metric);
  saves.save(*m.s, {}, 3.0);
  EXPECT_EQ(saves.best()->number, 1);
  EXPECT_EQ(saves.restore(*m.s)->number, 5);
}

TEST(saver, saves_beside_a_damaged_checkpoint) {
  scratch place;
  model m;
  saver saves(m.g, place / "run", {.keep = 3});
  saves.save(*m.s);
  auto const damaged = saves.save(*m.s).index();
  std::ofstream(damaged) << "{}";
  EXPECT_EQ(refusal([&] { saves.restore(*m.s); }), code::data_loss);
  for (int i = 0; i < 3; ++i) saves.save(*m.s);
  std::filesystem::remove(damaged);
  auto const all = saves.checkpoints();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].number, 3);
  EXPECT_EQ(all[2].number, 5);
  EXPECT_EQ(saves.restore(*m.s)->number, 5);
}

TEST(saver, names_a_directory_that_can_not_be_created) {
  model m;
  for (auto const* where : {"/dev/null", "/dev/null/below", ""})
    EXPECT_NO_THROW(refusal([&] { saver(m.g, where).save(*m.s); })) << where;  // a rill::error
}

TEST(saver, keeps_variables_that_are_not_trained) {
  scratch place;
  graph g;
  auto const average = variable(constant(g, 1.f), "average", {.trainable = false});
  saver all(g, place / "saved");
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  s.run(assign(average, constant(g, 5.f)));
  all.save(s);
  session other{g, {.threads = 1}};
  all.restore(other);
  EXPECT_EQ(float(other.run(average)), 5);
}

TEST(saver, counts_beside_a_file_with_the_last_number) {
  scratch place;
  model m;
  saver saves(m.g, place / "run");
  saves.save(*m.s);
  std::ofstream(place / "run" / "checkpoint-9223372036854775807.safetensors.index.json") << "{}";
  EXPECT_EQ(saves.save(*m.s).number, 2);
  EXPECT_EQ(saves.restore(*m.s)->number, 2);
}

// A served model: all elements of its variables equal one number, and a step reads all of them, in every way in which a
// step can read a variable.
struct served {
  graph g;
  std::vector<variable_expr<of<double, 2, 4>>> v;
  std::vector<value> seen;
  std::unique_ptr<session> s;

  explicit served(rill::execution execution) {
    for (int i = 0; i < 8; ++i) v.push_back(variable(fill<2, 4>(constant(g, 0.0)), "v" + std::to_string(i)));
    auto const row = [&](std::int64_t n) { return constant<std::int64_t, 1>(g, {n}); };
    seen.push_back(v[0]);
    seen.push_back(v[1] + 0.0);
    seen.push_back(gather(v[2], row(1)));
    seen.push_back(read(v[3]));
    seen.push_back(g.after({operation(v[0])}, [&] { return read(v[1]); }));
    seen.push_back(cond(placeholder<bool>(g, "p"), [&] { return v[4] + 0.0; }, [&] { return v[5] + 0.0; }));
    auto const [i, x, rows] =
        while_loop([](auto k, auto, auto) { return k < 3; },
                   [&](auto k, auto, auto) { return std::tuple{k + 1, read(v[7]) + 0.0, gather(v[6], row(0))}; },
                   constant(g, 0), v[7] + 0.0, gather(v[6], row(0)));
    seen.push_back(x), seen.push_back(rows);
    auto const more = function<"more", of<double>>(g, [&](auto a) { return v[5] + a; });
    seen.push_back(more(constant(g, 0.0)));
    s = std::make_unique<session>(g, session_options{.threads = 2, .execution = execution});
    s->run(initializer(g));
  }
  void set_all(double x) {
    for (auto const& each : v) {
      auto const at = s->state().variable(each.name(), each.type());
      at->update([&](tensor& t) { std::fill_n(t.mutable_data<double>(), t.elements(), x); });
    }
  }
  // Returns the number that all elements equal; -1 if they differ.
  static double number(std::vector<tensor> const& all) {
    double const first = all[0].at<double>(0, 0);
    for (auto const& t : all)
      for (auto x : t.span<double>())
        if (x != first) return -1;
    return first;
  }
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int steps_of_each = 1'000;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr int steps_of_each = 1'000;
#else
constexpr int steps_of_each = 25'000;
#endif
#else
constexpr int steps_of_each = 25'000;
#endif

// Four threads run 25,000 steps each, and each step reads variables ten times: a million reads. If the restoring thread
// gets no turn meanwhile, they run more.
TEST(saver, restores_all_variables_at_once_between_the_steps_of_threads_that_serve) {
  for (auto const execution : {execution::automatic, execution::tagged}) {
    scratch place;
    served m(execution);
    saver saves(m.g, place / "run");
    m.set_all(1);
    auto const one = saves.save(*m.s);
    m.set_all(2);
    auto const two = saves.save(*m.s);
    std::atomic<int> torn = 0, at_work = 4;
    std::atomic<int> of_one = 0, of_two = 0;
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
          std::vector<std::string> names;
          for (auto const& x : m.seen) names.push_back(x.name());
          int const wanted = steps_of_each / (execution == execution::tagged ? 10 : 1);
          for (int k = 0; k < wanted || (!(of_one && of_two) && std::chrono::steady_clock::now() < end); ++k) {
            auto const n = served::number(m.s->run({{"p", tensor(true)}}, names));
            torn += n == -1, of_one += n == 1, of_two += n == 2;
          }
          --at_work;
        });
      for (int i = 0; at_work > 0; ++i) saves.restore(*m.s, i % 2 == 0 ? one : two);
    }
    EXPECT_EQ(torn, 0);
    EXPECT_GT(of_one, 0);
    EXPECT_GT(of_two, 0);
  }
}

TEST(saver, restores_beside_a_waiting_step_which_keeps_its_old_model) {
  for (auto const execution : {execution::automatic, execution::sequential}) {
    scratch place;
    model m;
    auto const a = m.variables[0], b = m.variables[1], c = m.variables[2];
    auto const q = fifo_queue<of<double>>(m.g, {.capacity = 1});
    auto const go = q.dequeue();
    auto const late_b = m.g.after({go}, [&] { return read(b); });
    auto const update = m.g.after({go}, [&] { return assign_add(c, fill(go, {3, 4})); });
    auto const updated = m.g.after({update}, [&] { return read(c); });
    auto const enqueue = q.enqueue(constant(m.g, 100.0));
    m.s = std::make_unique<session>(m.g, session_options{.threads = 2, .execution = execution});
    m.s->run(initializer(m.g));
    m.run(1);
    saver saves(m.g, place / "run", {}, m.variables);
    auto const one = saves.save(*m.s);
    m.run(4);
    std::vector<tensor> seen;
    struct said final : observer {
      std::atomic<bool> began = false;
      void step_begins(std::uint64_t) override { began = true; }
      void node_ran(node_record const&) override {}
    } watch;
    auto const before = m.s->state().variable("a", m.variables[0].type())->read();
    std::jthread waits([&] {
      auto [x, y, z] = m.s->run(value(a), value(late_b), value(updated), observe(watch));
      seen = {x, y, z};
    });
    while (!watch.began) std::this_thread::yield();
    saves.restore(*m.s, one);
    EXPECT_EQ(m.number(), 1) << "restore does not wait for the step";
    EXPECT_FALSE(before.storage().unique()) << "the old model is still in memory";
    m.s->run(enqueue);
    waits.join();
    ASSERT_EQ(seen.size(), 3u);
    EXPECT_EQ(seen[0].at<double>(0, 0), 5);
    EXPECT_EQ(seen[1].at<double>(0, 0), 5);
    EXPECT_EQ(seen[2].at<double>(0, 0), 105) << "it sees its own updates";
    EXPECT_EQ(m.number(), 1) << "the new model does not have the update";
    seen.clear();
    EXPECT_TRUE(before.storage().unique()) << "the old model is released with the step";
  }
}

TEST(saver, repeats_no_step_of_a_session_that_trains_meanwhile) {
  scratch place;
  model m;
  saver saves(m.g, place / "run");
  struct numbers final : observer {
    std::mutex mutex;
    std::vector<std::uint64_t> all;
    void step_begins(std::uint64_t n) override {
      std::lock_guard lock(mutex);
      all.push_back(n);
    }
    void node_ran(node_record const&) override {}
  } seen;
  std::atomic<bool> saved = false;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&] {
        while (!saved) m.s->run(m.step, observe(seen));
      });
    for (int i = 0; i < 100; ++i) saves.save(*m.s);
    saved = true;
  }
  EXPECT_EQ(m.s->steps(), seen.all.size());
  std::sort(seen.all.begin(), seen.all.end());
  EXPECT_EQ(std::adjacent_find(seen.all.begin(), seen.all.end()), seen.all.end()) << "two steps had one number";
}

// Returns the bytes that this process has read from files so far.
std::uint64_t bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string word;
  std::uint64_t n = 0;
  EXPECT_TRUE(io >> word >> n && word == "rchar:");
  return n;
}

TEST(saver, reads_a_file_once_however_many_variables_are_in_it) {
  scratch place;
  std::vector<std::string> names;
  for (int i = 0; i < 500; ++i) names.push_back("layer_of_a_model_with_many_variables/" + std::to_string(i));
  model m(1, names);
  m.run();
  saver saves(m.g, place / "run");
  auto const c = saves.save(*m.s);
  std::uint64_t bytes = std::filesystem::file_size(c.index());
  for (auto const& file : detail::files_of(c)) bytes += std::filesystem::file_size(place / "run" / file.c_str());
  m.run();
  auto const before = bytes_read();
  saves.restore(*m.s, c);
  EXPECT_LT(bytes_read() - before, 2 * bytes);
  EXPECT_EQ(m.number(), 1);
}

TEST(saver, neither_records_in_the_graph_nor_runs_steps_of_it) {
  scratch place;
  model m;
  saver saves(m.g, place / "run");
  auto const nodes = m.g.size();
  saves.save(*m.s), saves.restore(*m.s);
  EXPECT_EQ(m.g.size(), nodes);
  EXPECT_EQ(m.s->steps(), 0u);
}

TEST(saver, restores_into_the_sessions_memory) {
  scratch place;
  model m(1000);
  saver saves(m.g, place / "run");
  m.run(2), saves.save(*m.s);
  struct own_memory final : allocator {
    void* acquire(std::size_t n) noexcept override { return host_allocator().allocate(n); }
    void release(void* p, std::size_t n) noexcept override { host_allocator().deallocate(p, n); }
  } memory;
  {
    session s(m.g, {.threads = 1, .memory = &memory});
    saves.restore(s);
    EXPECT_GE(memory.usage().current, 3 * 1000 * 4 * 8);
    EXPECT_EQ(s.run("a").at<double>(999, 3), 2);
  }
  EXPECT_EQ(memory.usage().current, 0);
}

TEST(saver, loses_nothing_if_a_file_can_not_grow) {
  scratch place;
  model a(1000);
  saver saves(a.g, place / "run", {.shard_bytes = 40000});
  a.run(), saves.save(*a.s);
  rlimit whole;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &whole), 0);
  auto const told = ::signal(SIGXFSZ, SIG_IGN);
  a.run();
  for (rlim_t most : {1u, 100u, 31000u}) {
    rlimit const small{most, whole.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    auto const said = sentence([&] { saves.save(*a.s); });
    ::setrlimit(RLIMIT_FSIZE, &whole);
    EXPECT_NE(said, "") << most;
  }
  ::signal(SIGXFSZ, told);
  EXPECT_EQ(a.number(), 2);
  EXPECT_EQ(saves.restore(*a.s)->number, 1);
  EXPECT_EQ(a.number(), 1);
  EXPECT_EQ(saves.save(*a.s).number, 2) << "files of a killed program are removed";
}

TEST(saver, refuses_a_deeply_nested_index) {
  scratch place;
  model m;
  saver saves(m.g, place / "run", {.keep = 1});
  auto const damaged = saves.save(*m.s).index();
  std::ofstream(damaged) << R"({"crc32":"00000000","x":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  EXPECT_EQ(refusal([&] { saves.restore(*m.s); }), code::data_loss);
  EXPECT_EQ(refusal([&] { saves.checkpoints(); }), code::data_loss);
  EXPECT_EQ(saves.save(*m.s).number, 2);
}

TEST(saver, keeps_variables_of_devices_and_restores_them_there) {
  scratch place;
  auto const fast = emulated("accelerator:0");
  graph g;
  auto w = g.on("accelerator", [&] { return variable(constant<float, 4>(g, {0, 0, 0, 0}), "w"); });
  auto step = assign_add(w, constant<float, 4>(g, {1, 2, 3, 4}));
  saver keep(g, place / "run");
  session s{g, {.devices = {fast}}};
  s.run(initializer(g));
  s.run(step);
  keep.save(s);
  s.run(step);
  keep.restore(s);
  EXPECT_TRUE(same_bits(s.run(w), vector<float>({1, 2, 3, 4})));
  session another{g, {.devices = {fast}}};
  keep.restore(another);
  another.run(step);
  EXPECT_TRUE(same_bits(another.run(w), vector<float>({2, 4, 6, 8})));
}

TEST(saver, restores_what_lies_beside_a_variable_of_a_device_there) {
  scratch place;
  auto const fast = emulated("accelerator:0");
  graph g;
  auto w = g.on("accelerator", [&] { return variable(constant<float, 4>(g, {0, 0, 0, 0}), "w"); });
  auto slot = g.near(w, [&] { return variable(constant<float, 4>(g, {1, 1, 1, 1}), "slot"); });
  auto step = g.near(w, [&] { return assign_add(slot, constant<float, 4>(g, {1, 2, 3, 4})); });
  saver keep(g, place / "run");
  session_options const o{.devices = {fast}};
  session s{g, o};
  s.run(initializer(g));
  keep.save(s);
  session another{g, o};
  keep.restore(another);
  EXPECT_EQ(another.state().find_variable("slot")->home(), fast->memory().space());
  another.run(step);
  EXPECT_TRUE(same_bits(another.run(slot), vector<float>({2, 3, 4, 5})));
}

TEST(saver, continues_the_random_numbers_of_each_kind_of_steps) {
  scratch place;
  graph g(7);
  auto const w = variable<float, 8>(g, "w", glorot());
  auto const mask = dropout(ones<float, 8>(g), 0.5, true);
  auto const train = gradient_descent{0.1}.minimize(sum(mask * w));
  session a(g, {.threads = 1}), b(g, {.threads = 1});
  a.run(initializer(g));
  client const me("me");
  for (int i = 0; i < 5; ++i) a.run(train), a.run(mask), a.run(mask), a.run(mask, me);
  saver saves(g, place / "run");
  auto const saved = saves.save(a);
  EXPECT_EQ(saved.draws, a.draws());
  saves.restore(b);
  EXPECT_EQ(b.draws(), a.draws());
  EXPECT_EQ(b.steps(), a.steps());
  EXPECT_TRUE(same_bits(a.run(mask, train), b.run(mask, train)));
  EXPECT_TRUE(same_bits(a.run(mask), b.run(mask)));
  EXPECT_TRUE(same_bits(a.run(mask, me), b.run(mask, me)));
}

TEST(saver, restores_16_bit_floats_to_variables_of_float32) {
  scratch place;
  auto const saved = [&](auto... x) {
    graph g;
    variable(constant(g, vector({x...})), "mean");
    session s{g, {.threads = 1}};
    s.run(initializer(g));
    saver(g, place / "run").save(s);
  };
  graph g;
  auto const mean = variable(constant(g, vector<float>({0, 0})), "mean");
  saver keep(g, place / "run");
  session s{g, {.threads = 1}};
  saved(half(1.5f), half(-0.1f));
  keep.restore(s);
  EXPECT_TRUE(same_bits(s.run(mean), vector<float>({1.5f, static_cast<float>(half(-0.1f))})));
  saved(bfloat16(2), bfloat16(0.3f));
  keep.restore(s);
  EXPECT_TRUE(same_bits(s.run(mean), vector<float>({2, static_cast<float>(bfloat16(0.3f))})));
  saved(1.0, 2.0);  // float64 would lose digits
  EXPECT_THROW(keep.restore(s), error);
}

// Checkpoints of 16-bit training did not always have master values.
TEST(saver, names_the_master_values_that_a_checkpoint_lacks_and_restores_it_without_them) {
  scratch place;
  {
    graph g;
    auto const w = variable(constant(g, half(1)), "w");
    session s{g, {.threads = 1}};
    s.run(initializer(g));
    s.run(assign(w, constant(g, half(0.5f))));
    saver(g, place / "run").save(s);
  }
  graph g;
  auto const w = variable(constant(g, half(1)), "w");
  auto const train = gradient_descent{1e-4}.minimize(value(w) * 1, {w});
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  s.run(train);
  saver keep(g, place / "run");
  auto const refused = error_of([&] { keep.restore(s); });
  EXPECT_EQ(refused.code(), code::not_found);
  EXPECT_NE(refused.message().find("has no tensor 'w/gradient_descent/master'"), std::string::npos) << refused.what();
  auto const names = [](std::string_view name) {
    return name.ends_with("/master") ? std::nullopt : std::optional(std::string(name));
  };
  keep.restore(s, names);
  for (int i = 0; i < 1000; ++i) s.run(train);
  EXPECT_NEAR(static_cast<float>(s.run(w).item<half>()), 0.4f, 5e-4f);
}

}  // namespace
}  // namespace rill
