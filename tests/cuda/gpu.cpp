#include "rill/cuda/gpu.hpp"

#include <future>
#include <limits>
#include <string>
#include <vector>

#include "base/forked.hpp"
#include "emulated.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

struct gpu_test : test::on_gpu {
  static session_options with_gpu(gpu_options const& options = {}) {
    return {.threads = 1, .devices = {gpu(0, options)}};
  }
};

using emulated_gpu_test = test::only_emulated<gpu_test>;

template <class T> tensor numbers(std::vector<T> const& values, shape const& extents) {
  return tensor::copy<T>(values, extents);
}

// Records `f(x)` of an x of five floats and runs it on both.
template <class F> void expect_same_bits(F const& f, session_options options) {
  graph g;
  auto x = placeholder<float, 5>(g);
  value there, here;
  g.on("gpu:0", [&] { there = f(x); });
  g.on("cpu:0", [&] { here = f(x); });
  session s{g, std::move(options)};
  auto const fed = numbers<float>({-2, -0.5f, 0, 1, 30}, {5});
  tensor const a = s.run({{x, fed}}, there), b = s.run({{x, fed}}, here);
  ASSERT_NE(a.space(), nullptr);  // what is fetched stays where a constraint puts it
  EXPECT_EQ(a.space()->name(), "gpu:0");
  EXPECT_TRUE(same_bits(a.to(host), b));
  auto const said = s.explain({{x, fed}}, there, stages::place);
  EXPECT_NE(said.find("gpu:0"), std::string::npos) << said;
}

TEST_F(gpu_test, runs_tanh_of_x_plus_1) {
  expect_same_bits([](auto x) { return tanh(x) + 1.f; }, with_gpu());
}

TEST_F(gpu_test, runs_casts_comparisons_and_choices) {
  expect_same_bits(
      [](auto x) {
        auto const h = cast<half>(x * 0.3f);
        return select(x > 0.f, cast<float>(h * h), cast<float>(cast<std::int32_t>(x) * 3));
      },
      with_gpu());
}

TEST_F(gpu_test, runs_a_lambda) {
  expect_same_bits([](auto x) { return fuse<"swish">([](auto v) { return v / (1.f + exp(-v)); }, x); }, with_gpu());
}

TEST_F(gpu_test, reads_operands_that_broadcast) {
  graph g;
  auto const x = placeholder<float, 2, 1, 3>(g);
  auto const y = placeholder<float, 4, 1>(g);
  auto const z = placeholder<float>(g);
  value there, here;
  g.on("gpu:0", [&] { there = (x - y) * z; });
  g.on("cpu:0", [&] { here = (x - y) * z; });
  session s{g, with_gpu()};
  std::vector<feed> const fed{{x, numbers<float>({1, 2, 3, 4, 5, 6}, {2, 1, 3})},
                              {y, numbers<float>({.1f, .2f, .3f, .4f}, {4, 1})},
                              {z, tensor(3.f)}};
  tensor const a = s.run(std::span<feed const>(fed), there), b = s.run(std::span<feed const>(fed), here);
  EXPECT_EQ(a.shape(), (shape{2, 4, 3}));
  EXPECT_TRUE(same_bits(a, b));
}

TEST_F(gpu_test, runs_a_step_without_elements) {
  graph g;
  auto const x = placeholder<float, 0, 3>(g);
  auto const y = g.on("gpu:0", [&] { return exp(x); });
  session s{g, with_gpu()};
  tensor const made = s.run({{x, tensor::copy<float>(std::vector<float>{}, shape{0, 3})}}, y);
  EXPECT_EQ(made.shape(), (shape{0, 3}));
}

TEST_F(gpu_test, leaves_what_it_has_no_kernel_for_to_the_host_with_soft_placement_alone) {
  graph g;
  auto const x = placeholder<float, 2, 2>(g);
  auto const y = g.on("gpu:0", [&] { return sort<1>(x); });
  auto const fed = numbers<float>({2, 1, 4, 3}, {2, 2});
  auto options = with_gpu();
  options.soft_placement = true;
  session s{g, options};
  EXPECT_EQ(tensor(s.run({{x, fed}}, y)).at<float>(0, 0), 1);
  session strict{g, with_gpu()};
  auto const e = test::refusal([&] { strict.run({{x, fed}}, y); });
  EXPECT_EQ(e.code(), code::invalid_argument) << e.what();
}

TEST_F(gpu_test, that_is_absent_is_done_without_by_soft_placement_and_named_once) {
  test::environment_scope const driver("RILL_CUDA_DRIVER", "/nowhere/libcuda.so.1");
  graph g;
  auto const x = placeholder<float, 1>(g);
  auto const y = g.on("gpu:0", [&] { return x + 1.f; });
  std::string said;
  session s{g, {.log = [&](std::string_view text) { said += text; }, .devices = {gpu(0)}, .soft_placement = true}};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(tensor(s.run({{x, numbers<float>({1}, {1})}}, y)).at<float>(0), 2);
  auto const begin = said.find("the session does without the device 'gpu:0': the CUDA driver can't be opened");
  EXPECT_NE(begin, std::string::npos) << said;
  EXPECT_EQ(said.find("gpu:0", begin + 60), std::string::npos) << said;
  auto const e = test::refusal([&] { session{g, {.devices = {gpu(0)}}}; });
  EXPECT_EQ(e.code(), code::unavailable);
  EXPECT_EQ(e.device(), "gpu:0");
  EXPECT_NE(e.message().find("/nowhere/libcuda.so.1"), std::string::npos) << e.what();
  EXPECT_EQ(test::refusal([&] { gpu(0)->model(); }).code(), code::unavailable);
  auto const of_task = test::refusal([&] {
    local_cluster({{"worker", 1}}, [](device_name const&) { return task_options{.threads = 1, .devices = {gpu(0)}}; });
  });
  EXPECT_EQ(of_task.code(), code::unavailable) << of_task.what();
}

TEST_F(emulated_gpu_test, of_an_old_driver_or_with_a_newer_compiler_is_absent) {
  {
    test::environment_scope const version("RILL_EMULATED_DRIVER_VERSION", "11080");
    EXPECT_EQ(gpu(0)->absence()->message(), "the CUDA driver is of CUDA 11.8; rill needs one of CUDA 12 or newer");
  }
  test::environment_scope const version("RILL_EMULATED_DRIVER_VERSION", "12040");
  auto const absent = gpu(0);
  EXPECT_NE(absent->absence()->message().find("is of a newer CUDA than the driver, which is of CUDA 12"),
            std::string::npos)
      << absent->absence()->what();
  EXPECT_EQ(test::refusal([&] { tensor(dtype::float32, shape{3}, absent->memory()); }).code(),
            code::resource_exhausted);
}

TEST_F(gpu_test, without_a_compiler_is_absent) {
  test::environment_scope const compiler("RILL_NVRTC", "/nowhere/libnvrtc.so");
  auto const why = gpu(0)->absence();
  ASSERT_TRUE(why);
  EXPECT_NE(why->message().find("NVRTC, which compiles kernels, can't be opened"), std::string::npos) << why->what();
}

TEST_F(gpu_test, of_a_number_that_is_not_there_is_absent) {
  auto const why = gpu(999)->absence();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), code::not_found);
  EXPECT_NE(why->message().find("there is no GPU '999'"), std::string::npos) << why->what();
}

TEST_F(emulated_gpu_test, is_found_by_its_uuid) {
  cuda::driver const d;
  cuda::device_id first = 0;
  cuda::uuid id;
  d(d.call().device, &first, 0);
  d(d.call().device_uuid, &id, first);
  auto const text = cuda::text(id);
  EXPECT_EQ(text.size(), std::string_view("GPU-01234567-0123-0123-0123-0123456789ab").size());
  EXPECT_FALSE(gpu(text)->absence());
  EXPECT_FALSE(gpu("MIG-" + text.substr(4), 3)->absence());
  EXPECT_EQ(gpu(text.substr(0, 30), 3)->name(), "gpu:3");
  auto wrong = text;
  wrong[4] = wrong[4] == '0' ? '1' : '0';
  EXPECT_EQ(gpu(wrong)->absence()->code(), code::not_found);
  EXPECT_EQ(gpu("first")->absence()->code(), code::not_found);
}

TEST_F(gpu_test, keeps_to_its_limit_of_memory) {
  auto const small = gpu(0, {.memory = 1 << 16});
  EXPECT_EQ(small->memory_limit(), std::size_t{1} << 16);
  {
    tensor const half_of_it(dtype::float32, shape{1 << 13}, small->memory());
    auto const e = test::refusal([&] { tensor(dtype::float32, shape{1 << 14}, small->memory()); });
    EXPECT_EQ(e.code(), code::resource_exhausted);
    EXPECT_NE(e.message().find("in the memory of 'gpu:0': 32768 of 65536 bytes are in use"), std::string::npos)
        << e.what();
  }
  EXPECT_EQ(small->memory().usage().current, 0);
  EXPECT_THROW(gpu(0, {.memory_fraction = 1.5}), error);
  EXPECT_THROW(gpu(0, {.memory = std::numeric_limits<std::size_t>::max()}), error);
}

TEST_F(gpu_test, refuses_a_text_with_the_compilers_words_and_compiles_others_once) {
  auto const on = gpu(0);
  std::string const text = "extern \"C\" __global__ void nothing(unsigned n) {}\n";
  EXPECT_EQ(on->find(text, "nothing"), on->find(text, "nothing"));
  auto const e = test::refusal([&] {
    on->compile(*on->find("extern \"C\" __global__ void broken(unsigned n) { no_such_name(); }\n", "broken"));
  });
  EXPECT_EQ(e.code(), code::internal);
  EXPECT_NE(e.message().find("no_such_name"), std::string::npos) << e.what();
  EXPECT_THROW(on->compile(*on->find(text, "another")), error);
}

// Steps of a session on a device that fails, and of one that goes on.
struct steps_on_gpu : gpu_test {
  graph g;
  expr<of<float, 5>> x = placeholder<float, 5>(g);
  value there = g.on("gpu:0", [&] { return value(tanh(x) + 1.f); });
  tensor fed = numbers<float>({-2, -0.5f, 0, 1, 30}, {5});

  error failure_of(session& s) {
    auto const e = test::refusal([&] { s.run({{x, fed}}, there); });
    EXPECT_EQ(e.device(), "/device:gpu:0") << e.what();
    EXPECT_FALSE(e.node().empty()) << e.what();
    return e;
  }
};

using failing_gpu = test::only_emulated<steps_on_gpu>;

TEST_F(failing_gpu, without_room_gets_back_what_its_pool_keeps) {
  session s{g, with_gpu()};
  tensor const right = s.run({{x, fed}}, there);
  s.trim();
  RILL_EMULATED(rill_emulated_fail_allocation)(1);
  EXPECT_TRUE(same_bits(tensor(s.run({{x, fed}}, there)), right));
}

TEST_F(steps_on_gpu, beyond_its_limit_refuses_the_step_and_runs_smaller_ones) {
  session s{g, with_gpu({.memory = 16})};
  auto const e = test::refusal([&] { s.run({{x, fed}}, there); });
  EXPECT_EQ(e.code(), code::resource_exhausted) << e.what();
  EXPECT_NE(std::string(e.what()).find("gpu:0"), std::string::npos) << e.what();
  auto const one = g.on("gpu:0", [&] { return value(exp(constant(g, 0.f))); });
  EXPECT_EQ(tensor(s.run({}, one)).item<float>(), 1);
}

TEST_F(failing_gpu, whose_kernel_fails_late_fails_the_step_and_those_after_it_and_the_host_goes_on) {
  session s{g, with_gpu()};
  s.run({{x, fed}}, there);
  RILL_EMULATED(rill_emulated_fail_launch)(1);
  auto const e = failure_of(s);
  EXPECT_EQ(e.code(), code::unavailable);
  EXPECT_NE(e.message().find("CUDA_ERROR_LAUNCH_FAILED"), std::string::npos) << e.what();
  failure_of(s);  // the context is lost for good
  auto const here = g.on("cpu:0", [&] { return value(x + 1.f); });
  EXPECT_EQ(tensor(s.run({{x, fed}}, here)).at<float>(3), 2);
}

TEST_F(failing_gpu, of_a_parent_process_is_refused_in_a_child_and_the_host_goes_on) {
  if (!children_start_threads) GTEST_SKIP() << "a child starts no threads with the thread sanitizer";
  session s{g, with_gpu()};
  tensor const right = s.run({{x, fed}}, there);
  auto const here = g.on("cpu:0", [&] { return value(x + 1.f); });
  EXPECT_TRUE(holds_in_a_child([&] {
    auto const e = test::refusal([&] { s.run({{x, fed}}, there); });
    auto const memory = test::refusal([&] { right.to(host); });
    return e.code() == code::failed_precondition && e.message().find("before fork()") != std::string::npos &&
           e.device() == "/device:gpu:0" && memory.code() == code::failed_precondition &&
           tensor(s.run({{x, fed}}, here)).at<float>(3) == 2;
  }));
  EXPECT_TRUE(same_bits(tensor(s.run({{x, fed}}, there)), right));
}

TEST_F(failing_gpu, that_is_lost_fails_steps) {
  session s{g, with_gpu()};
  s.run({{x, fed}}, there);
  ASSERT_TRUE(RILL_EMULATED(rill_emulated_lose_device)(0, cuda::status::unknown));
  EXPECT_EQ(failure_of(s).code(), code::unavailable);
}

TEST_F(gpu_test, serves_several_sessions_and_threads) {
  graph g;
  auto const x = placeholder<float, 5>(g);
  auto const y = g.on("gpu:0", [&] { return exp(x) * x; });
  auto const on = gpu(0);
  session a{g, {.threads = 1, .devices = {on}}}, b{g, {.threads = 1, .devices = {on}}};
  auto const fed = numbers<float>({-2, -0.5f, 0, 1, 3}, {5});
  tensor const right = a.run({{x, fed}}, y);
  auto const runs = [&](session& s) {
    for (int i = 0; i < 20; ++i)
      if (!same_bits(tensor(s.run({{x, fed}}, y)), right)) return false;
    return true;
  };
  auto first = std::async(std::launch::async, [&] { return runs(a); }),
       second = std::async(std::launch::async, [&] { return runs(a); }),
       third = std::async(std::launch::async, [&] { return runs(b); });
  EXPECT_TRUE(first.get() && second.get() && third.get());
}

}  // namespace
}  // namespace rill
