// The emulated CUDA driver (emulated/): that it does what a driver does, and finds what a driver would not.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <rill/cuda/driver_api.hpp>
#include <rill/cuda/nvrtc_api.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/emulated/control.hpp"
#include "emulated.hpp"

namespace {

using namespace rill::cuda;

/// The loaded driver: its entry points, NVRTC's, and those of control.hpp.
struct emulated_driver : driver_api {
  nvrtc_api nvrtc;
  entry<decltype(rill_emulated_set_order)> set_order{"rill_emulated_set_order"};
  entry<decltype(rill_emulated_last_fault)> last_fault{"rill_emulated_last_fault"};
  entry<decltype(rill_emulated_fail_allocation)> fail_allocation{"rill_emulated_fail_allocation"};
  entry<decltype(rill_emulated_fail_page_locked)> fail_page_locked{"rill_emulated_fail_page_locked"};
  entry<decltype(rill_emulated_fail_launch)> fail_launch{"rill_emulated_fail_launch"};
  entry<decltype(rill_emulated_hold_launch)> hold_launch{"rill_emulated_hold_launch"};
  entry<decltype(rill_emulated_release_launches)> release_launches{"rill_emulated_release_launches"};
  entry<decltype(rill_emulated_lose_device)> lose_device{"rill_emulated_lose_device"};
  entry<decltype(rill_emulated_count)> count{"rill_emulated_count"};
  entry<decltype(rill_emulated_compiled_texts)> compiled_texts{"rill_emulated_compiled_texts"};
  entry<decltype(rill_emulated_compiled_programs)> compiled_programs{"rill_emulated_compiled_programs"};

  emulated_driver() {
    char const* const path = std::getenv("RILL_EMULATED_CUDA");
    if (path == nullptr) throw std::runtime_error("RILL_EMULATED_CUDA should have the path of the emulated driver");
    void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    auto const find = [&](auto& each) {
      each.call = reinterpret_cast<decltype(each.call)>(::dlsym(library, each.symbol));
      if (each.call == nullptr) throw std::runtime_error(std::string("the emulated driver has no ") + each.symbol);
    };
    for_each(find);
    nvrtc.for_each(find);
    find(set_order), find(last_fault), find(fail_allocation), find(fail_page_locked), find(fail_launch),
        find(hold_launch);
    find(release_launches), find(lose_device), find(count), find(compiled_texts), find(compiled_programs);
  }
};
emulated_driver const& cuda() {
  static emulated_driver const loaded;
  return loaded;
}

/// What NVRTC makes of a text, or its log.
struct compiled {
  nvrtc_status result;
  std::string log, code;
};
using header = std::pair<std::string, std::string>;
compiled compile(std::string const& text, std::vector<char const*> options = {"--gpu-architecture=sm_90"},
                 std::vector<header> const& headers = {
                     {"rill/cuda/text/global.cuh", "#error this text is not the emulated one"}}) {
  auto const& nvrtc = cuda().nvrtc;
  std::vector<char const*> names, texts;
  for (auto const& [name, each] : headers) names.push_back(name.c_str()), texts.push_back(each.c_str());
  nvrtc_program program = nullptr;
  EXPECT_EQ(
      nvrtc.create(&program, text.c_str(), "test.cu", static_cast<int>(headers.size()), texts.data(), names.data()),
      nvrtc_status::success);
  compiled made{nvrtc.compile(program, static_cast<int>(options.size()), options.data()), {}, {}};
  std::size_t bytes = 0;
  EXPECT_EQ(nvrtc.log_size(program, &bytes), nvrtc_status::success);
  made.log.resize(bytes);
  EXPECT_EQ(nvrtc.log(program, made.log.data()), nvrtc_status::success);
  EXPECT_EQ(nvrtc.code_size(program, &bytes), nvrtc_status::success);
  made.code.resize(bytes);
  EXPECT_EQ(nvrtc.code(program, made.code.data()), nvrtc_status::success);
  EXPECT_EQ(nvrtc.destroy(&program), nvrtc_status::success);
  EXPECT_EQ(program, nullptr);
  return made;
}

// (unit.py takes a line that begins with #include for one of the file's.)
std::string const kernels = R"(
 #include "rill/cuda/text/global.cuh"
using rill::text::global;

extern "C" __global__ void __launch_bounds__(256) add_one(global<float const> from, global<float> to, unsigned n) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i] + 1;
}
// extern "C" __global__ void no_kernel(int) {}
extern "C" __global__ void read_at(global<char const> from, global<char> to, long at) { to[0] = from[at]; }
extern "C" __global__ void write_at(global<int> to, long at) { to[at] = 7; }
extern "C" __global__ void write_chars(global<char> to, long at, char value) { *(to + at) = value; }
/// The place of each thread in the order in which they ran; the first element counts them.
extern "C" __global__ void order_of(global<unsigned> to) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  to[1 + i] = to[0]++;
}
extern "C" __global__ void places(global<unsigned> to) {
  unsigned const block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  unsigned const thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  to[block * blockDim.x * blockDim.y * blockDim.z + thread] += block * 1000 + thread;
}
)";

/// The driver's first device with a context that is current, a stream, a pool and the kernels above.
class emulated_cuda : public rill::test::on_emulated_gpu {
 protected:
  rill::cuda::context context = nullptr;
  stream_handle stream = nullptr;
  pool_handle pool = nullptr;
  module_handle module = nullptr;

  void SetUp() override {
    ASSERT_EQ(cuda().init(0), status::success);
    begin();
  }
  void begin() {
    ASSERT_EQ(cuda().retain_primary_context(&context, 0), status::success);
    ASSERT_EQ(cuda().push_context(context), status::success);
    ASSERT_EQ(cuda().create_stream(&stream, stream_non_blocking), status::success);
    pool_properties const properties{1, 0, {1, 0}, nullptr, 0, 0, {}};
    ASSERT_EQ(cuda().create_pool(&pool, &properties), status::success);
    auto const made = compile(kernels);
    ASSERT_EQ(made.result, nvrtc_status::success) << made.log;
    ASSERT_EQ(cuda().load_module(&module, made.code.data()), status::success);
  }
  void end() {
    cuda().unload_module(module);
    cuda().destroy_pool(pool);
    cuda().destroy_stream(stream);
    EXPECT_EQ(cuda().pop_context(nullptr), status::success);
    EXPECT_EQ(cuda().release_primary_context(0), status::success);
  }
  void TearDown() override {
    cuda().set_order(0);
    cuda().fail_allocation(0), cuda().fail_page_locked(0), cuda().fail_launch(0), cuda().hold_launch(0);
    end();
    auto const left = cuda().count();
    EXPECT_EQ(left.contexts, 0);
    EXPECT_EQ(left.allocations, 0);
    EXPECT_EQ(left.bytes, 0);
    EXPECT_EQ(left.pools, 0);
    EXPECT_EQ(left.streams, 0);
    EXPECT_EQ(left.events, 0);
    EXPECT_EQ(left.modules, 0);
    EXPECT_EQ(left.programs, 0);
    EXPECT_EQ(left.page_locked, 0);
    EXPECT_EQ(left.page_locked_bytes, 0);
  }

  /// Page-locked memory for n values.
  template <class T> T* host_memory(std::size_t n) {
    void* at = nullptr;
    EXPECT_EQ(cuda().allocate_host(&at, n * sizeof(T), host_portable), status::success);
    return static_cast<T*>(at);
  }
  address allocate(std::size_t bytes) {
    address at = 0;
    EXPECT_EQ(cuda().allocate(&at, bytes, pool, stream), status::success);
    return at;
  }
  void free(address at) { EXPECT_EQ(cuda().deallocate(at, stream), status::success); }
  template <class T> address put(std::vector<T> const& values) {
    address const at = allocate(values.size() * sizeof(T));
    EXPECT_EQ(cuda().copy_in(at, values.data(), values.size() * sizeof(T), stream), status::success);
    return at;
  }
  template <class T> std::vector<T> get(address at, std::size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(cuda().copy_out(values.data(), at, count * sizeof(T), stream), status::success);
    EXPECT_EQ(cuda().wait_for_stream(stream), status::success);
    return values;
  }

  function_handle function(char const* name) {
    function_handle found = nullptr;
    EXPECT_EQ(cuda().find_function(&found, module, name), status::success) << name;
    return found;
  }
  template <class... T> status launch(char const* name, unsigned blocks, unsigned threads, T... arguments) {
    void* all[] = {&arguments..., nullptr};
    return cuda().launch(function(name), blocks, 1, 1, threads, 1, 1, 0, stream, all, nullptr);
  }
  status wait() { return cuda().wait_for_stream(stream); }

  /// Expects that the work before fails with `why`, as all calls do from then on; the context begins anew.
  void expect_lost(status why, std::string const& fault = "") {
    EXPECT_EQ(wait(), why);
    std::size_t bytes = 0;
    EXPECT_EQ(cuda().memory_info(&bytes, &bytes), why);
    address at = 0;
    EXPECT_EQ(cuda().allocate(&at, 4, pool, stream), why);
    EXPECT_NE(std::string(cuda().last_fault()).find(fault), std::string::npos) << cuda().last_fault();
    end();
    begin();
  }
};

TEST_F(emulated_cuda, adds_one_in_each_order) {
  for (unsigned long long const seed : {0ull, 1ull, 2ull, 3ull}) {
    cuda().set_order(seed);
    std::vector<float> values(1000);
    std::iota(values.begin(), values.end(), 0.0f);
    address const from = put(values), to = allocate(4000);
    EXPECT_EQ(launch("add_one", 4, 256, from, to, 1000u), status::success);
    for (auto& each : values) each += 1;
    EXPECT_EQ(get<float>(to, 1000), values);
    free(from), free(to);
  }
}

TEST_F(emulated_cuda, runs_blocks_and_threads_in_the_order_of_a_seed) {
  auto const ran = [&](unsigned long long seed) {
    cuda().set_order(seed);
    address const at = put(std::vector<unsigned>(25));
    EXPECT_EQ(launch("order_of", 4, 6, at), status::success);
    auto order = get<unsigned>(at, 25);
    free(at);
    EXPECT_EQ(order.front(), 24);
    order.erase(order.begin());
    return order;
  };
  std::vector<unsigned> ascending(24);
  std::iota(ascending.begin(), ascending.end(), 0u);
  EXPECT_EQ(ran(0), ascending);
  EXPECT_EQ(ran(1), std::vector<unsigned>(ascending.rbegin(), ascending.rend()));
  auto random = ran(2);
  EXPECT_EQ(ran(2), random);
  EXPECT_NE(ran(3), random);
  EXPECT_NE(random, ascending);
  std::sort(random.begin(), random.end());
  EXPECT_EQ(random, ascending);
}

TEST_F(emulated_cuda, knows_threads_and_blocks_in_three_directions) {
  std::size_t const count = 2 * 3 * 4 * 5 * 3 * 2;
  address const at = put(std::vector<unsigned>(count));
  void* arguments[] = {const_cast<address*>(&at)};
  EXPECT_EQ(cuda().launch(function("places"), 2, 3, 4, 5, 3, 2, 0, stream, arguments, nullptr), status::success);
  auto const values = get<unsigned>(at, count);
  for (unsigned i = 0; i < count; ++i) ASSERT_EQ(values[i], i / 30 * 1000 + i % 30) << i;
  free(at);
}

TEST_F(emulated_cuda, copies_parts_and_fills_fresh_memory_with_ones) {
  address const a = put(std::vector<unsigned char>{1, 2, 3, 4, 5, 6, 7}), b = allocate(5);
  EXPECT_EQ(a % 256, 0);
  EXPECT_EQ(b % 256, 0);
  EXPECT_EQ(cuda().copy_within(b + 1, a + 4, 3, stream), status::success);
  EXPECT_EQ(get<unsigned char>(b, 5), (std::vector<unsigned char>{255, 5, 6, 7, 255}));
  EXPECT_EQ(cuda().copy_within(b + 5, a, 0, stream), status::success);
  EXPECT_EQ(cuda().copy_out(nullptr, a, 0, stream), status::success);
  EXPECT_EQ(cuda().copy_in(a, nullptr, 1, stream), status::invalid_value);
  unsigned char one = 0;
  EXPECT_EQ(cuda().copy_out(reinterpret_cast<void*>(a), b, 1, stream), status::invalid_value);
  EXPECT_EQ(cuda().copy_out(&one, a + 2, 1, nullptr), status::success);
  EXPECT_EQ(cuda().wait_for_stream(nullptr), status::success);
  EXPECT_EQ(one, 3);
  free(a), free(b);
}

TEST_F(emulated_cuda, copies_arguments_and_pageable_memory_when_a_call_returns) {
  int value = 5;
  address const at = allocate(4);
  cuda().hold_launch(1);
  long place = 0;
  address where = at;
  void* arguments[] = {&where, &place};
  EXPECT_EQ(cuda().launch(function("write_at"), 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr), status::success);
  where = 0, place = 1000;
  address const other = allocate(4);
  EXPECT_EQ(cuda().copy_in(other, &value, 4, stream), status::success);
  value = 6;
  cuda().release_launches();
  EXPECT_EQ(get<int>(other, 1).front(), 5);
  EXPECT_EQ(get<int>(at, 1).front(), 7);
  free(at), free(other);
}

TEST_F(emulated_cuda, streams_work_by_themselves_and_events_say_how_far_they_are) {
  address const at = put(std::vector<int>{0, 0});
  event_handle before = nullptr, after = nullptr;
  EXPECT_EQ(cuda().create_event(&before, event_without_time), status::success);
  EXPECT_EQ(cuda().create_event(&after, event_without_time | event_blocking_wait), status::success);
  EXPECT_EQ(cuda().ask_event(after), status::success);  // never recorded
  EXPECT_EQ(cuda().record_event(before, stream), status::success);
  cuda().hold_launch(1);
  EXPECT_EQ(launch("write_at", 1, 1, at, 1l), status::success);
  EXPECT_EQ(cuda().record_event(after, stream), status::success);
  EXPECT_EQ(cuda().wait_for_event(before), status::success);
  EXPECT_EQ(cuda().ask_event(before), status::success);
  EXPECT_EQ(cuda().ask_event(after), status::not_ready);

  stream_handle other = nullptr;  // does its work meanwhile
  EXPECT_EQ(cuda().create_stream(&other, stream_non_blocking), status::success);
  int values[2] = {3, 4};
  EXPECT_EQ(cuda().copy_in(at, values, 4, other), status::success);
  EXPECT_EQ(cuda().wait_for_stream(other), status::success);
  EXPECT_EQ(cuda().ask_event(after), status::not_ready);
  cuda().release_launches();
  EXPECT_EQ(cuda().wait_for_event(after), status::success);
  EXPECT_EQ(cuda().ask_event(after), status::success);
  EXPECT_EQ(get<int>(at, 2), (std::vector<int>{3, 7}));
  EXPECT_EQ(cuda().destroy_stream(other), status::success);
  EXPECT_EQ(cuda().destroy_event(before), status::success);
  EXPECT_EQ(cuda().destroy_event(after), status::success);
  free(at);
}

TEST_F(emulated_cuda, a_stream_waits_for_an_event_and_the_host_does_not) {
  address const at = put(std::vector<int>{1});
  EXPECT_EQ(wait(), status::success);
  event_handle written = nullptr, read = nullptr;
  stream_handle other = nullptr;
  EXPECT_EQ(cuda().create_event(&written, event_without_time), status::success);
  EXPECT_EQ(cuda().create_event(&read, event_without_time), status::success);
  EXPECT_EQ(cuda().create_stream(&other, stream_non_blocking), status::success);
  int value = 0, before = 0;
  EXPECT_EQ(cuda().make_stream_wait(other, written, 0), status::success);  // never recorded: nothing to wait for
  EXPECT_EQ(cuda().copy_out(&before, at, 4, other), status::success);
  EXPECT_EQ(cuda().wait_for_stream(other), status::success);
  EXPECT_EQ(before, 1);

  cuda().hold_launch(1);
  EXPECT_EQ(launch("write_at", 1, 1, at, 0l), status::success);
  EXPECT_EQ(cuda().record_event(written, stream), status::success);
  EXPECT_EQ(cuda().make_stream_wait(other, written, 0), status::success);
  EXPECT_EQ(cuda().copy_out(&value, at, 4, other), status::success);
  EXPECT_EQ(cuda().record_event(read, other), status::success);
  EXPECT_EQ(cuda().record_event(written, other), status::success);  // changes nothing for whoever waits already
  EXPECT_EQ(cuda().ask_event(read), status::not_ready);
  cuda().release_launches();
  EXPECT_EQ(cuda().wait_for_event(read), status::success);
  EXPECT_EQ(value, 7);
  EXPECT_EQ(cuda().make_stream_wait(other, written, 1), status::invalid_value);
  EXPECT_EQ(cuda().make_stream_wait(other, nullptr, 0), rill::cuda::status{400});
  EXPECT_EQ(cuda().destroy_stream(other), status::success);
  EXPECT_EQ(cuda().destroy_event(written), status::success);
  EXPECT_EQ(cuda().destroy_event(read), status::success);
  free(at);
}

TEST_F(emulated_cuda, copies_of_page_locked_memory_use_it_when_the_stream_reaches_them) {
  int* const here = host_memory<int>(2);
  EXPECT_EQ(here[0], -1);
  here[0] = 1, here[1] = 2;
  address const at = put(std::vector<int>{0, 0});
  cuda().hold_launch(1);
  EXPECT_EQ(launch("write_at", 1, 1, at, 1l), status::success);
  EXPECT_EQ(cuda().copy_in(at, here, 4, stream), status::success);
  here[0] = 3;  // a program must not do this before the copy is done
  EXPECT_EQ(cuda().copy_out(here + 1, at + 4, 4, stream), status::success);
  cuda().release_launches();
  EXPECT_EQ(get<int>(at, 2), (std::vector<int>{3, 7}));
  EXPECT_EQ(here[1], 7);
  EXPECT_EQ(cuda().copy_in(at, here + 1, 8, stream), status::invalid_value);
  EXPECT_EQ(cuda().copy_out(here + 1, at, 8, stream), status::invalid_value);
  EXPECT_EQ(cuda().deallocate_host(here), status::success);
  free(at);
}

TEST_F(emulated_cuda, kernels_reach_page_locked_memory) {
  float* const here = host_memory<float>(3);
  std::iota(here, here + 3, 0.0f);
  address there = 0;
  EXPECT_EQ(cuda().address_of_host(&there, here + 1, 0), status::success);
  EXPECT_EQ(there, reinterpret_cast<address>(here + 1));
  address const to = allocate(8);
  EXPECT_EQ(launch("add_one", 1, 2, there, to, 2u), status::success);
  EXPECT_EQ(get<float>(to, 2), (std::vector<float>{2, 3}));
  EXPECT_EQ(launch("add_one", 1, 2, to, there, 2u), status::success);
  EXPECT_EQ(wait(), status::success);
  EXPECT_EQ(here[2], 4);
  free(to);
  EXPECT_EQ(launch("add_one", 1, 3, there, there, 3u), status::success);
  expect_lost(status::illegal_address, "thread (2, 0, 0): an access to 4 bytes at 0x");
}

TEST_F(emulated_cuda, page_locked_memory_has_limits_and_an_end) {
  float beside = 0;
  address there = 0;
  EXPECT_EQ(cuda().address_of_host(&there, &beside, 0), status::invalid_value);
  EXPECT_EQ(cuda().deallocate_host(&beside), status::invalid_value);
  void* at = nullptr;
  EXPECT_EQ(cuda().allocate_host(&at, 0, host_portable), status::invalid_value);
  EXPECT_EQ(cuda().allocate_host(&at, 4, 64), status::invalid_value);
  EXPECT_EQ(cuda().allocate_host(&at, std::size_t{1} << 50, host_portable), status::out_of_memory);
  cuda().fail_page_locked(1);
  EXPECT_EQ(cuda().allocate_host(&at, 4, host_portable), status::out_of_memory);

  int* const here = host_memory<int>(3);
  EXPECT_EQ(cuda().count().page_locked, 1);
  EXPECT_EQ(cuda().count().page_locked_bytes, 12);
  EXPECT_EQ(cuda().deallocate_host(here + 1), status::invalid_value);
  // Freed before the copy has read it.
  address const to = allocate(12);
  cuda().hold_launch(1);
  EXPECT_EQ(launch("write_at", 1, 1, to, 0l), status::success);
  EXPECT_EQ(cuda().copy_in(to, here, 12, stream), status::success);
  EXPECT_EQ(cuda().deallocate_host(here), status::success);
  EXPECT_EQ(cuda().count().page_locked, 0);
  cuda().release_launches();
  expect_lost(status::illegal_address, "no address of a device's memory, nor of page-locked memory");
}

TEST_F(emulated_cuda, page_locked_memory_goes_with_its_context) {
  host_memory<int>(5);
  EXPECT_EQ(cuda().count().page_locked, 1);
  end();
  EXPECT_EQ(cuda().count().page_locked, 0);
  begin();
}

TEST_F(emulated_cuda, the_host_faults_behind_the_end_of_page_locked_memory) {
  char* const here = host_memory<char>(256);
  EXPECT_DEATH(*static_cast<char volatile*>(here + 256) = 1, "");
  EXPECT_EQ(cuda().deallocate_host(here), status::success);
}

TEST_F(emulated_cuda, a_destroyed_stream_does_its_work) {
  address const at = put(std::vector<int>{0});
  EXPECT_EQ(wait(), status::success);
  stream_handle other = nullptr;
  event_handle done = nullptr;
  EXPECT_EQ(cuda().create_stream(&other, stream_non_blocking), status::success);
  EXPECT_EQ(cuda().create_event(&done, event_without_time), status::success);
  std::swap(stream, other);
  cuda().hold_launch(1);
  EXPECT_EQ(launch("write_at", 1, 1, at, 0l), status::success);
  EXPECT_EQ(cuda().record_event(done, stream), status::success);
  std::swap(stream, other);
  EXPECT_EQ(cuda().destroy_stream(other), status::success);
  EXPECT_EQ(cuda().count().streams, 1);
  EXPECT_EQ(cuda().ask_event(done), status::not_ready);
  cuda().release_launches();
  EXPECT_EQ(cuda().wait_for_event(done), status::success);
  EXPECT_EQ(get<int>(at, 1).front(), 7);
  EXPECT_EQ(cuda().destroy_event(done), status::success);
  free(at);
}

TEST_F(emulated_cuda, the_stream_without_a_handle_is_ordered_with_those_that_block) {
  stream_handle blocking = nullptr;
  EXPECT_EQ(cuda().create_stream(&blocking, 0), status::success);
  address const at = put(std::vector<int>{0});
  EXPECT_EQ(wait(), status::success);
  std::swap(stream, blocking);
  cuda().hold_launch(1);
  EXPECT_EQ(launch("write_at", 1, 1, at, 0l), status::success);
  std::swap(stream, blocking);
  int first = 0, second = 0, value = 8;
  event_handle read = nullptr;
  EXPECT_EQ(cuda().create_event(&read, event_without_time), status::success);
  EXPECT_EQ(cuda().copy_out(&first, at, 4, nullptr), status::success);
  EXPECT_EQ(cuda().record_event(read, nullptr), status::success);
  EXPECT_EQ(cuda().copy_in(at, &value, 4, nullptr), status::success);
  EXPECT_EQ(cuda().copy_out(&second, at, 4, blocking), status::success);
  EXPECT_EQ(cuda().ask_event(read), status::not_ready);
  cuda().release_launches();
  EXPECT_EQ(cuda().wait_for_stream(blocking), status::success);
  EXPECT_EQ(first, 7);
  EXPECT_EQ(second, 8);
  EXPECT_EQ(cuda().destroy_event(read), status::success);
  EXPECT_EQ(cuda().destroy_stream(blocking), status::success);
  free(at);
}

TEST_F(emulated_cuda, finds_a_read_behind_the_end) {
  address const from = put(std::vector<char>(5)), to = allocate(1);
  EXPECT_EQ(launch("read_at", 1, 1, from, to, 4l), status::success);
  EXPECT_EQ(wait(), status::success);
  EXPECT_EQ(launch("read_at", 1, 1, from, to, 5l), status::success);
  expect_lost(status::illegal_address, "0 bytes behind the end of an allocation of 5 bytes");
}

TEST_F(emulated_cuda, finds_a_read_before_the_begin) {
  address const from = allocate(5), to = allocate(1);
  EXPECT_EQ(launch("read_at", 1, 1, from, to, -1l), status::success);
  expect_lost(status::illegal_address, "kernel read_at, block (0, 0, 0), thread (0, 0, 0): an access to 1 byte at 0x");
}

TEST_F(emulated_cuda, finds_a_write_behind_the_end) {
  address const at = allocate(5);
  EXPECT_EQ(launch("write_chars", 1, 1, at, 4l, 'x'), status::success);
  EXPECT_EQ(wait(), status::success);
  EXPECT_EQ(launch("write_chars", 1, 1, at, 5l, 'x'), status::success);
  expect_lost(status::illegal_address, "0 bytes behind the end of an allocation of 5 bytes");
}

TEST_F(emulated_cuda, finds_an_element_that_is_half_outside) {
  address const at = allocate(10);
  EXPECT_EQ(launch("write_at", 1, 1, at, 1l), status::success);
  EXPECT_EQ(wait(), status::success);
  EXPECT_EQ(launch("write_at", 1, 1, at, 2l), status::success);
  expect_lost(status::illegal_address, "at byte 8 of an allocation of 10 bytes");
}

TEST_F(emulated_cuda, finds_a_write_before_the_begin) {
  address const at = allocate(8);
  EXPECT_EQ(launch("write_at", 1, 1, at, -1l), status::success);
  expect_lost(status::illegal_address, "4 bytes before an allocation of 8 bytes");
}

TEST_F(emulated_cuda, finds_the_thread_that_leaves_its_memory) {
  address const from = put(std::vector<float>(600)), to = allocate(2396);
  EXPECT_EQ(launch("add_one", 3, 256, from, to, 600u), status::success);
  expect_lost(status::illegal_address, "kernel add_one, block (2, 0, 0), thread (87, 0, 0)");
}

TEST_F(emulated_cuda, finds_misaligned_access) {
  address const at = allocate(8);
  EXPECT_EQ(launch("write_at", 1, 1, at + 2, 0l), status::success);
  expect_lost(status::misaligned_address, "not a multiple of 4");
}

TEST_F(emulated_cuda, finds_use_after_free) {
  address const at = put(std::vector<int>(4));
  free(at);
  EXPECT_EQ(launch("write_at", 1, 1, at, 3l), status::success);
  expect_lost(status::illegal_address, "at byte 12 of an allocation of 16 bytes that was freed");
}

TEST_F(emulated_cuda, finds_use_before_the_stream_has_allocated) {
  address const other = allocate(8);
  EXPECT_EQ(wait(), status::success);
  cuda().hold_launch(1);
  EXPECT_EQ(launch("write_at", 1, 1, other, 0l), status::success);
  address const at = allocate(8);
  stream_handle second = nullptr;
  EXPECT_EQ(cuda().create_stream(&second, stream_non_blocking), status::success);
  std::swap(stream, second);
  EXPECT_EQ(launch("write_at", 1, 1, at, 0l), status::success);
  EXPECT_EQ(wait(), status::illegal_address);
  std::swap(stream, second);
  cuda().destroy_stream(second);
  expect_lost(status::illegal_address, "that its stream has not reached");
}

TEST_F(emulated_cuda, finds_a_host_pointer_in_a_kernel) {
  int value = 0;
  EXPECT_EQ(launch("write_at", 1, 1, reinterpret_cast<address>(&value), 0l), status::success);
  expect_lost(status::illegal_address, "no address of a device's memory");
  EXPECT_EQ(value, 0);
}

TEST_F(emulated_cuda, shows_what_was_never_written) {
  address const from = allocate(64), to = allocate(64);
  EXPECT_EQ(launch("add_one", 1, 16, from, to, 16u), status::success);
  for (float const each : get<float>(to, 16)) EXPECT_NE(each, each);  // 0xffffffff is a NaN
  free(from), free(to);
}

TEST_F(emulated_cuda, refuses_a_text_that_writes_where_it_may_only_read) {
  auto const text = [](std::string const& body) {
    return "#include \"rill/cuda/text/global.cuh\"\nextern \"C\" __global__ void k(rill::text::global<int const> from, "
           "rill::text::global<int> to) {\n" +
           body + "\n}\n";
  };
  EXPECT_EQ(compile(text("*to = from[0];")).result, nvrtc_status::success);
  auto const written = compile(text("from[0] = *to;"));
  EXPECT_EQ(written.result, nvrtc_status::compilation);
  EXPECT_NE(written.log.find("read-only"), std::string::npos) << written.log;
  EXPECT_EQ(compile(text("rill::text::global<int> also = from;")).result, nvrtc_status::compilation);
  auto const cast = compile(text("auto also = static_cast<rill::text::global<int>>(from);"));
  EXPECT_EQ(cast.result, nvrtc_status::compilation);
  EXPECT_NE(cast.log.find("takes no const away"), std::string::npos) << cast.log;
}

TEST_F(emulated_cuda, checks_both_ends_of_copies_to_the_byte) {
  std::vector<char> here(64);
  for (int which = 0; which < 4; ++which) {
    address const a = allocate(64), b = allocate(32);
    EXPECT_EQ(cuda().copy_in(a, here.data(), 64, stream), status::success);
    EXPECT_EQ(wait(), status::success);
    auto const copied = which == 0   ? cuda().copy_in(a + 1, here.data(), 64, stream)
                        : which == 1 ? cuda().copy_out(here.data(), a - 1, 64, stream)
                        : which == 2 ? cuda().copy_within(b, a, 33, stream)
                                     : cuda().copy_within(a, b, 33, stream);
    EXPECT_EQ(copied, status::success);
    expect_lost(status::illegal_address);
  }
}

TEST_F(emulated_cuda, refuses_to_free_twice_or_what_it_did_not_allocate) {
  address const at = allocate(64);
  EXPECT_EQ(cuda().deallocate(at + 16, stream), status::invalid_value);
  free(at);
  EXPECT_EQ(cuda().deallocate(at, stream), status::invalid_value);
  EXPECT_EQ(wait(), status::success);
  EXPECT_EQ(cuda().deallocate(at, stream), status::invalid_value);
  EXPECT_EQ(cuda().deallocate(0, stream), status::invalid_value);
}

TEST_F(emulated_cuda, the_host_faults_where_it_touches_a_devices_memory) {
  address const at = put(std::vector<float>(4));
  EXPECT_EQ(wait(), status::success);
  EXPECT_DEATH(std::printf("%f", static_cast<double>(*reinterpret_cast<float const volatile*>(at))), "");
  free(at);
}

TEST_F(emulated_cuda, a_child_process_has_no_driver) {
  EXPECT_EXIT(
      std::_Exit(cuda().wait_for_stream(stream) == status::not_initialized && cuda().init(0) == status::not_initialized
                     ? 0
                     : 1),
      testing::ExitedWithCode(0), "");
}

TEST_F(emulated_cuda, memory_has_limits) {
  std::size_t before = 0, now = 0, total = 0;
  EXPECT_EQ(cuda().memory_info(&before, &total), status::success);
  EXPECT_EQ(before, total);
  address at = 0;
  EXPECT_EQ(cuda().allocate(&at, total + 1, pool, stream), status::out_of_memory);
  EXPECT_EQ(cuda().allocate(&at, 0, pool, stream), status::invalid_value);

  pool_properties const properties{1, 0, {1, 0}, nullptr, 1000, 0, {}};
  pool_handle small = nullptr;
  EXPECT_EQ(cuda().create_pool(&small, &properties), status::success);
  std::size_t keep = 500;
  EXPECT_EQ(cuda().set_pool_attribute(small, pool_attribute::release_threshold, &keep), status::success);
  EXPECT_EQ(cuda().allocate(&at, 600, small, stream), status::success);
  address other = 0;
  EXPECT_EQ(cuda().allocate(&other, 401, small, stream), status::out_of_memory);
  EXPECT_EQ(cuda().allocate(&other, 400, small, stream), status::success);
  EXPECT_EQ(cuda().memory_info(&now, &total), status::success);
  EXPECT_EQ(now, before - 1000);
  free(at), free(other);
  EXPECT_EQ(wait(), status::success);
  EXPECT_EQ(cuda().memory_info(&now, &total), status::success);
  EXPECT_EQ(now, before - 500);  // what the pool keeps
  EXPECT_EQ(cuda().trim_pool(small, 100), status::success);
  EXPECT_EQ(cuda().memory_info(&now, &total), status::success);
  EXPECT_EQ(now, before - 100);
  EXPECT_EQ(cuda().destroy_pool(small), status::success);
  EXPECT_EQ(cuda().memory_info(&now, &total), status::success);
  EXPECT_EQ(now, before);
}

TEST_F(emulated_cuda, knows_handles_that_are_not_alive) {
  constexpr auto invalid_handle = rill::cuda::status{400};
  stream_handle other = nullptr;
  EXPECT_EQ(cuda().create_stream(&other, stream_non_blocking), status::success);
  EXPECT_EQ(cuda().destroy_stream(other), status::success);
  EXPECT_EQ(cuda().destroy_stream(other), invalid_handle);
  EXPECT_EQ(cuda().wait_for_stream(other), invalid_handle);
  address at = 0;
  EXPECT_EQ(cuda().allocate(&at, 4, pool, other), invalid_handle);
  EXPECT_EQ(cuda().wait_for_event(nullptr), invalid_handle);
  EXPECT_EQ(cuda().unload_module(nullptr), invalid_handle);
  EXPECT_EQ(cuda().destroy_pool(nullptr), status::invalid_value);
  EXPECT_EQ(cuda().push_context(nullptr), status::invalid_context);
  auto const f = function("write_at");
  end();
  EXPECT_EQ(cuda().wait_for_stream(stream), status::invalid_context);
  EXPECT_EQ(cuda().pop_context(nullptr), status::invalid_context);
  EXPECT_EQ(cuda().release_primary_context(0), status::invalid_context);
  EXPECT_EQ(cuda().push_context(context), status::invalid_context);
  begin();
  EXPECT_EQ(cuda().launch(f, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr), invalid_handle);
}

TEST_F(emulated_cuda, a_context_ends_with_all_that_is_in_it) {
  cuda().hold_launch(1);
  address const at = allocate(64);
  EXPECT_EQ(launch("write_at", 1, 1, at, 0l), status::success);
  rill::cuda::context second = nullptr;
  EXPECT_EQ(cuda().retain_primary_context(&second, 0), status::success);
  EXPECT_EQ(second, context);
  EXPECT_EQ(cuda().release_primary_context(0), status::success);
  EXPECT_EQ(cuda().count().contexts, 1);
  EXPECT_EQ(cuda().release_primary_context(0), status::success);
  auto const left = cuda().count();
  EXPECT_EQ(left.contexts + left.streams + left.modules + left.allocations, 0);
  std::size_t bytes = 0;
  EXPECT_EQ(cuda().memory_info(&bytes, &bytes), rill::cuda::status{709});  // the current context is destroyed
  EXPECT_EQ(cuda().pop_context(nullptr), status::success);
  cuda().destroy_pool(pool);
  begin();
}

TEST_F(emulated_cuda, refuses_launches_that_no_device_runs) {
  address const at = allocate(4096);
  EXPECT_EQ(launch("write_at", 1, 1025, at, 0l), status::invalid_value);
  EXPECT_EQ(launch("write_at", 0, 1, at, 0l), status::invalid_value);
  EXPECT_EQ(launch("add_one", 1, 512, at, at, 0u), status::launch_out_of_resources);  // __launch_bounds__
  EXPECT_EQ(cuda().launch(function("write_at"), 1, 1, 1, 1, 1, 1, 1 << 20, stream, nullptr, nullptr),
            status::invalid_value);
  EXPECT_EQ(wait(), status::success);
  function_handle none = nullptr;
  EXPECT_EQ(cuda().find_function(&none, module, "no_kernel"), status::not_found);
  free(at);
}

TEST_F(emulated_cuda, refuses_images_that_are_damaged_or_for_other_devices) {
  module_handle none = nullptr;
  auto code = compile(kernels).code;
  code[code.size() / 2] ^= 1;
  EXPECT_EQ(cuda().load_module(&none, code.data()), status::invalid_image);
  EXPECT_EQ(cuda().load_module(&none, ""), status::invalid_image);
  EXPECT_EQ(cuda().load_module(&none, "\177ELF"), status::invalid_image);
  auto const newer = compile(kernels, {"-arch=sm_100"});
  ASSERT_EQ(newer.result, nvrtc_status::success) << newer.log;
  EXPECT_EQ(cuda().load_module(&none, newer.code.data()), status::no_binary_for_gpu);
  EXPECT_EQ(compile(kernels, {"--gpu-architecture=compute_90"}).code.size(), 0);
}

TEST_F(emulated_cuda, reports_what_the_compiler_says) {
  auto const wrong = compile("\nextern \"C\" __global__ void wrong() { missing(); }\n");
  EXPECT_EQ(wrong.result, nvrtc_status::compilation);
  EXPECT_NE(wrong.log.find("test.cu:2"), std::string::npos) << wrong.log;
  EXPECT_NE(wrong.log.find("missing"), std::string::npos) << wrong.log;
  EXPECT_EQ(wrong.code.size(), 0);
  auto const unknown = compile(kernels, {"--no-such-option"});
  EXPECT_EQ(unknown.result, nvrtc_status::invalid_option);
  EXPECT_NE(unknown.log.find("--no-such-option"), std::string::npos) << unknown.log;
  EXPECT_EQ(compile(kernels, {"-arch=sm_35"}).result, nvrtc_status::invalid_option);
  auto const absent = compile("#include \"rill/absent.hpp\"\n");
  EXPECT_EQ(absent.result, nvrtc_status::compilation);
  EXPECT_NE(absent.log.find("test.cu:1"), std::string::npos) << absent.log;
  EXPECT_NE(absent.log.find("rill/absent.hpp"), std::string::npos) << absent.log;
}

TEST_F(emulated_cuda, compiles_against_the_headers_that_it_is_given) {
  std::string const text = R"(
 #include <bit>
 #include "some/number.hpp"
extern "C" __global__ void put_number(rill::text::global<int> to) { *to = std::bit_cast<int>(number()) + OFFSET; }
)";
  auto const made =
      compile(text,
              {"--std=c++20", "--gpu-architecture=sm_90", "--fmad=false", "--device-as-default-execution-space",
               "--no-cache", "-DOFFSET=2"},
              {{"bit", "#error the compiler has its own"},
               {"rill/cuda/text/global.cuh", "#error this text is not the emulated one"},
               {"some/number.hpp",
                "#include \"rill/cuda/text/global.cuh\"\ninline __device__ unsigned number() { return 40; }\n"}});
  ASSERT_EQ(made.result, nvrtc_status::success) << made.log;
  EXPECT_EQ(cuda().unload_module(module), status::success);
  ASSERT_EQ(cuda().load_module(&module, made.code.data()), status::success);
  address const at = allocate(4);
  EXPECT_EQ(launch("put_number", 1, 1, at), status::success);
  EXPECT_EQ(get<int>(at, 1).front(), 42);
  free(at);
}

TEST_F(emulated_cuda, global_has_the_uses_of_a_pointer) {
  auto const made = compile(R"(
 #include "rill/cuda/text/global.cuh"
using rill::text::global;
struct pair { int a, b; };
template <class T> T first_of(global<T const> p) { return *p; }
extern "C" __global__ void use(global<int> p, global<pair> pairs, global<int> results) {
  static_assert(sizeof(p) == sizeof(int*));
  global<int const> q = p;
  global<int> end = p + 4u, at = 1 + p;
  int n = 0;
  auto const holds = [&](bool right) { results[n++] = right; };
  holds(*p == 10 && p[1] == 11 && q[2l] == 12 && (end - 1)[0] == 13);
  holds(end - p == 4 && p < at && at <= end && q == p && p != end && end > q);
  holds(*at++ == 11 && *at == 12 && *--at == 11 && *++at == 12 && *at-- == 12);
  at += 2, at -= 1;
  holds(*at == 12 && at[-1] == 11);
  holds(first_of<int>(p) == 10);
  int* const inside = &p[1];
  *inside += 100, p[2] *= 2;
  holds(p[1] == 111 && q[2] == 24);
  pairs->a = 3, pairs[1] = {4, 5};
  holds((pairs + 1)->b == 5 && (*pairs).a == 3);
  global<int> none = nullptr;
  holds(!none && p);
}
)");
  ASSERT_EQ(made.result, nvrtc_status::success) << made.log;
  EXPECT_EQ(cuda().unload_module(module), status::success);
  ASSERT_EQ(cuda().load_module(&module, made.code.data()), status::success);
  address const p = put(std::vector<int>{10, 11, 12, 13}), pairs = allocate(16), results = allocate(32);
  EXPECT_EQ(launch("use", 1, 1, p, pairs, results), status::success);
  EXPECT_EQ(get<int>(results, 8), std::vector<int>(8, 1));
  free(p), free(pairs), free(results);
}

TEST_F(emulated_cuda, compiles_a_text_once) {
  compile(kernels);
  auto const before = cuda().compiled_texts();
  EXPECT_EQ(compile(kernels).result, nvrtc_status::success);
  EXPECT_EQ(cuda().compiled_texts(), before);
}

TEST_F(emulated_cuda, finds_the_kernels_of_texts_that_were_joined) {
  auto const part = [](std::string const& mark, int step) {
    return "#include \"rill/cuda/text/global.cuh\"\nnamespace text_" + mark +
           " { using rill::text::global;\nconstexpr int step = " + std::to_string(step) +
           ";\nextern \"C\" __global__ void add_" + mark +
           "(global<int> to) { to[0] += step; }\n}  // namespace text_" + mark + "\n";
  };
  auto const before = cuda().compiled_programs();
  auto const joined = compile(part("a", 2) + part("b", 3)), again = compile(part("b", 3) + part("a", 2));
  ASSERT_EQ(joined.result, nvrtc_status::success) << joined.log;
  ASSERT_EQ(again.result, nvrtc_status::success) << again.log;
  EXPECT_EQ(cuda().compiled_programs(), before + 2);
  address const at = put(std::vector<int>{10});
  void* arguments[] = {const_cast<address*>(&at)};
  for (auto const& code : {joined.code, again.code}) {
    module_handle mine = nullptr;
    ASSERT_EQ(cuda().load_module(&mine, code.data()), status::success);
    for (auto const* name : {"add_a", "add_b"}) {
      function_handle f = nullptr;
      ASSERT_EQ(cuda().find_function(&f, mine, name), status::success);
      EXPECT_EQ(cuda().launch(f, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr), status::success);
    }
    function_handle none = nullptr;
    EXPECT_EQ(cuda().find_function(&none, mine, "add_c"), status::not_found);
    EXPECT_EQ(wait(), status::success);
    EXPECT_EQ(cuda().unload_module(mine), status::success);
  }
  EXPECT_EQ(get<int>(at, 1).front(), 20);
  free(at);
}

TEST_F(emulated_cuda, threads_compile_and_run_at_a_time) {
  auto const work = [&] {
    EXPECT_EQ(cuda().push_context(context), status::success);
    stream_handle own = nullptr;
    EXPECT_EQ(cuda().create_stream(&own, stream_non_blocking), status::success);
    module_handle mine = nullptr;
    auto const made = compile(kernels + "// for threads\n");
    EXPECT_EQ(cuda().load_module(&mine, made.code.data()), status::success) << made.log;
    function_handle f = nullptr;
    EXPECT_EQ(cuda().find_function(&f, mine, "write_at"), status::success);
    for (long i = 0; i < 50; ++i) {
      address at = 0;
      EXPECT_EQ(cuda().allocate(&at, 400, pool, own), status::success);
      void* arguments[] = {&at, &i};
      EXPECT_EQ(cuda().launch(f, 1, 1, 1, 1, 1, 1, 0, own, arguments, nullptr), status::success);
      std::vector<int> values(100);
      EXPECT_EQ(cuda().copy_out(values.data(), at, 400, own), status::success);
      EXPECT_EQ(cuda().deallocate(at, own), status::success);
      EXPECT_EQ(cuda().wait_for_stream(own), status::success);
      EXPECT_EQ(values[static_cast<std::size_t>(i)], 7);
    }
    EXPECT_EQ(cuda().unload_module(mine), status::success);
    EXPECT_EQ(cuda().destroy_stream(own), status::success);
    EXPECT_EQ(cuda().pop_context(nullptr), status::success);
  };
  std::thread first(work), second(work);
  first.join(), second.join();
}

TEST_F(emulated_cuda, lies_about_memory) {
  cuda().fail_allocation(2);
  address const at = allocate(4);
  address none = 0;
  EXPECT_EQ(cuda().allocate(&none, 4, pool, stream), status::out_of_memory);
  EXPECT_EQ(none, 0);
  address const third = allocate(4);
  EXPECT_EQ(wait(), status::success);
  free(at), free(third);
}

TEST_F(emulated_cuda, fails_a_launch_late) {
  address const at = allocate(4);
  cuda().fail_launch(2);
  EXPECT_EQ(launch("write_at", 1, 1, at, 0l), status::success);
  EXPECT_EQ(wait(), status::success);
  cuda().hold_launch(1);
  EXPECT_EQ(launch("write_at", 1, 1, at, 0l), status::success);
  EXPECT_EQ(cuda().copy_within(at, at, 4, stream), status::success);
  cuda().release_launches();
  expect_lost(status::launch_failed);
}

TEST_F(emulated_cuda, loses_a_device) {
  address const at = allocate(4);
  cuda().hold_launch(1);
  EXPECT_EQ(launch("write_at", 1, 1, at, 0l), status::success);
  EXPECT_FALSE(cuda().lose_device(7, status::unknown));
  EXPECT_TRUE(cuda().lose_device(0, status::unknown));
  expect_lost(status::unknown);
}

TEST_F(emulated_cuda, says_what_it_is) {
  int number = 0;
  EXPECT_EQ(cuda().device(&number, 0), status::success);
  EXPECT_EQ(cuda().device(&number, 1000), status::invalid_device);
  char name[8] = {};
  EXPECT_EQ(cuda().device_name(name, sizeof name, 0), status::success);
  EXPECT_STREQ(name, "Emulate");
  auto const attribute = [&](device_attribute which) {
    int value = 0;
    EXPECT_EQ(cuda().attribute_of(&value, which, 0), status::success);
    return value;
  };
  EXPECT_EQ(attribute(device_attribute::compute_capability_major), 9);
  EXPECT_EQ(attribute(device_attribute::multiprocessors), 4);
  char const* text = nullptr;
  EXPECT_EQ(cuda().error_name(status::illegal_address, &text), status::success);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(cuda().error_text(rill::cuda::status{12345}, &text), status::invalid_value);
  int major = 0, minor = 1, count = 0;
  EXPECT_EQ(cuda().nvrtc.version(&major, &minor), nvrtc_status::success);
  EXPECT_EQ(major * 10 + minor, 130);
  EXPECT_EQ(cuda().nvrtc.architecture_count(&count), nvrtc_status::success);
  std::vector<int> architectures(static_cast<std::size_t>(count));
  EXPECT_EQ(cuda().nvrtc.architectures(architectures.data()), nvrtc_status::success);
  EXPECT_EQ(architectures, (std::vector<int>{80, 90, 100}));
  EXPECT_STREQ(cuda().nvrtc.error_text(nvrtc_status::compilation), "NVRTC_ERROR_COMPILATION");
}

// ---------------------------------------------------------------------------------------------------------------------
// Threads that wait for each other

std::string const block_kernels = R"(
 #include "rill/cuda/text/global.cuh"
using rill::text::global;

/// Each thread adds what its neighbours wrote before.
extern "C" __global__ void add_neighbours(global<int const> from, global<int> to) {
  __shared__ int values[256];
  unsigned const i = threadIdx.x, n = blockDim.x;
  values[i] = from[blockIdx.x * n + i];
  __syncthreads();
  int const sum = values[(i + n - 1) % n] + values[(i + 1) % n];
  __syncthreads();
  values[n - 1 - i] = sum;
  __syncthreads();
  to[blockIdx.x * n + i] = values[i];
}
extern "C" __global__ void multiply(global<float const> a, global<float const> b, global<float> to, unsigned columns,
                                    unsigned depth) {
  __shared__ float left[16][16], right[16][16];
  unsigned const x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (unsigned k = 0; k < depth; k += 16) {
    left[y][x] = a[row * depth + k + x];
    right[y][x] = b[(k + y) * columns + column];
    __syncthreads();
    for (unsigned i = 0; i < 16; ++i) sum = __fmaf_rn(left[y][i], right[i][x], sum);
    __syncthreads();
  }
  to[row * columns + column] = sum;
}
template <class T> __device__ T sum_of_block(T x) {
  __shared__ T sums[32];
  for (int by = 16; by > 0; by /= 2) x += __shfl_down_sync(0xffffffff, x, by);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x;
  __syncthreads();
  if (threadIdx.x < 32) {
    x = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : T(0);
    for (int bits = 16; bits > 0; bits /= 2) x += __shfl_xor_sync(0xffffffff, x, bits);
    if (threadIdx.x == 0) sums[0] = x;
  }
  __syncthreads();
  return sums[0];
}
extern "C" __global__ void sum_rows(global<double const> from, global<double> to, unsigned columns) {
  double sum = 0;
  for (unsigned i = threadIdx.x; i < columns; i += blockDim.x) sum += from[blockIdx.x * columns + i];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) to[blockIdx.x] = sum;
}
/// What each lane gets, by all shuffles, in groups of a width.
template <class T> __device__ void shuffle_all(global<T> to, int operand, int width) {
  unsigned const i = threadIdx.x;
  T const mine = static_cast<T>(i);
  to[i] = __shfl_sync(0xffffffff, mine, operand, width);
  to[32 + i] = __shfl_up_sync(0xffffffff, mine, static_cast<unsigned>(operand), width);
  to[64 + i] = __shfl_down_sync(0xffffffff, mine, static_cast<unsigned>(operand), width);
  to[96 + i] = __shfl_xor_sync(0xffffffff, mine, operand, width);
}
extern "C" __global__ void shuffle_int(global<int> to, int operand, int width) { shuffle_all(to, operand, width); }
extern "C" __global__ void shuffle_double(global<double> to, int operand, int width) {
  shuffle_all(to, operand, width);
}
extern "C" __global__ void shuffle_types(global<int> to) {
  unsigned const mask = 0xffffffff;
  auto const right = [&](auto value) {
    return __shfl_sync(mask, value, 3) == decltype(value)(value - (threadIdx.x % 32) + 3);
  };
  bool const all = right(int(threadIdx.x % 32)) & right(unsigned(threadIdx.x % 32)) & right(long(threadIdx.x % 32)) &
                   right((unsigned long)(threadIdx.x % 32)) & right((long long)(threadIdx.x % 32)) &
                   right((unsigned long long)(threadIdx.x % 32)) & right(float(threadIdx.x % 32)) &
                   right(double(threadIdx.x % 32));
  to[threadIdx.x] = all;
}
extern "C" __global__ void vote(global<unsigned> to) {
  unsigned const lane = threadIdx.x % 32;
  to[threadIdx.x] = __ballot_sync(0xffffffff, lane % 3 == 0);
  to[64 + threadIdx.x] = __any_sync(0xffffffff, lane == 5) * 8 + __any_sync(0xffffffff, lane == 99) * 4 +
                         __all_sync(0xffffffff, lane < 32) * 2 + __all_sync(0xffffffff, lane != 7);
}
/// Halves of a warp vote apart from each other, and a lane that takes no part has no say.
extern "C" __global__ void vote_in_halves(global<unsigned> to) {
  unsigned const lane = threadIdx.x;
  if (lane < 16) to[lane] = __ballot_sync(0xffff, lane % 2 == 0);
  else if (lane < 31) to[lane] = __ballot_sync(0x7fff0000, 1);
  else to[lane] = 1;
  __syncwarp();
}
/// The place of each thread in the order in which they ran, behind a barrier; the first elements count them.
extern "C" __global__ void order_behind_barrier(global<unsigned> to) {
  unsigned const n = blockDim.x, i = threadIdx.x;
  to[2 + i] = to[0]++;
  __syncthreads();
  to[2 + n + i] = to[1]++;
}
extern "C" __global__ void warp_order(global<unsigned> to) {
  __syncwarp();
  to[1 + threadIdx.x] = to[0]++;
}
extern "C" __global__ void shared_at_begin(global<unsigned> to) {
  __shared__ unsigned value;
  to[blockIdx.x] = value;
  value = 5;
}
__shared__ __align__(16) char aligned_in_file[16];
extern "C" __global__ void alignment_of_shared(global<unsigned> to) {
  __shared__ char before;
  __shared__ __align__(128) char aligned[128];
  before = 1;
  to[0] = static_cast<unsigned>(reinterpret_cast<unsigned long>(&aligned[0]) % 128 +
                                reinterpret_cast<unsigned long>(&aligned_in_file[0]) % 16);
}

// What is wrong.
#line 100 "wrong.cu"
extern "C" __global__ void without_barrier(global<int> to) {
  __shared__ int values[64];
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  to[threadIdx.x] = values[threadIdx.x ^ 1];
}
extern "C" __global__ void without_barrier_between_warps(global<int> to) {
  __shared__ int values[64];
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncwarp();
  to[threadIdx.x] = values[threadIdx.x ^ 32];
}
extern "C" __global__ void ends_before_barrier(unsigned which) {
  if (threadIdx.x == which) return;
  __syncthreads();
}
extern "C" __global__ void barriers_apart() {
  if (threadIdx.x < 40) __syncthreads();
  else __syncthreads();
}
extern "C" __global__ void ends_before_shuffle(global<int> to, unsigned which) {
  if (threadIdx.x == which) return;
  to[threadIdx.x] = __shfl_xor_sync(0xffffffff, 1, 1);
}
extern "C" __global__ void mask_without_caller(global<int> to) { to[threadIdx.x] = __shfl_sync(0xfffffffe, 1, 1); }
extern "C" __global__ void different_functions(global<int> to) {
  if (threadIdx.x < 16) to[threadIdx.x] = __any_sync(0xffffffff, 1);
  else to[threadIdx.x] = __all_sync(0xffffffff, 1);
}
extern "C" __global__ void different_masks(global<int> to) {
  to[threadIdx.x] = __any_sync(threadIdx.x < 16 ? 0xffffffff : 0xffff0000, 1);
}
extern "C" __global__ void barrier_against_shuffle(global<int> to) {
  if (threadIdx.x == 7) __syncthreads();
  else to[threadIdx.x] = __shfl_xor_sync(0xffffffff, 1, 1);
  __syncthreads();
}
extern "C" __global__ void width_of_three(global<int> to) { to[threadIdx.x] = __shfl_sync(0xffffffff, 1, 0, 3); }
extern "C" __global__ void leaves_memory_behind_barrier(global<int> to) {
  __syncthreads();
  to[threadIdx.x + 1] = 1;
}
)";

class emulated_blocks : public emulated_cuda {
 protected:
  void SetUp() override {
    emulated_cuda::SetUp();
    load();
  }
  void load() {
    auto const made = compile(block_kernels);
    ASSERT_EQ(made.result, nvrtc_status::success) << made.log;
    EXPECT_EQ(cuda().unload_module(module), status::success);
    ASSERT_EQ(cuda().load_module(&module, made.code.data()), status::success);
  }
  /// Expects that the launch before ends with an unspecified failure; the kernels run again afterwards.
  void expect_failed(std::string const& why) {
    expect_lost(status::launch_failed, why);
    load();
  }
  template <class F> void in_orders(F const& f) {
    for (unsigned long long const seed : {0ull, 1ull, 2ull, 3ull}) {
      cuda().set_order(seed);
      f();
    }
    cuda().set_order(0);
  }
};

TEST_F(emulated_blocks, threads_see_what_others_wrote_before_a_barrier) {
  in_orders([&] {
    for (unsigned const n : {1u, 31u, 32u, 33u, 256u}) {
      std::vector<int> values(3 * n), expected(3 * n);
      std::iota(values.begin(), values.end(), 1);
      for (unsigned block = 0; block < 3; ++block)
        for (unsigned i = 0; i < n; ++i)
          expected[block * n + n - 1 - i] = values[block * n + (i + n - 1) % n] + values[block * n + (i + 1) % n];
      address const from = put(values), to = allocate(3 * n * 4);
      EXPECT_EQ(launch("add_neighbours", 3, n, from, to), status::success);
      EXPECT_EQ(get<int>(to, 3 * n), expected) << n;
      free(from), free(to);
    }
  });
}

TEST_F(emulated_blocks, multiply_matrices_by_tiles) {
  std::size_t const rows = 128, depth = 64, columns = 128;
  std::vector<float> a(rows * depth), b(depth * columns), expected(rows * columns);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 13) - 6;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      for (std::size_t k = 0; k < depth; ++k) expected[i * columns + j] += a[i * depth + k] * b[k * columns + j];
  in_orders([&] {
    address x = put(a), y = put(b), to = allocate(rows * columns * 4);
    unsigned n = columns, k = depth;
    void* arguments[] = {&x, &y, &to, &n, &k};
    EXPECT_EQ(cuda().launch(function("multiply"), columns / 16, rows / 16, 1, 16, 16, 1, 0, stream, arguments, nullptr),
              status::success);
    EXPECT_EQ(get<float>(to, rows * columns), expected);
    free(x), free(y), free(to);
  });
}

TEST_F(emulated_blocks, sum_by_shuffles) {
  std::size_t const rows = 5, columns = 1000;
  std::vector<double> values(rows * columns), expected(rows);
  for (std::size_t i = 0; i < values.size(); ++i) expected[i / columns] += values[i] = static_cast<double>(i % 17);
  in_orders([&] {
    address const from = put(values), to = allocate(rows * 8);
    EXPECT_EQ(launch("sum_rows", rows, 256, from, to, unsigned{columns}), status::success);
    EXPECT_EQ(get<double>(to, rows), expected);
    free(from), free(to);
  });
}

TEST_F(emulated_blocks, shuffle_between_lanes) {
  auto const expected = [](int operand, int width) {
    std::vector<int> all(128);
    for (int i = 0; i < 32; ++i) {
      int const group = i / width * width, end = group + width;
      auto const at = [&](int from, bool in) { return in ? from : i; };
      auto const to = static_cast<std::size_t>(i);
      all[to] = group + operand % width;
      all[32 + to] = at(i - operand, i - operand >= group);
      all[64 + to] = at(i + operand, i + operand < end);
      all[96 + to] = at(i ^ operand, (i ^ operand) < end);
    }
    return all;
  };
  in_orders([&] {
    for (int const width : {32, 16, 8, 4, 2, 1})
      for (int const operand : {0, 1, 2, 3, 5, 8, 16, 31}) {
        address const ints = allocate(512), doubles = allocate(1024);
        EXPECT_EQ(launch("shuffle_int", 1, 32, ints, operand, width), status::success);
        EXPECT_EQ(launch("shuffle_double", 1, 32, doubles, operand, width), status::success);
        auto const right = expected(operand, width);
        EXPECT_EQ(get<int>(ints, 128), right) << operand << " of " << width;
        EXPECT_EQ(get<double>(doubles, 128), std::vector<double>(right.begin(), right.end()))
            << operand << " of " << width;
        free(ints), free(doubles);
      }
  });
  address const to = allocate(64 * 4);
  EXPECT_EQ(launch("shuffle_types", 1, 64, to), status::success);
  EXPECT_EQ(get<int>(to, 64), std::vector<int>(64, 1));
  free(to);
}

TEST_F(emulated_blocks, vote) {
  in_orders([&] {
    address const to = allocate(128 * 4), halves = allocate(32 * 4);
    EXPECT_EQ(launch("vote", 1, 64, to), status::success);
    EXPECT_EQ(launch("vote_in_halves", 1, 32, halves), status::success);
    auto const votes = get<unsigned>(to, 128);
    EXPECT_EQ(std::vector<unsigned>(votes.begin(), votes.begin() + 64), std::vector<unsigned>(64, 0x49249249));
    EXPECT_EQ(std::vector<unsigned>(votes.begin() + 64, votes.end()), std::vector<unsigned>(64, 8 + 2));
    std::vector<unsigned> expected(16, 0x5555);
    expected.resize(31, 0x7fff0000);
    expected.push_back(1);
    EXPECT_EQ(get<unsigned>(halves, 32), expected);
    free(to), free(halves);
  });
}

TEST_F(emulated_blocks, run_in_the_order_of_a_seed_and_in_a_new_one_behind_a_barrier) {
  std::size_t const n = 40;
  auto const ran = [&](unsigned long long seed) {
    cuda().set_order(seed);
    address const at = put(std::vector<unsigned>(2 + 2 * n));
    EXPECT_EQ(launch("order_behind_barrier", 1, n, at), status::success);
    auto const order = get<unsigned>(at, 2 + 2 * n);
    free(at);
    EXPECT_EQ(order[0], n);
    EXPECT_EQ(order[1], n);
    return std::pair(std::vector<unsigned>(order.begin() + 2, order.begin() + 2 + n),
                     std::vector<unsigned>(order.begin() + 2 + n, order.end()));
  };
  std::vector<unsigned> ascending(n);
  std::iota(ascending.begin(), ascending.end(), 0u);
  std::vector<unsigned> const descending(ascending.rbegin(), ascending.rend());
  EXPECT_EQ(ran(0), std::pair(ascending, ascending));
  EXPECT_EQ(ran(1), std::pair(descending, descending));
  auto const random = ran(2);
  EXPECT_EQ(ran(2), random);
  EXPECT_NE(random.first, random.second);
  EXPECT_NE(ran(3), random);

  auto const in_warp = [&](unsigned long long seed) {
    cuda().set_order(seed);
    address const at = put(std::vector<unsigned>(33));
    EXPECT_EQ(launch("warp_order", 1, 32, at), status::success);
    auto order = get<unsigned>(at, 33);
    free(at);
    order.erase(order.begin());
    return order;
  };
  ascending.resize(32);
  EXPECT_EQ(in_warp(0), ascending);
  EXPECT_EQ(in_warp(1), std::vector<unsigned>(ascending.rbegin(), ascending.rend()));
  EXPECT_NE(in_warp(2), ascending);
}

TEST_F(emulated_blocks, shared_memory_holds_nothing_when_a_block_begins) {
  address const to = allocate(8);
  EXPECT_EQ(launch("shared_at_begin", 2, 1, to), status::success);
  EXPECT_EQ(get<unsigned>(to, 2), std::vector<unsigned>(2, 0xffffffff));
  EXPECT_EQ(launch("alignment_of_shared", 1, 1, to), status::success);
  EXPECT_EQ(get<unsigned>(to, 1).front(), 0);
  free(to);
}

TEST_F(emulated_blocks, a_missing_barrier_shows_in_one_of_two_orders) {
  for (auto const& [name, neighbour] :
       {std::pair("without_barrier", 1), std::pair("without_barrier_between_warps", 32)}) {
    std::vector<int> right(64);
    for (int i = 0; i < 64; ++i) right[static_cast<std::size_t>(i)] = i ^ neighbour;
    auto const result = [&](unsigned long long seed) {
      cuda().set_order(seed);
      address const to = allocate(256);
      EXPECT_EQ(launch(name, 1, 64, to), status::success);
      auto const values = get<int>(to, 64);
      free(to);
      return values;
    };
    auto const ascending = result(0), descending = result(1);
    EXPECT_NE(ascending, descending) << name;
    EXPECT_TRUE(ascending != right || descending != right) << name;
  }
}

TEST_F(emulated_blocks, finds_a_barrier_that_a_thread_ends_before) {
  in_orders([&] {
    for (unsigned const which : {0u, 20u, 63u}) {
      EXPECT_EQ(launch("ends_before_barrier", 2, 64, which), status::success);
      expect_failed("__syncthreads at wrong.cu:113");
    }
  });
}

TEST_F(emulated_blocks, finds_barriers_at_different_places) {
  in_orders([&] {
    EXPECT_EQ(launch("barriers_apart", 1, 64), status::success);
    expect_failed("is not reached by all threads: others wait in the one at wrong.cu:11");
  });
}

TEST_F(emulated_blocks, finds_a_shuffle_that_names_a_thread_that_has_ended) {
  in_orders([&] {
    for (unsigned const which : {0u, 20u, 31u}) {
      address const to = allocate(128);
      EXPECT_EQ(launch("ends_before_shuffle", 1, 32, to, which), status::success);
      expect_failed("__shfl_xor_sync at wrong.cu:121");
    }
  });
  address const to = allocate(160);  // eight threads of a second warp
  EXPECT_EQ(launch("ends_before_shuffle", 1, 40, to, 100u), status::success);
  expect_failed("names lane 8, whose thread has ended");
}

TEST_F(emulated_blocks, finds_a_mask_without_the_caller) {
  address const to = allocate(128);
  EXPECT_EQ(launch("mask_without_caller", 1, 32, to), status::success);
  expect_failed("thread (0, 0, 0): the mask of __shfl_sync at wrong.cu:123 does not name the calling thread");
}

TEST_F(emulated_blocks, finds_threads_of_a_warp_that_call_different_functions) {
  in_orders([&] {
    address const to = allocate(128);
    EXPECT_EQ(launch("different_functions", 1, 32, to), status::success);
    expect_failed("thread (0, 0, 0) waits in __any_sync at wrong.cu:125; thread (16, 0, 0) waits in __all_sync at");
  });
}

TEST_F(emulated_blocks, finds_different_masks) {
  in_orders([&] {
    address const to = allocate(128);
    EXPECT_EQ(launch("different_masks", 1, 32, to), status::success);
    expect_failed("__any_sync at wrong.cu:129");
  });
}

TEST_F(emulated_blocks, finds_threads_that_wait_for_each_other_for_ever) {
  in_orders([&] {
    address const to = allocate(128);
    EXPECT_EQ(launch("barrier_against_shuffle", 1, 32, to), status::success);
    expect_failed(
        "no thread can go on: thread (0, 0, 0) waits in __shfl_xor_sync at wrong.cu:133; thread (7, 0, 0) waits");
  });
}

TEST_F(emulated_blocks, finds_a_width_that_is_no_power_of_two) {
  address const to = allocate(128);
  EXPECT_EQ(launch("width_of_three", 1, 32, to), status::success);
  expect_failed("__shfl_sync at wrong.cu:136 has the width 3");
}

TEST_F(emulated_blocks, finds_the_thread_that_leaves_its_memory_behind_a_barrier) {
  address const to = allocate(256);
  EXPECT_EQ(launch("leaves_memory_behind_barrier", 1, 64, to), status::success);
  expect_lost(status::illegal_address, "kernel leaves_memory_behind_barrier, block (0, 0, 0), thread (63, 0, 0)");
}

TEST_F(emulated_blocks, several_streams_run_the_same_kernel_at_a_time) {
  auto const f = function("add_neighbours");
  auto const work = [&](int first) {
    EXPECT_EQ(cuda().push_context(context), status::success);
    stream_handle own = nullptr;
    EXPECT_EQ(cuda().create_stream(&own, stream_non_blocking), status::success);
    for (int turn = 0; turn < 20; ++turn) {
      std::vector<int> values(256), expected(256);
      std::iota(values.begin(), values.end(), first + turn);
      for (std::size_t i = 0; i < 256; ++i) expected[255 - i] = values[(i + 255) % 256] + values[(i + 1) % 256];
      address from = 0, to = 0;
      EXPECT_EQ(cuda().allocate(&from, 1024, pool, own), status::success);
      EXPECT_EQ(cuda().allocate(&to, 1024, pool, own), status::success);
      EXPECT_EQ(cuda().copy_in(from, values.data(), 1024, own), status::success);
      void* arguments[] = {&from, &to};
      EXPECT_EQ(cuda().launch(f, 1, 1, 1, 256, 1, 1, 0, own, arguments, nullptr), status::success);
      EXPECT_EQ(cuda().copy_out(values.data(), to, 1024, own), status::success);
      EXPECT_EQ(cuda().deallocate(from, own), status::success);
      EXPECT_EQ(cuda().deallocate(to, own), status::success);
      EXPECT_EQ(cuda().wait_for_stream(own), status::success);
      EXPECT_EQ(values, expected);
    }
    EXPECT_EQ(cuda().destroy_stream(own), status::success);
    EXPECT_EQ(cuda().pop_context(nullptr), status::success);
  };
  std::thread first(work, 1), second(work, 1000);
  first.join(), second.join();
}

TEST_F(emulated_blocks, a_header_may_hold_the_barrier) {
  std::vector<header> const headers{
      {"rill/cuda/text/global.cuh", "#error this text is not the emulated one"},
      {"some/wait.cuh", "// none here\n#include <some/barrier.cuh>\n"},
      {"some/barrier.cuh", "#pragma once\ninline __device__ void wait() { __syncthreads(); }\n"}};
  auto const made = compile(R"(
 #include "rill/cuda/text/global.cuh"
 #include "some/wait.cuh"
extern "C" __global__ void count_up(rill::text::global<int> to) {
  to[threadIdx.x] = 1;
  wait();
  int const other = to[threadIdx.x ^ 1];
  wait();
  to[threadIdx.x] += other;
}
)",
                            {"--gpu-architecture=sm_90"}, headers);
  ASSERT_EQ(made.result, nvrtc_status::success) << made.log;
  EXPECT_EQ(cuda().unload_module(module), status::success);
  ASSERT_EQ(cuda().load_module(&module, made.code.data()), status::success);
  in_orders([&] {
    address const to = allocate(256);
    EXPECT_EQ(launch("count_up", 1, 64, to), status::success);
    EXPECT_EQ(get<int>(to, 64), std::vector<int>(64, 2));
    free(to);
  });
}

// ---------------------------------------------------------------------------------------------------------------------
// Processes of their own

/// Runs `holds` in a new process, in which the driver was not yet initialized.
void expect_in_new_process(std::vector<std::pair<char const*, char const*>> const& environment,
                           std::function<bool()> const& holds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        for (auto const& [name, value] : environment) ::setenv(name, value, 1);
        std::_Exit(holds() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
  GTEST_FLAG_SET(death_test_style, "fast");
}

struct emulated_devices : rill::test::on_emulated_gpu {};

TEST_F(emulated_devices, are_wanting) {
  expect_in_new_process({{"RILL_EMULATED_GPUS", "0"}}, [] {
    int count = 0;
    return cuda().device_count(&count) == status::not_initialized && cuda().init(0) == status::no_device;
  });
}

TEST_F(emulated_devices, are_as_many_and_as_large_as_the_environment_says) {
  expect_in_new_process(
      {{"RILL_EMULATED_GPUS", "2"}, {"RILL_EMULATED_MEMORY", "5000"}, {"RILL_EMULATED_DRIVER_VERSION", "12040"}}, [] {
        int count = 0, version = 0;
        uuid first{}, second{};
        std::size_t bytes = 0;
        rill::cuda::context a = nullptr, b = nullptr;
        stream_handle s = nullptr;
        bool const good = cuda().version(&version) == status::success && version == 12040 &&
                          cuda().init(0) == status::success && cuda().device_count(&count) == status::success &&
                          count == 2 && cuda().device_memory(&bytes, 1) == status::success && bytes == 5000 &&
                          cuda().device_uuid(&first, 0) == status::success &&
                          cuda().device_uuid(&second, 1) == status::success &&
                          std::memcmp(&first, &second, sizeof first) != 0 &&
                          cuda().retain_primary_context(&a, 0) == status::success &&
                          cuda().retain_primary_context(&b, 1) == status::success && a != b;
        // A stream belongs to the context in which it was made.
        return good && cuda().push_context(a) == status::success &&
               cuda().create_stream(&s, stream_non_blocking) == status::success &&
               cuda().push_context(b) == status::success && cuda().wait_for_stream(s) == rill::cuda::status{400} &&
               cuda().count().contexts == 2;
      });
}

TEST_F(emulated_devices, copy_between_each_other_and_wait_for_each_other) {
  expect_in_new_process({{"RILL_EMULATED_GPUS", "2"}}, [] {
    bool good = cuda().init(0) == status::success;
    auto const expect = [&](status which) { good = good && which == status::success; };
    rill::cuda::context contexts[2] = {};
    stream_handle streams[2] = {};
    address at[2] = {};
    event_handle done = nullptr;
    int value = 5, result = 0;
    for (int i = 0; i < 2; ++i) {
      pool_handle pool = nullptr;
      pool_properties const properties{1, 0, {1, i}, nullptr, 0, 0, {}};
      expect(cuda().retain_primary_context(&contexts[i], i));
      expect(cuda().push_context(contexts[i]));
      expect(cuda().create_stream(&streams[i], stream_non_blocking));
      expect(cuda().create_pool(&pool, &properties));
      expect(cuda().allocate(&at[i], 4, pool, streams[i]));
    }
    expect(cuda().wait_for_stream(streams[1]));
    expect(cuda().push_context(contexts[0]));
    expect(cuda().create_event(&done, event_without_time));
    expect(cuda().copy_in(at[0], &value, 4, streams[0]));
    expect(cuda().copy_between(at[1], contexts[1], at[0], contexts[0], 4, streams[0]));
    expect(cuda().record_event(done, streams[0]));
    expect(cuda().push_context(contexts[1]));
    expect(cuda().make_stream_wait(streams[1], done, 0));
    expect(cuda().copy_out(&result, at[1], 4, streams[1]));
    expect(cuda().wait_for_stream(streams[1]));
    // A pool can be opened to other devices. Its own device can't lose access.
    pool_access const to[] = {{{1, 1}, 3}, {{1, 0}, 0}, {{1, 7}, 3}, {{1, 1}, 5}};
    pool_handle pool = nullptr;
    pool_properties const properties{1, 0, {1, 0}, nullptr, 0, 0, {}};
    int can = -1;
    expect(cuda().create_pool(&pool, &properties));
    expect(cuda().can_access_peer(&can, 1, 0));
    expect(cuda().set_pool_access(pool, &to[0], 1));
    good = good && can == 1 && cuda().can_access_peer(&can, 1, 1) == status::success && can == 0 &&
           cuda().set_pool_access(pool, &to[1], 1) == status::invalid_device &&
           cuda().set_pool_access(pool, &to[2], 1) == status::invalid_device &&
           cuda().set_pool_access(pool, &to[3], 1) == status::invalid_value;
    // Both ends are checked, and other copies don't reach another device.
    good = good && result == 5 &&
           cuda().copy_between(at[1], nullptr, at[0], contexts[0], 4, streams[1]) == status::invalid_context &&
           cuda().copy_between(at[1], contexts[1], at[0], contexts[0], 5, streams[1]) == status::success &&
           cuda().wait_for_stream(streams[1]) == status::illegal_address &&
           cuda().push_context(contexts[0]) == status::success &&
           cuda().copy_within(at[0], at[1], 4, streams[0]) == status::success &&
           cuda().wait_for_stream(streams[0]) == status::illegal_address;
    return good;
  });
}

}  // namespace
