#include "rill/state/container.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "base/sentence.hpp"

namespace rill {
namespace {

TEST(container, gives_the_same_variable_for_the_same_name) {
  container c;
  auto const v = c.variable("v", of<float, 2>);
  EXPECT_EQ(c.variable("v", of<float, 2>), v);
  EXPECT_NE(c.variable("w", of<float, 2>), v);
}

TEST(container, refuses_a_name_that_has_another_type) {
  container c;
  c.variable("v", of<float, 2>);
  try {
    c.variable("v", of<double, 2>);
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::failed_precondition);
    EXPECT_EQ(e.node(), "v");
  }
  EXPECT_THROW(c.variable("v", of<float, 3>), error);
}

TEST(container, lists_variables_by_name) {
  container c;
  for (auto const* name : {"b", "a", "c/d"}) c.variable(name, of<float>);
  auto const all = c.variables();
  ASSERT_EQ(all.size(), 3);
  EXPECT_EQ(all[0]->name(), "a");
  EXPECT_EQ(all[2]->name(), "c/d");
}

TEST(container, takes_every_value_away_on_request_but_not_the_snapshots) {
  container c;
  auto const v = c.variable("v", of<float>);
  v->assign(tensor(1.f));
  auto const snapshot = v->read();
  c.reset();
  EXPECT_FALSE(v->initialized());
  EXPECT_EQ(snapshot.item<float>(), 1);
  EXPECT_EQ(c.variables().size(), 1);
}

TEST(container, says_what_is_there_and_what_was_asked_for_where_a_name_is_taken) {
  container c;
  auto const said = [&](auto const& make) {
    make(1);
    try {
      make(2);
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::failed_precondition);
      return std::string(e.message());
    }
    return std::string();
  };
  EXPECT_EQ(said([&](int i) { c.queue("q", {.capacity = 3 * i, .components = {of<float, 2>, of<int>}}); }),
            "the container already has a queue of this name that differs: it is a fifo queue for 3 elements "
            "of (float32[2], int32[]), but a fifo queue for 6 elements of (float32[2], int32[]) was requested");
  EXPECT_EQ(said([&](int i) {
              c.queue("s", {.order = i == 1 ? queue_order::shuffled : queue_order::fifo,
                            .capacity = 3,
                            .min_after_dequeue = 2 - i,
                            .padded = i == 2,
                            .components = {of<float>}});
            }),
            "the container already has a queue of this name that differs: it is a shuffled queue for 3 "
            "elements of (float32[]), min_after_dequeue 1, seed 0, but a padding fifo queue for 3 elements of "
            "(float32[]) was requested");
  EXPECT_EQ(said([&](int i) { c.barrier("b", 2 * i); }),
            "the container already has a barrier of this name that differs: it is one for 2 parties, but one "
            "for 4 parties was requested");
  EXPECT_EQ(said([&](int i) { c.accumulator("a", i == 1 ? of<float> : of<float, 2>); }),
            "the container already has an accumulator of this name that differs: it is one of type float32[], but "
            "one of type float32[2] was requested");
  EXPECT_EQ(said([&](int i) { c.keyed_barrier("k", std::vector<type>(static_cast<std::size_t>(i), of<float>)); }),
            "the container already has a keyed barrier of this name that differs: it is one of types (float32[]), "
            "but one of types (float32[], float32[]) was requested");
}

TEST(container, forgets_what_it_refused) {
  container c;
  EXPECT_THROW(c.barrier("b", 0), error);
  EXPECT_THROW(c.queue("q", {.capacity = 0}), error);
  EXPECT_THROW(c.other<int>("n", []() -> int* { throw error(code::internal, "none"); }), error);
  c.reset();
  EXPECT_EQ(c.barrier("b", 2)->parties(), 2);
  EXPECT_EQ(c.queue("q", {.capacity = 1, .components = {of<float>}})->options().capacity, 1);
  EXPECT_EQ(*c.other<int>("n", [] { return new int(3); }), 3);
}

using reading = container::reading;

float number(std::shared_ptr<variable_state> const& v, std::uint64_t version = newest_version) {
  return v->read(version).item<float>();
}

TEST(container, replaces_values_for_who_begins_later_and_keeps_them_for_who_began_before) {
  container c;
  auto const a = c.variable("a", of<float>), b = c.variable("b", of<float>), fresh = c.variable("fresh", of<float>);
  a->assign(tensor(1.f)), b->assign(tensor(1.f));
  std::optional<reading> early(std::in_place, c);
  auto const seen = early->version();
  auto const found = a->read();
  c.replace({{a, tensor(2.f)}, {b, tensor(2.f)}, {fresh, tensor(2.f)}});
  {
    reading const later(c);
    for (auto const& v : {a, b, fresh}) EXPECT_EQ(number(v, later.version()), 2);
  }
  EXPECT_EQ(number(a), 2);
  EXPECT_EQ(number(a, seen), 1);
  EXPECT_FALSE(fresh->initialized(seen)) << "it had no value";
  EXPECT_THROW(fresh->read(seen), error);
  b->update([](tensor& t) { *t.mutable_data<float>() += 10; }, seen);
  a->assign(tensor(20.f), seen);
  a->overwrite({}, host_allocator(), [](tensor& t) { *t.mutable_data<float>() += 1; }, seen);
  EXPECT_EQ(number(b, seen), 11);
  EXPECT_EQ(number(a, seen), 21);
  a->inspect([](tensor const& t) { EXPECT_EQ(t.item<float>(), 21); }, seen);
  EXPECT_EQ(number(a), 2) << "updates of who began before are seen by those alone";
  EXPECT_EQ(number(b), 2);
  early.reset();
  EXPECT_TRUE(found.storage().unique());
  EXPECT_EQ(number(a, seen), 2) << "forgotten";
}

TEST(container, a_generation_parts_steps_of_an_earlier_one_from_those_that_follow) {
  container c;
  auto const v = c.variable("v", of<float>), empty = c.variable("empty", of<float>);
  v->assign(tensor(1.f));
  EXPECT_EQ(c.generation(), 0);
  c.expect_generation(0);
  EXPECT_THROW(c.expect_generation(7), error);
  c.begin_generation(7);
  c.expect_generation(7);
  c.expect_generation(0);  // a session outside of training
  container::reading const before(c);
  EXPECT_EQ(v->read(before.version()).data<float>()[0], 1.f);
  c.begin_generation(8);
  v->assign(tensor(2.f), before.version());  // by a step that began before
  container::reading const after(c);
  EXPECT_EQ(v->read(before.version()).data<float>()[0], 2.f);
  EXPECT_EQ(v->read(after.version()).data<float>()[0], 1.f);
  EXPECT_FALSE(empty->initialized());
  try {
    c.expect_generation(7);
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::aborted);
    EXPECT_EQ(e.cause(), cause::lost);
  }
}

TEST(container, keeps_of_many_versions_those_alone_that_somebody_reads) {
  container c;
  auto const v = c.variable("v", of<float>), other = c.variable("other", of<float>);
  std::vector<tensor> values;
  std::vector<std::unique_ptr<reading>> readers;
  v->assign(tensor(0.f)), other->assign(tensor(0.f));
  for (int i = 0; i < 10; ++i) {
    values.push_back(v->read());
    readers.push_back(std::make_unique<reading>(c));
    c.replace({{v, tensor(static_cast<float>(i + 1))}});
  }
  for (std::size_t i : {3u, 4u, 9u, 5u}) {
    readers[i].reset();
    EXPECT_TRUE(values[i].storage().unique()) << i;
  }
  for (std::size_t i : {0u, 1u, 2u, 6u, 7u, 8u}) {
    EXPECT_EQ(number(v, readers[i]->version()), static_cast<float>(i));
    EXPECT_EQ(number(other, readers[i]->version()), 0);
  }
  c.replace({{other, tensor(5.f)}});
  EXPECT_EQ(number(other, readers[0]->version()), 0);
  EXPECT_EQ(number(v, readers[8]->version()), 8);
  readers.clear();
  for (auto const& t : values) EXPECT_TRUE(t.storage().unique());
}

TEST(container, replaces_all_that_it_is_given_or_nothing) {
  container c;
  auto const a = c.variable("a", of<float>), b = c.variable("b", of<float, 2>);
  a->assign(tensor(1.f));
  EXPECT_EQ(
      sentence([&] { c.replace({{a, tensor(2.f)}, {b, tensor(2.f)}}); }),
      "invalid_argument: node 'b': a value of type float32[] can't replace the value of a variable of type float32[2]");
  EXPECT_THROW(c.replace({{a, tensor(2.f)}, {b, tensor()}}), error);
  EXPECT_THROW(c.replace({{a, tensor(2.f)}, {a, tensor(3.f)}}), error);
  EXPECT_EQ(number(a), 1);
  EXPECT_FALSE(b->initialized());
  c.replace({});
  EXPECT_EQ(number(a), 1);
}

// Three threads read and update two variables that are always alike, a fourth replaces both again and again.
TEST(container, replaces_values_while_threads_read_and_update_and_none_sees_two_versions) {
  container c;
  auto const a = c.variable("a", of<float>), b = c.variable("b", of<float>);
  a->assign(tensor(0.f)), b->assign(tensor(0.f));
  std::atomic<int> torn = 0, at_work = 3;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 20'000; ++k) {
        reading const mine(c);
        torn += number(a, mine.version()) != number(b, mine.version());
        if (k % 16 == 0) a->update([](tensor&) {}, mine.version());
      }
      --at_work;
    });
  for (int i = 1; at_work > 0; ++i) c.replace({{a, tensor(static_cast<float>(i))}, {b, tensor(static_cast<float>(i))}});
  threads.clear();
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace rill
