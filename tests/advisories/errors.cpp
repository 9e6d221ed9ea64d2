// Memory that is uninitialised, freed or kept on the error path itself.
#include "hostile.hpp"

namespace rill::test {
namespace {

// Feeds that fail in the kernel, after buffers were taken: indices from outside, NaN, conditions that don't hold.
std::vector<hostile_call> calls_that_fail_in_their_kernels() {
  std::vector<hostile_call> all;
  for (auto const& good : all_good_calls()) {
    if (!attempt(good)) continue;  // which is made for known extents alone
    for (std::size_t i = 0; i < good.inputs.size(); ++i) {
      auto c = good;
      auto& t = c.inputs[i] = good.inputs[i].clone();
      if (t.elements() == 0) continue;
      auto const last = t.elements() - 1;
      if (t.element() == dtype::int32) t.mutable_data<std::int32_t>()[last] = INT32_MIN;
      else if (t.element() == dtype::int64) t.mutable_data<std::int64_t>()[last] = INT64_MIN;
      else if (t.element() == dtype::boolean) t.mutable_data<bool>()[last] = false;
      else if (t.element() == dtype::float64) t.mutable_data<double>()[last] = NAN;
      else continue;
      if (!attempt(c)) all.push_back(std::move(c));
    }
  }
  return all;
}

TEST(advisories_errors, the_session_goes_on_after_a_kernel_that_failed) {
  std::set<std::string_view> failed;
  for (auto const& bad : calls_that_fail_in_their_kernels()) {
    failed.insert(bad.op->name);
    auto good = bad;
    for (auto const& c : all_good_calls())
      if (c.op == bad.op && c.text() == bad.text()) good = c;
    auto const wanted = attempt(good, declared::unranked, false, 0x00);
    ASSERT_TRUE(wanted) << good.text();
    bool const draws = good.op == &definition<ops::categorical_op>();  // anew in each step
    for (int threads : {1, 3}) {
      recorded_call r(good, declared::unranked);
      session s(r.g, {.threads = threads});
      for (int round = 0; round < 3; ++round) {
        EXPECT_THROW(r.run(s, bad.inputs), error) << bad.text();
        auto const again = r.run(s, good.inputs);
        for (std::size_t i = 0; i < again.size() && !draws; ++i)
          EXPECT_TRUE(same_bits(again[i], wanted.results[i])) << good.text();
      }
    }
  }
  for (auto op : {"gather", "gather_variable", "scatter_add", "scatter_sub", "scatter_like", "check", "check_numerics",
                  "softmax_cross_entropy"})
    EXPECT_TRUE(failed.contains(op)) << op;
}

TEST(advisories_errors, a_failed_step_keeps_no_memory) {
  for (auto const& bad : calls_that_fail_in_their_kernels()) {
    auto const before = host_allocator().usage();
    {
      recorded_call r(bad, declared::unranked);
      session s(r.g, {.threads = 2});
      for (int round = 0; round < 3; ++round) EXPECT_THROW(r.run(s, bad.inputs), error);
    }
    EXPECT_EQ(host_allocator().usage().current, before.current) << bad.text();
    EXPECT_EQ(host_allocator().usage().count, before.count) << bad.text();
  }
}

// Memory that gives out at any moment of a step.
class failing_memory final : public allocator {
 public:
  int left = 0;

 private:
  void* acquire(std::size_t bytes) noexcept override {
    return left-- > 0 ? ::operator new(bytes, std::align_val_t{buffer_alignment}, std::nothrow) : nullptr;
  }
  void release(void* p, std::size_t) noexcept override { ::operator delete(p, std::align_val_t{buffer_alignment}); }
};

TEST(advisories_errors, memory_that_gives_out_at_any_moment_is_an_error_and_the_next_step_goes_on) {
  for (auto const& good : good_calls()) {
    auto const wanted = attempt(good, declared::unranked, good.differentiable, 0x00);
    if (!wanted) continue;
    failing_memory memory;
    {
      recorded_call r(good, declared::unranked);
      if (good.differentiable) r.differentiate();
      session s(r.g, {.threads = 1, .memory = &memory});
      for (int allowed = 0; allowed < 12; ++allowed) {
        memory.left = allowed;
        try {
          r.run(s, good.inputs);
          break;
        } catch (error const& e) {
          EXPECT_EQ(e.code(), code::resource_exhausted) << good.text() << ": " << e.what();
        }
      }
      memory.left = 1000;
      s.set_steps(0);  // random numbers depend on it
      auto const again = r.run(s, good.inputs);
      for (std::size_t i = 0; i < again.size(); ++i) EXPECT_TRUE(same_bits(again[i], wanted.results[i])) << good.text();
    }
    EXPECT_EQ(memory.usage().count, 0) << good.text();
  }
}

}  // namespace
}  // namespace rill::test
