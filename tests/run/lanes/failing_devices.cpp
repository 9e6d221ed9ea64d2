// Devices that fail at each piece of work of a training step, and devices of a user's that throw: errors name node and
// device, nothing stays, and the session goes on.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/rill.hpp"
#include "run/lanes/digits.hpp"

namespace rill {
namespace {

struct failing_device : testing::Test {
  std::shared_ptr<emulated_accelerator> fast = emulated("accelerator:0", {.memory = 1 << 22});
  graph g{3};
  value x, loss;
  std::vector<variable_value> variables;
  operation step;
  std::unique_ptr<session> s;
  std::vector<tensor> first, after;  // the variables before a step that never failed, and what it left
  std::int64_t at_rest = 0;          // buffers on the device between steps

  failing_device() {
    auto const in = placeholder<float, 16, 8>(g, "x");
    x = in;
    g.on("accelerator", [&] {
      auto const w = variable<float, 8, 4>(g, "w", glorot());
      auto const b = variable<float, 4>(g, "b", zeros());
      auto const l = mean(square(tanh(matmul(in, w) + b) - 1.f));
      step = gradient_descent{.rate = 0.1f}.minimize(l);
      loss = g.on("cpu:0", [&] { return value(l + 0.f); });
      variables = {w, b};
    });
    session here{g, {.soft_placement = true}};
    here.run(initializer(g));
    first = values(here);
    after = values(here, run(here));
    s = std::make_unique<session>(g, session_options{.threads = 2, .devices = {fast}});
    s->run(initializer(g));
    goes_on();
    at_rest = fast->memory().usage().count;
  }

  template <class... How> tensor run(session& on, How const&... how) {
    return on.run({{x, test::digits(16, 8)}}, std::vector{loss}, step, how...)[0];
  }
  std::vector<tensor> values(session& on, tensor const& with = {}) {
    std::vector<tensor> all;
    for (auto const& v : variables) all.push_back(on.get(v).clone());
    if (with) all.push_back(with);
    return all;
  }
  // The step, done again from the same values, has the bits of one that never failed, and leaves nothing behind.
  void goes_on() {
    for (std::size_t i = 0; i < variables.size(); ++i) s->set(variables[i], first[i]);
    auto const now = values(*s, run(*s));
    for (std::size_t i = 0; i < now.size(); ++i) EXPECT_TRUE(same_bits(now[i], after[i])) << i;
    s->trim();
    if (at_rest != 0) {
      EXPECT_EQ(fast->memory().usage().count, at_rest);
    }
  }
  static void names_both(error const& e) {
    EXPECT_FALSE(e.node().empty()) << e.what();
    EXPECT_EQ(e.device(), "/device:accelerator:0") << e.what();
  }
  std::vector<thread_stream*> streams() { return {&fast->compute(), &fast->copies_in(), &fast->copies_out()}; }
  // The pieces of work that a step has on a stream.
  std::uint64_t pieces(thread_stream& of) {
    for (std::uint64_t n = 1;; ++n) {
      of.fail_at(n, failed(code::internal, {"here"}));
      try {
        run(*s);
      } catch (error const&) {
        continue;
      }
      of.fail_at(0, nullptr);
      return n - 1;
    }
  }
};

TEST_F(failing_device, at_each_piece_of_work_of_a_training_step) {
  for (auto* each : streams()) {
    auto const most = pieces(*each);
    EXPECT_GT(most, 0u);
    for (std::uint64_t n = 1; n <= most; ++n) {
      each->fail_at(n, failed(code::internal, {"the device broke"}));
      try {
        run(*s);
        ADD_FAILURE() << n;
      } catch (error const& e) {
        EXPECT_EQ(e.message(), "the device broke");
        names_both(e);
      }
      each->fail_at(0, nullptr);
      goes_on();
    }
  }
}

TEST_F(failing_device, that_is_lost_at_each_piece_of_work) {
  for (auto* each : streams()) {
    auto const most = pieces(*each);
    for (std::uint64_t n = 1; n <= most; ++n) {
      fast->lose_at(*each, n);
      try {
        run(*s);
        ADD_FAILURE() << n;
      } catch (error const& e) {
        EXPECT_EQ(e.code(), code::unavailable);
        EXPECT_EQ(e.message(), "the device 'accelerator:0' was lost");
        names_both(e);
      }
      EXPECT_THROW(run(*s), error);  // it stays lost
      fast->recover();
      goes_on();
    }
  }
}

TEST_F(failing_device, that_stalls_at_each_piece_of_work_ends_the_step_by_its_deadline) {
  for (auto* each : streams()) {
    auto const most = pieces(*each);
    for (std::uint64_t n = 1; n <= most; ++n) {
      each->stall_at(n);
      try {
        run(*s, timeout(std::chrono::milliseconds(10)));
        ADD_FAILURE() << n;
      } catch (error const& e) {
        EXPECT_EQ(e.code(), code::deadline_exceeded) << e.what();
      }
      each->stall_at(0);
      each->stall(false);
      goes_on();
    }
  }
}

TEST_F(failing_device, that_stalls_is_named_by_the_error) {
  fast->compute().stall(true);
  try {
    run(*s, timeout(std::chrono::milliseconds(10)));
    ADD_FAILURE();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::deadline_exceeded);
    EXPECT_FALSE(e.node().empty()) << e.what();
  }
  fast->compute().stall(false);
  goes_on();
}

TEST_F(failing_device, that_has_no_memory_at_each_allocation_says_what_lives_there) {
  int failed = 0;
  for (std::uint64_t n = 1;; ++n) {
    s->trim();
    fast->memory().fail_at(n);
    try {
      run(*s);
      break;
    } catch (error const& e) {
      ++failed;
      EXPECT_EQ(e.code(), code::resource_exhausted);
      names_both(e);
      EXPECT_NE(e.message().find("in the memory of 'accelerator:0'"), std::string::npos) << e.what();
      EXPECT_NE(e.message().find("the largest tensors are"), std::string::npos) << e.what();
    }
    fast->memory().fail_at(0);
    goes_on();
  }
  fast->memory().fail_at(0);
  EXPECT_GT(failed, 3);
}

TEST_F(failing_device, in_a_body_is_named_by_the_error_of_the_loop) {
  graph h;
  auto const v = placeholder<float, 4>(h, "v");
  auto const last = std::get<1>(
      while_loop([](auto i, auto) { return i < 3; },
                 [&](auto i, auto each) { return std::tuple(i + 1, h.on("accelerator", [&] { return tanh(each); })); },
                 constant(h, 0), v));
  session on{h, {.threads = 1, .devices = {fast}}};
  fast->compute().fail_at(2, failed(code::internal, {"the device broke"}));
  try {
    on.run({{v, vector<float>({1, 2, 3, 4})}}, last);
    ADD_FAILURE();
  } catch (error const& e) {
    EXPECT_EQ(e.device(), "/device:accelerator:0");
    EXPECT_NE(e.message().find("in iteration 1, node 'body/tanh': the device broke"), std::string::npos) << e.what();
  }
  fast->compute().fail_at(0, nullptr);
}

// What a device of a user's throws, and where.
enum class part { none, kernel, factory, submit, memory, write, read };
enum class thrown { an_error, an_exception, a_number };

class breaking final : public device {
 public:
  static inline part now = part::none;
  static inline thrown what = thrown::an_error;
  static void reach(part p) {
    if (p != now) return;
    if (what == thrown::an_error) throw error(code::internal, "it broke");
    if (what == thrown::an_exception) throw std::runtime_error("it broke");
    throw 7;
  }

  breaking() { table_.add(definition<ops::add_op>(), make_add); }
  std::string const& name() const noexcept override { return name_; }
  allocator& memory() noexcept override { return memory_; }
  kernel_table const* kernels() const noexcept override { return &table_; }
  stream& compute() noexcept override { return stream_; }

 private:
  static kernel make_add(kernel_request const& r) {
    reach(part::factory);
    return kernel([n = elements(r.outputs[0].shape())](kernel_call const& c) {
      reach(part::kernel);
      auto const *a = static_cast<float const*>(c.in(0)), *b = static_cast<float const*>(c.in(1));
      for (std::int64_t i = 0; i < n; ++i) static_cast<float*>(c.out(0))[i] = a[i] + b[i];
    });
  }
  // The host's memory, taken for another.
  struct own_space final : memory_space {
    std::string_view name() const noexcept override { return "breaking:0"; }
    void write(void* to, void const* from, std::size_t n) override {
      reach(part::write);
      std::memcpy(to, from, n);
    }
    void read(void* to, void const* from, std::size_t n) override {
      reach(part::read);
      std::memcpy(to, from, n);
    }
    void copy(void* to, void const* from, std::size_t n) override { std::memcpy(to, from, n); }
  };
  struct own_memory final : allocator {
    explicit own_memory(memory_space* in) : allocator(in) {}
    void* acquire(std::size_t bytes) noexcept override {
      return now == part::memory ? nullptr : std::aligned_alloc(buffer_alignment, detail::aligned_bytes(bytes));
    }
    void release(void* p, std::size_t) noexcept override { std::free(p); }
    std::string refusal(std::size_t) const override {
      reach(part::memory);
      return "";
    }
  };
  struct own_stream final : stream {
    void submit(stream_work& work) override {
      reach(part::submit);
      on.submit(work);
    }
    bool withdraw(stream_work& work) override { return on.withdraw(work); }
    thread_stream on;
  };

  std::string name_ = "breaking:0";
  own_space space_;
  own_memory memory_{&space_};
  kernel_table table_;
  own_stream stream_;
};

TEST(own_device, that_throws_ends_the_step_with_its_name_and_the_nodes) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  auto const y = g.on("breaking", [&] { return x + x; });
  auto const z = g.on("cpu:0", [&] { return y * 2.f; });
  auto const own = std::make_shared<breaking>();
  for (auto how : {execution::sequential, execution::automatic, execution::parallel})
    for (auto where : {part::kernel, part::factory, part::submit, part::memory, part::write, part::read})
      for (auto what : {thrown::an_error, thrown::an_exception, thrown::a_number}) {
        session s{g, {.threads = 2, .execution = how, .devices = {own}}};
        auto const run = [&] { return s.run({{x, vector<float>({1, 2, 3, 4})}}, z); };
        breaking::what = what;
        breaking::now = where;
        try {
          run();
          ADD_FAILURE() << static_cast<int>(where);
        } catch (error const& e) {
          EXPECT_EQ(e.device(), "/device:breaking:0") << e.what();
          EXPECT_FALSE(e.node().empty()) << e.what();
          if (what != thrown::a_number) {
            EXPECT_NE(e.message().find("it broke"), std::string::npos) << e.what();
          }
        }
        breaking::now = part::none;
        EXPECT_TRUE(same_bits(run(), vector<float>({4, 8, 12, 16})));
        s.trim();
        EXPECT_EQ(own->memory().usage().count, 0);
      }
}

}  // namespace
}  // namespace rill
