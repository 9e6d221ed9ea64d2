#include "rill/cuda/dlpack.hpp"

#include <bit>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "emulated.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

struct cuda_dlpack : test::on_emulated_gpu {
  std::shared_ptr<gpu_device> on = gpu(0);
  cuda::driver const driver;  // as another library calls it

  void TearDown() override {
    on.reset();
    test::on_emulated_gpu::TearDown();
  }
};

// An array of another library in a GPU's memory.
struct foreign_array {
  tensor memory;
  std::int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  int deleted = 0;
  dlpack::managed_versioned face;

  foreign_array(gpu_device& on, std::vector<float> const& values)
      : memory(tensor::copy<float>(values, rill::shape{2, 3}).to(on.memory())) {
    face.context = this;
    face.deleter = [](dlpack::managed_versioned* m) { ++static_cast<foreign_array*>(m->context)->deleted; };
    face.array = {memory.storage().data(), {2, 0}, 2, {2, 32, 1}, shape, strides, 0};
  }
};

TEST_F(cuda_dlpack, lends_a_tensor_until_it_is_given_back) {
  tensor t = tensor::copy<float>(std::vector<float>{1, 2, 3}, shape{3, 1}).to(on->memory());
  auto* const lent = to_dlpack(t, nullptr);
  EXPECT_EQ(lent->array.device.kind, 2);
  EXPECT_EQ(lent->array.device.id, 0);
  EXPECT_EQ(lent->array.data, t.storage().data());
  EXPECT_EQ(lent->array.rank, 2);
  EXPECT_EQ(lent->array.shape[0], 3);
  EXPECT_EQ(lent->array.type, (dlpack::data_type{2, 32, 1}));
  t = {};
  EXPECT_EQ(RILL_EMULATED(rill_emulated_count)().allocations, 1u);
  lent->deleter(lent);
  EXPECT_EQ(RILL_EMULATED(rill_emulated_count)().allocations, 0u);
}

TEST_F(cuda_dlpack, makes_the_consumers_stream_wait_for_kernels) {
  graph g;
  auto const w = g.on("gpu:0", [&] { return variable<float, 3>(g, "w", zeros()); });
  auto const add = assign_add(w, constant<float, 3>(g, {1, 1, 1}));
  auto const state = std::make_shared<container>();
  session s{g, {.threads = 1, .state = state, .devices = {on}}};
  s.run(initializer(g));
  cuda::card const other(std::make_shared<cuda::driver const>(), 0);
  auto const current = other.use();
  cuda::stream_owner const consumer(other);
  RILL_EMULATED(rill_emulated_hold_launch)(1);
  auto const launched = RILL_EMULATED(rill_emulated_launches)();
  auto step = std::async(std::launch::async, [&] { s.run(add); });
  while (RILL_EMULATED(rill_emulated_launches)() == launched) std::this_thread::yield();
  auto* const lent = to_dlpack(state->find_variable("w")->read(), consumer.get());
  float seen[3] = {};
  driver(driver.call().copy_out, static_cast<void*>(seen), std::bit_cast<cuda::address>(lent->array.data), sizeof seen,
         consumer.get());
  cuda::event_owner const end(other);
  end.record(consumer.get());
  EXPECT_EQ(driver.call().ask_event(end.get()), cuda::status::not_ready);
  RILL_EMULATED(rill_emulated_release_launches)();
  consumer.wait();
  EXPECT_EQ(seen[0], 1);
  step.get();
  lent->deleter(lent);
}

TEST_F(cuda_dlpack, takes_an_array_of_another_library) {
  foreign_array array(*on, {1, 2, 3, 4, 5, 6});
  graph g;
  auto const x = placeholder<float, 2, 3>(g);
  auto const y = g.on("gpu:0", [&] { return x * 2.f; });
  session s{g, {.threads = 1, .devices = {on}}};
  {
    tensor t = from_dlpack(&array.face, on);
    EXPECT_EQ(t.storage().data(), array.memory.storage().data());
    EXPECT_EQ(tensor(s.run({{x, t}}, y)).to(host).at<float>(1, 2), 12);
    tensor const copy = t.clone(t.storage().source());  // from the GPU's own memory
    EXPECT_NE(copy.storage().data(), t.storage().data());
    t = {};
    EXPECT_EQ(array.deleted, 1);
    EXPECT_EQ(copy.to(host).at<float>(1, 0), 4);
  }
  EXPECT_EQ(array.deleted, 1);
  array.memory = {};
}

TEST_F(cuda_dlpack, takes_an_array_without_elements_and_gives_it_back_at_once) {
  foreign_array array(*on, {1, 2, 3, 4, 5, 6});
  array.shape[0] = 0;
  array.face.array.data = nullptr;
  EXPECT_EQ(from_dlpack(&array.face, on).shape(), (shape{0, 3}));
  EXPECT_EQ(array.deleted, 1);
}

TEST_F(cuda_dlpack, uses_the_memory_of_a_loan_again_when_the_consumer_has_read_it) {
  cuda::card const other(std::make_shared<cuda::driver const>(), 0);
  auto const consumer = gpu(0);
  tensor t = tensor::copy<float>(std::vector<float>{1, 2, 3}, shape{3}).to(on->memory());
  auto* const lent = to_dlpack(t, consumer->stream_of_kernels());
  auto const read = consumer->find(
      "#include \"rill/cuda/text/global.cuh\"\n"
      "using namespace rill::text;\n"
      "extern \"C\" __global__ void read(global<float const> from, global<float> to) { to[0] = from[0]; }\n",
      "read");
  tensor seen(dtype::float32, shape{1}, consumer->memory());
  RILL_EMULATED(rill_emulated_hold_launch)(1);
  {
    auto const current = other.use();
    void *from = lent->array.data, *to = seen.storage().data();
    void* parameters[] = {&from, &to};
    consumer->launch(*read, {1, 1}, parameters);
  }
  t = {};
  lent->deleter(lent);  // while the consumer's kernel waits
  RILL_EMULATED(rill_emulated_release_launches)();
  {
    auto const current = other.use();
    consumer->wait();
  }
  EXPECT_EQ(seen.to(host).at<float>(0), 1);
}

TEST_F(cuda_dlpack, waits_for_the_producers_stream) {
  foreign_array array(*on, {1, 2, 3, 4, 5, 6});
  graph g;
  auto const x = placeholder<float, 2, 3>(g);
  auto const y = g.on("gpu:0", [&] { return x * 2.f; });
  session s{g, {.threads = 1, .devices = {on}}};
  s.run({{x, array.memory}}, y);
  auto const producer = gpu(0);
  auto const write = producer->find(
      "#include \"rill/cuda/text/global.cuh\"\n"
      "using namespace rill::text;\n"
      "extern \"C\" __global__ void write(global<float> to) { to[0] = 9; }\n",
      "write");
  cuda::card const there(std::make_shared<cuda::driver const>(), 0);
  RILL_EMULATED(rill_emulated_hold_launch)(1);
  {
    auto const current = there.use();
    void* to = array.memory.storage().data();
    void* parameters[] = {&to};
    producer->launch(*write, {1, 1}, parameters);
  }
  tensor const t = from_dlpack(&array.face, on, producer->stream_of_kernels());
  auto step = std::async(std::launch::async, [&] { return tensor(s.run({{x, t}}, y)).to(host).at<float>(0, 0); });
  // The launch is held, so that this is no race: a step that doesn't wait is over much earlier.
  EXPECT_EQ(step.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  RILL_EMULATED(rill_emulated_release_launches)();
  EXPECT_EQ(step.get(), 18);
}

TEST_F(cuda_dlpack, refuses_what_it_can_not_read) {
  foreign_array array(*on, {1, 2, 3, 4, 5, 6});
  auto const original = array.face;
  auto const refused = [&] {
    auto const e = test::refusal([&] { from_dlpack(&array.face, on); });
    array.face = original;
    EXPECT_EQ(array.deleted, 0);
    return e.code();
  };
  array.face.array.device = {1, 0};
  EXPECT_EQ(refused(), code::unimplemented);
  array.face.array.device = {2, 1};
  EXPECT_EQ(refused(), code::unimplemented);
  array.face.array.type = {2, 8, 1};
  EXPECT_EQ(refused(), code::unimplemented);
  array.face.version.major = 2;
  EXPECT_EQ(refused(), code::unimplemented);
  array.face.flags = dlpack::read_only;
  EXPECT_EQ(refused(), code::unimplemented);
  array.face.array.type = {6, 8, 1};  // bools
  EXPECT_EQ(refused(), code::unimplemented);
  array.face.array.data = nullptr;
  EXPECT_EQ(refused(), code::invalid_argument);
  array.face.array.byte_offset = 2;
  EXPECT_EQ(refused(), code::invalid_argument);
  array.strides[0] = 4;
  EXPECT_EQ(refused(), code::unimplemented);
  EXPECT_EQ(test::refusal([&] { from_dlpack(nullptr, on); }).code(), code::invalid_argument);
  EXPECT_EQ(test::refusal([&] { from_dlpack(&array.face, gpu(7)); }).code(), code::not_found);
  EXPECT_EQ(test::refusal([&] { to_dlpack(tensor(1.f), nullptr); }).code(), code::invalid_argument);
  EXPECT_EQ(test::refusal([&] { to_dlpack(tensor(), nullptr); }).code(), code::invalid_argument);
}

// ---------------------------------------------------------------------------------------------------------------------
// A context and a stream of the caller's

TEST_F(cuda_dlpack, a_device_uses_the_callers_context_and_stream) {
  auto const d = std::make_shared<cuda::driver const>();
  cuda::context mine = nullptr;
  (*d)(d->call().retain_primary_context, &mine, 0);
  on.reset();
  auto const streams = RILL_EMULATED(rill_emulated_count)().streams;
  {
    auto const current = cuda::context_scope(*d, mine);
    cuda::stream_handle stream = nullptr;
    (*d)(d->call().create_stream, &stream, cuda::stream_non_blocking);
    {
      auto const there = gpu(0, {.context = mine, .stream = stream});
      ASSERT_FALSE(there->absence()) << there->absence()->what();
      EXPECT_EQ(there->stream_of_kernels(), stream);
      graph g;
      auto const x = placeholder<float, 2>(g);
      auto const y = g.on("gpu:0", [&] { return x * 2.f; });
      session s{g, {.threads = 1, .devices = {there}}};
      EXPECT_EQ(tensor(s.run({{x, vector({1.f, 2.f})}}, y)).to(host).at<float>(1), 4);
    }
    EXPECT_EQ(RILL_EMULATED(rill_emulated_count)().streams, streams + 1);
    (*d)(d->call().destroy_stream, stream);
  }
  (*d)(d->call().release_primary_context, 0);
}

TEST_F(cuda_dlpack, a_session_that_outlives_the_callers_context_fails_and_the_host_goes_on) {
  auto const d = std::make_shared<cuda::driver const>();
  cuda::context mine = nullptr;
  (*d)(d->call().retain_primary_context, &mine, 0);
  on.reset();
  auto const there = gpu(0, {.context = mine});
  graph g;
  auto const x = placeholder<float, 2>(g);
  auto const y = g.on("gpu:0", [&] { return x * 2.f; });
  session s{g, {.threads = 1, .devices = {there}}};
  s.run({{x, vector({1.f, 2.f})}}, y);
  (*d)(d->call().release_primary_context, 0);
  auto const e = test::refusal([&] { s.run({{x, vector({1.f, 2.f})}}, y); });
  EXPECT_EQ(e.code(), code::unavailable) << e.what();
  EXPECT_EQ(e.device(), "/device:gpu:0");
  auto const here = g.on("cpu:0", [&] { return x + 1.f; });
  EXPECT_EQ(tensor(s.run({{x, vector({1.f, 2.f})}}, here)).at<float>(0), 2);
}

}  // namespace
}  // namespace rill
