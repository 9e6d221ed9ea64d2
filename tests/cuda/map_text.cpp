#include "rill/cuda/map_text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <future>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "emulated.hpp"
#include "numbers.hpp"
#include "real_nvrtc.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/cuda/map_kernel.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/program/interpreter.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using test::expect_same_numbers;
using test::numbers_in_text;
using test::operand;

// All functions of programs with a formula, but for cast.
std::vector<scalar_function const*> functions() {
  std::vector<scalar_function const*> all;
  for (auto const* op : all_operations())
    if (op->elementwise && op->elementwise->formula && op->name != "cast") all.push_back(op->elementwise);
  return all;
}
scalar_function const& cast_function() { return *definition<ops::cast_op>().elementwise; }

// The types of a function's operands whose last has this element type; empty: not supported.
std::vector<dtype> operands_of(scalar_function const& f, dtype element) {
  std::vector<dtype> types(f.arity, element);
  for (auto first : {element, dtype::boolean}) {
    if (f.arity > 1) types[0] = first;
    if (f.tile(types.data(), f.result(types.data(), element))) return types;
  }
  return {};
}

// A program that grows: each new line reads what there is.
struct growing {
  program p;
  explicit growing(std::vector<dtype> inputs) { p.inputs = std::move(inputs); }

  // Adds a line, and returns its register.
  std::uint16_t add(scalar_function const& f, std::vector<std::uint16_t> const& operands, dtype result) {
    program::instruction line{&f, {}, result};
    std::copy(operands.begin(), operands.end(), line.operands.begin());
    p.instructions.push_back(line);
    return static_cast<std::uint16_t>(p.registers() - 1);
  }
};

// All functions of an element type on two inputs of it and one of truths, each an output; and casts of the first.
program every_function_of(dtype element) {
  growing made({element, element, dtype::boolean});
  for (auto const* f : functions()) {
    auto const types = operands_of(*f, element);
    if (types.empty()) continue;
    std::vector<std::uint16_t> operands;
    for (std::size_t k = 0; k < types.size(); ++k)
      operands.push_back(types[k] == element ? static_cast<std::uint16_t>(k % 2) : std::uint16_t{2});
    made.p.outputs.push_back(made.add(*f, operands, f->result(types.data(), element)));
  }
  for (auto to : numbers_in_text) made.p.outputs.push_back(made.add(cast_function(), {0}, to));
  return made.p;
}

// A program of lines that are chosen at random, of one type and its casts.
program random_program(std::mt19937_64& random) {
  auto const below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  auto const any_type = [&] { return numbers_in_text[below(std::size(numbers_in_text))]; };
  auto const all = functions();
  growing made({any_type(), any_type(), dtype::float32, dtype::boolean});
  made.p.immediates = {immediate::of(0.5f), immediate::of(std::int32_t{-3}), immediate::of(half(2.f))};
  while (made.p.instructions.size() < 24) {
    auto const& f = *all[below(all.size())];
    auto const last = static_cast<std::uint16_t>(below(made.p.registers()));
    auto const types = operands_of(f, made.p.element(last));
    if (types.empty()) {
      made.add(cast_function(), {last}, any_type());
      continue;
    }
    std::vector<std::uint16_t> operands(types.size(), last);
    for (std::size_t k = 0; k + 1 < types.size(); ++k) {  // any register of the type; there may be none of truths
      std::vector<std::uint16_t> fit;
      for (std::size_t r = 0; r < made.p.registers(); ++r)
        if (made.p.element(r) == types[k]) fit.push_back(static_cast<std::uint16_t>(r));
      operands[k] = fit[below(fit.size())];
    }
    made.add(f, operands, f.result(types.data(), made.p.element(last)));
  }
  for (std::size_t i = 0; i < 6; ++i)
    made.p.outputs.push_back(static_cast<std::uint16_t>(made.p.registers() - 1 - below(12)));
  return made.p;
}

struct maps : test::on_gpu {
  std::shared_ptr<gpu_device> on = gpu(0);

  void TearDown() override {
    on.reset();
    test::on_gpu::TearDown();
  }

  // Runs a program on both for operands of these extents.
  void compare(program const& p, std::vector<shape> const& extents, shape const& to, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<tensor> in, there, here, given;
    std::vector<void*> pointers, addresses;
    for (std::size_t i = 0; i < p.inputs.size(); ++i) {
      in.push_back(operand(p.inputs[i], extents[i], random));
      given.push_back(in.back().to(on->memory()));
    }
    for (auto& t : in) pointers.push_back(t.mutable_raw());
    for (auto& t : given) addresses.push_back(t.storage().data());
    for (auto o : p.outputs) {
      here.emplace_back(p.element(o), to);
      there.emplace_back(p.element(o), to, on->memory());
      pointers.push_back(here.back().mutable_raw());
      addresses.push_back(there.back().storage().data());
    }
    bound_program(p, extents, to)(pointers.data(), parallel{});
    auto const axes = collapse(extents, to);
    launch(p, axes, static_cast<std::size_t>(elements(to)), addresses);
    for (std::size_t o = 0; o < p.outputs.size(); ++o)
      expect_same_numbers(there[o].to(host), here[o], "output " + std::to_string(o) + " of\n" + text(p));
  }

 private:
  void launch(program const& p, collapsed_axes const& axes, std::size_t n, std::vector<void*>& addresses) {
    cuda::bound_map const map(*on, p, axes, n);
    struct work final : stream_work {
      cuda::bound_map const& map;
      void* const* addresses;
      std::promise<failure> over = {};
      work(cuda::bound_map const& m, void* const* a) : map(m), addresses(a) {}
      void run() override { map(addresses); }
      void done(failure why) noexcept override { over.set_value(std::move(why)); }
    } w(map, addresses.data());
    on->compute().submit(w);
    if (auto const why = w.over.get_future().get()) FAIL() << why->what() << "\n" << text(p);
  }
};

struct maps_of : maps, testing::WithParamInterface<dtype> {};

// A text for each way in which operands lie costs seconds to compile: floats stand for all types where they are
// strided.
TEST_P(maps_of, have_the_hosts_bits_of_every_function_and_of_odd_extents) {
  auto const p = every_function_of(GetParam());
  EXPECT_GT(p.outputs.size(), std::size(numbers_in_text) + 2);
  if (GetParam() == dtype::float32) compare(p, {shape{7, 1, 5}, shape{3, 1}, shape{}}, {7, 3, 5}, 1);
  for (std::int64_t const n : {1000, 1, 0}) compare(p, {shape{n}, shape{n}, shape{n}}, {n}, 2);
}
INSTANTIATE_TEST_SUITE_P(each_type, maps_of, testing::ValuesIn(test::types_to_test(numbers_in_text)),
                         [](auto const& i) { return std::string(name(i.param)); });

TEST_F(maps, have_the_hosts_bits_of_random_programs_in_any_order_of_threads) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    test::set_thread_order(seed);
    std::mt19937_64 random(seed);
    auto const p = random_program(random);
    if (seed % 2 == 0) compare(p, {shape{513}, shape{513}, shape{513}, shape{513}}, {513}, seed);
    else compare(p, {shape{5, 1, 9}, shape{2, 1}, shape{2, 9}, shape{5, 2, 9}}, {5, 2, 9}, seed);
  }
}

TEST_F(maps, of_more_operands_than_a_kernel_has_parameters_are_refused) {
  growing made(std::vector<dtype>(600, dtype::float32));
  auto const& add = *definition<ops::add_op>().elementwise;
  std::uint16_t sum = 0;
  for (std::uint16_t i = 1; i < 600; ++i) sum = made.add(add, {sum, i}, dtype::float32);
  made.p.outputs = {sum};
  std::vector<shape> const extents(600, shape{3});
  try {
    cuda::bound_map(*on, made.p, collapse(extents, {3}), 3);
    ADD_FAILURE();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::unimplemented);
    EXPECT_NE(e.message().find("a fused node needs 602"), std::string::npos) << e.what();
  }
}

TEST(map_text, depends_on_how_operands_lie_and_not_on_extents) {
  auto const p = every_function_of(dtype::float32);
  auto const of = [&](std::vector<shape> const& in, shape const& to) {
    return cuda::map_text(p, collapse(in, to), false);
  };
  EXPECT_EQ(of({shape{8}, shape{8}, shape{}}, {8}), of({shape{2, 9}, shape{2, 9}, shape{1}}, {2, 9}));
  EXPECT_EQ(of({shape{2, 1}, shape{2, 3}, shape{}}, {2, 3}), of({shape{5, 1}, shape{5, 7}, shape{}}, {5, 7}));
  EXPECT_NE(of({shape{8}, shape{8}, shape{}}, {8}), of({shape{8}, shape{1}, shape{}}, {8}));
}

// Every text that the tests above run, for each kind of card.
struct maps_in_cuda : test::on_real_nvrtc {};
TEST_F(maps_in_cuda, is_compiled_by_nvrtc) {
  for (auto const element : numbers_in_text) {
    auto const p = every_function_of(element);
    std::vector<shape> const extents{{7, 1, 5}, {3, 1}, {}};
    add_text(cuda::map_text(p, collapse(extents, {7, 3, 5}), element == dtype::float32), "every function", element);
  }
  expect_compiled();
}

}  // namespace
}  // namespace rill
