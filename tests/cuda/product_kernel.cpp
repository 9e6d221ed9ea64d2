#include "rill/cuda/product_kernel.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <future>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "emulated.hpp"
#include "numbers.hpp"
#include "real_nvrtc.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/device/step.hpp"
#include "rill/ops/matrix/gemm.hpp"
#include "rill/rill.hpp"
#include "rill/state/container.hpp"

namespace rill {
namespace {

using test::expect_same_numbers;

constexpr dtype numbers[] = {dtype::int8,    dtype::int16,    dtype::int32,   dtype::int64,
                             dtype::uint8,   dtype::uint16,   dtype::uint32,  dtype::uint64,
                             dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};

template <class F> void visit_numbers(dtype element, F const& f) {
  visit(element, [&]<class T>() {
    if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, bool> || requires(T z) { z.real(); })
      throw error(code::internal, "products of GPUs have no such elements");
    else f.template operator()<T>();
  });
}

// Numbers of which sums are rounded; a product of two small ones is rounded to 0 or -0.
template <class T> T any_number(std::mt19937_64& random) {
  auto const bits = random();
  if constexpr (std::is_integral_v<T>) return static_cast<T>(bits);
  else {
    double const small = sizeof(T) == 8 ? 1e-200 : std::is_same_v<T, half> ? 6e-8 : 1e-30;
    double const number = static_cast<double>(bits >> 11) * 0x1p-52 - 1;
    if (bits % 16 == 0) return T(0.);
    if (bits % 16 == 1) return T(-0.);
    return T(bits % 16 < 4 ? small * number : number);
  }
}

tensor numbers_of(type const& x, std::mt19937_64& random) {
  tensor made(x.element, x.shape());
  visit_numbers(x.element, [&]<class T>() {
    auto* const at = made.mutable_data<T>();
    for (std::int64_t i = 0; i < elements(x.shape()); ++i) at[i] = any_number<T>(random);
  });
  return made;
}

// A product of batches and the type of its result, to which it is summed.
struct product_case {
  transposed which;
  type a, b, y;

  product_case(dtype element, transposed t, shape const& extents, shape const& a_batch = {}, shape const& b_batch = {},
               shape const& y_batch = {})
      : which(t),
        a(with(element, a_batch, t.a ? extents[2] : extents[0], t.a ? extents[0] : extents[2])),
        b(with(element, b_batch, t.b ? extents[1] : extents[2], t.b ? extents[2] : extents[1])),
        y(with(element, y_batch, extents[0], extents[1])) {}

  std::string text() const {
    return std::string(name(a.element)) + " " + a.shape().text() + (which.a ? "' " : " ") + b.shape().text() +
           (which.b ? "' = " : " = ") + y.shape().text();
  }

 private:
  static type with(dtype element, shape extents, std::int64_t rows, std::int64_t columns) {
    extents.push_back(rows), extents.push_back(columns);
    return type(element, extents);
  }
};

// The sum as kernels::gemm_plan describes it, and each product rounded with it.
template <class Sum, class At> Sum sum_in_order(kernels::gemm_plan<Sum> const& plan, At const& at) {
  auto const sum_of_block = [&](std::int64_t begin, std::int64_t end) {
    Sum sum{};
    for (auto k = begin; k < end; ++k) {
      auto const [x, y] = at(k);
      if constexpr (std::is_integral_v<Sum>) sum = static_cast<Sum>(sum + static_cast<Sum>(1u * x * y));
      else sum = std::fma(x, y, sum);
    }
    return sum;
  };
  auto const part_depth = plan.part_blocks * plan.depth;
  Sum all{};
  for (std::int64_t part = 0; part < plan.k; part += part_depth) {
    Sum of_part{};
    for (auto k = part; k < std::min(plan.k, part + part_depth); k += plan.depth) {
      Sum const block = sum_of_block(k, std::min({plan.k, part + part_depth, k + plan.depth}));
      of_part = k == part ? block : static_cast<Sum>(of_part + block);
    }
    all = part == 0 ? of_part : static_cast<Sum>(all + of_part);
  }
  return all;
}

// The product, element by element.
template <class T> class slow_product {
 public:
  slow_product(product_case const& c, tensor const& a, tensor const& b)
      : c_(c), whole_(ops::matmul_op::infer(c.which, c.a, c.b)), a_(a.span<T>()), b_(b.span<T>()) {
    m_ = extent(c.y, 1), n_ = extent(c.y, 0), k_ = extent(c.a, c.which.a ? 1 : 0);
    for (std::size_t i = 2; i < whole_.rank; ++i) {
      bool const keeps = i < c.y.rank && extent(c.y, i) == extent(whole_, i);
      (keeps ? kept_ : summed_).push_back(i);
    }
  }

  tensor operator()() const {
    using sum = kernels::sum_type<T>;
    tensor y(c_.y.element, c_.y.shape());
    auto* const to = y.template mutable_data<T>();
    kernels::gemm_plan<sum> const plan(rows(), n_, k_ * count(summed_), 1);
    for (std::int64_t pair = 0; pair < count(kept_); ++pair)
      for (std::int64_t i = 0; i < m_; ++i)
        for (std::int64_t j = 0; j < n_; ++j)
          to[(pair * m_ + i) * n_ + j] = static_cast<T>(sum_in_order<sum>(plan, [&](std::int64_t k) {
            place at{};
            set(at, kept_, pair), set(at, summed_, k / k_);
            return std::pair(static_cast<sum>(a_[index(c_.a, at, i, k % k_, c_.which.a)]),
                             static_cast<sum>(b_[index(c_.b, at, k % k_, j, c_.which.b)]));
          }));
    return y;
  }

 private:
  using place = std::array<std::int64_t, max_rank>;  // along the axes, from the last one

  static std::int64_t extent(type const& x, std::size_t from_end) { return x[x.rank - 1 - from_end].extent; }
  std::int64_t count(std::vector<std::size_t> const& axes) const {
    std::int64_t all = 1;
    for (auto i : axes) all *= extent(whole_, i);
    return all;
  }
  void set(place& at, std::vector<std::size_t> const& axes, std::int64_t number) const {
    for (auto i : axes) at[i] = number % extent(whole_, i), number /= extent(whole_, i);
  }
  static std::size_t index(type const& x, place at, std::int64_t row, std::int64_t column, bool is_transposed) {
    at[0] = is_transposed ? row : column, at[1] = is_transposed ? column : row;
    std::int64_t found = 0, apart = 1;
    for (std::size_t i = 0; i < x.rank; apart *= extent(x, i++))
      if (extent(x, i) != 1) found += at[i] * apart;
    return static_cast<std::size_t>(found);
  }
  // If all matrices of A are multiplied by one matrix, their rows are those of one matrix.
  std::int64_t rows() const {
    if (c_.which.a || !summed_.empty()) return m_;
    for (auto i : kept_)
      if (i < c_.b.rank && extent(c_.b, i) != 1) return m_;
    return m_ * count(kept_);
  }

  product_case const& c_;
  type whole_;
  std::span<T const> a_, b_;
  std::int64_t m_, n_, k_;
  std::vector<std::size_t> kept_, summed_;
};

tensor reference(product_case const& c, tensor const& a, tensor const& b) {
  tensor y;
  visit_numbers(c.a.element, [&]<class T>() { y = slow_product<T>(c, a, b)(); });
  return y;
}

// The two kernels of a node.
class node_kernels {
 public:
  explicit node_kernels(product_case const& c) : inputs_{c.a, c.b, c.y}, output_(c.y) {
    node_.attributes = encode(c.which);
  }

  kernel gpu(gpu_device const& on) const { return cuda::product_kernel(request(&on)); }
  kernel cpu() const { return definition<ops::matmul_like_op>().cpu(request(nullptr)); }

 private:
  kernel_request request(device const* on) const {
    return {.at = node_,
            .inputs = inputs_,
            .outputs = std::span(&output_, 1),
            .variables = variables_,
            .state = *state_,
            .seed = 0,
            .on = on};
  }

  node node_;
  std::array<type, 3> inputs_;
  type output_;
  std::vector<std::shared_ptr<variable_state>> variables_;
  std::unique_ptr<container> state_ = std::make_unique<container>();
};

tensor on_the_host(product_case const& c, tensor const& a, tensor const& b) {
  node_kernels const kernels(c);
  auto const k = kernels.cpu();
  tensor y(c.y.element, c.y.shape());
  std::vector<std::byte> scratch(k.scratch());
  void* const pointers[] = {const_cast<void*>(a.raw()), const_cast<void*>(b.raw()), nullptr, y.mutable_raw(),
                            scratch.data()};
  step_context step;
  k(kernel_call{.pointers = pointers, .inputs = 3, .outputs = 1, .threads = parallel{}, .step = step});
  return y;
}

// Whether the host's kernels round a product together with the sum, as all do that are made for x86-64-v3.
bool host_rounds_once() {
  double const x = 1 + 0x1p-30;
  product_case const c(dtype::float64, {}, {1, 1, 2});
  return on_the_host(c, tensor::copy<double>(std::vector{-1., x}, {1, 2}),
                     tensor::copy<double>(std::vector{x * x, x}, {2, 1}))
             .item<double>() != 0;
}

struct products : test::on_gpu {
  std::shared_ptr<gpu_device> on = gpu(0);
  std::mt19937_64 random{1};

  void TearDown() override {
    on.reset();
    test::on_gpu::TearDown();
  }

  // Multiplies random numbers in each way of cutting, and on the host.
  void compare(product_case const& c, bool large = true) {
    auto const a = numbers_of(c.a, random), b = numbers_of(c.b, random), right = reference(c, a, b);
    bool const integers = c.a.element < dtype::float16;
    if (integers || host_rounds_once()) expect_same_numbers(on_the_host(c, a, b), right, c.text() + " on the host");
    auto plan = cuda::plan_product(c.which, c.a, c.b, c.y);
    expect_same_numbers(run(plan, a, b, c.y), right, c.text());
    for (int const side : {cuda::product_plan::small_side, plan.large_side()})
      for (bool const into_blocks : {false, true}) {
        if (side != cuda::product_plan::small_side && !large) continue;
        plan.cut(side, into_blocks);
        plan.most_blocks = into_blocks ? 3 : 1 << 20;
        expect_same_numbers(run(plan, a, b, c.y), right,
                            c.text() + " by " + std::to_string(side) + (into_blocks ? ", in blocks" : ""));
      }
  }

  tensor run(cuda::product_plan const& plan, tensor const& a, tensor const& b, type const& y) {
    cuda::bound_product const product(*on, plan);
    auto const there_a = a.to(on->memory()), there_b = b.to(on->memory());
    tensor there(y.element, y.shape(), on->memory());
    tensor const scratch(dtype::uint8, {static_cast<std::int64_t>(plan.scratch())}, on->memory());
    auto const address = [](tensor const& t) { return t.storage().data(); };
    on_stream([&] { product(address(there_a), address(there_b), address(there), address(scratch)); });
    return there.to(host);
  }

  template <class F> void on_stream(F const& f) {
    struct work final : stream_work {
      F const& f;
      std::promise<failure> over = {};
      explicit work(F const& what) : f(what) {}
      void run() override { f(); }
      void done(failure why) noexcept override { over.set_value(std::move(why)); }
    } w(f);
    on->compute().submit(w);
    if (auto const why = w.over.get_future().get()) FAIL() << why->what();
  }
};

struct products_of : products, testing::WithParamInterface<dtype> {};

TEST_P(products_of, have_the_hosts_bits_for_odd_extents) {
  shape const all[] = {{1, 1, 0},  {1, 1, 1},   {3, 17, 1},   {17, 3, 7},  {1, 65, 8},
                       {65, 1, 9}, {3, 5, 288}, {17, 3, 289}, {65, 33, 31}};
  for (std::size_t i = 0; auto const& extents : all) {
    test::set_thread_order(i % 3);
    bool const flip = i++ % 2 == 0;
    compare({GetParam(), {flip, false}, extents});
    compare({GetParam(), {!flip, true}, extents});
  }
}
TEST_P(products_of, have_the_hosts_bits_for_deep_sums) {
  compare({GetParam(), {}, {17, 3, 5000}}, false);
  compare({GetParam(), {true, true}, {1, 3, 5000}}, false);
  compare({GetParam(), {}, {3, 1, 577}});
}
TEST_P(products_of, have_the_hosts_bits_for_batches) {
  for (transposed const which : {transposed{}, {true, true}}) {
    compare({GetParam(), which, {5, 9, 11}, {2, 3}, {3}, {2, 3}});
    compare({GetParam(), which, {2, 9, 100}, {4}, {4}, {}});
  }
}
INSTANTIATE_TEST_SUITE_P(each_type, products_of, testing::ValuesIn(test::types_to_test(numbers)),
                         [](auto const& i) { return std::string(name(i.param)); });

TEST_F(products, have_the_hosts_bits_for_several_tiles) {
  test::set_thread_order(7);
  compare({dtype::float32, {}, {130, 131, 290}});
  compare({dtype::float32, {true, true}, {257, 40, 17}});
  compare({dtype::float64, {false, true}, {65, 130, 33}});
  compare({dtype::bfloat16, {true, false}, {130, 65, 577}});
}

TEST_F(products, have_the_hosts_bits_for_batches_that_are_broadcast_or_summed) {
  struct batches {
    shape a, b, y;
  };
  for (auto const& [a, b, y] : {batches{{3}, {3}, {3}},
                                {{4}, {}, {4}},
                                {{}, {4}, {4}},
                                {{2, 1}, {3}, {2, 3}},
                                {{2, 1, 2}, {1, 3, 1}, {2, 3, 2}},
                                {{5}, {1}, {5}},
                                {{4}, {4}, {1}},
                                {{2, 3}, {2, 3}, {3}},
                                {{2, 3}, {2, 3}, {2, 1}},
                                {{1, 3}, {1, 3}, {3}},
                                {{2, 3, 2}, {2, 3, 2}, {1, 3, 1}},
                                {{2, 3, 2}, {2, 3, 2}, {2, 1, 2}},
                                {{2, 1, 2, 3, 1, 2}, {2, 2, 2, 3, 2, 2}, {2, 2, 1, 3, 2, 1}}})
    for (bool const ta : {false, true})
      for (bool const tb : {false, true}) {
        compare({dtype::float32, {ta, tb}, {3, 5, 7}, a, b, y}, false);
        compare({dtype::float64, {ta, tb}, {2, 1, 150}, a, b, y}, false);
      }
}

TEST_F(products, of_nothing_are_0) {
  for (transposed const which : {transposed{}, {true, true}}) {
    compare({dtype::float16, which, {3, 2, 0}, {2}, {2}, {2}});
    compare({dtype::float32, which, {3, 2, 0}, {2}, {2}, {1}});
    compare({dtype::float32, which, {3, 2, 4}, {0}, {0}, {1}});
    compare({dtype::int32, which, {3, 2, 4}, {2, 0}, {2, 0}, {2, 1}});
  }
}

// The rows of all matrices count for the cut of the depth, unless an axis is summed, be its extent 1.
TEST_F(products, cut_the_depth_by_the_rows_of_all_matrices) {
  product_case const joined(dtype::float32, {}, {40, 1, 20480}, {5}, {}, {5});
  product_case const apart(dtype::float32, {}, {40, 1, 20480}, {1, 5}, {1}, {5});
  auto const pieces = [](product_case const& c) {
    auto plan = cuda::plan_product(c.which, c.a, c.b, c.y);
    plan.cut(plan.small_side, false);
    return plan.form.pieces;
  };
  EXPECT_NE(pieces(joined), pieces(apart));
  for (auto const& c : {joined, apart}) {
    auto const a = numbers_of(c.a, random), b = numbers_of(c.b, random);
    auto const right = reference(c, a, b);
    if (host_rounds_once()) expect_same_numbers(on_the_host(c, a, b), right, c.text() + " on the host");
    expect_same_numbers(run(cuda::plan_product(c.which, c.a, c.b, c.y), a, b, c.y), right, c.text());
  }
}

TEST_F(products, of_numbers_that_are_not_finite_are_not_finite) {
  auto const infinity = std::numeric_limits<float>::infinity();
  product_case const c(dtype::float32, {}, {2, 2, 3});
  auto const a = tensor::copy<float>(std::vector{infinity, 0.f, 1.f, 1.f, 2.f, 3.f}, {2, 3});
  auto const b = tensor::copy<float>(std::vector{1.f, 0.f, 2.f, 3.f, 4.f, -infinity}, {3, 2});
  auto plan = cuda::plan_product(c.which, c.a, c.b, c.y);
  for (int const side : {plan.small_side, plan.large_side()}) {
    plan.cut(side, false);
    auto const found = run(plan, a, b, c.y);
    auto const y = found.span<float>();
    EXPECT_EQ(y[0], infinity);
    EXPECT_TRUE(std::isnan(y[1]));
    EXPECT_EQ(y[2], 17);
    EXPECT_EQ(y[3], -infinity);
  }
}

TEST_F(products, are_kernels_of_nodes) {
  for (auto const& extents : {shape{3, 4, 5}, {3, 4, 5000}, {3, 0, 5}}) {
    product_case const c(dtype::float32, {false, true}, extents);
    auto const a = numbers_of(c.a, random), b = numbers_of(c.b, random);
    auto const k = node_kernels(c).gpu(*on);
    EXPECT_EQ(k.scratch() > 0, extents[2] == 5000);
    auto const there_a = a.to(on->memory()), there_b = b.to(on->memory());
    tensor y(c.y.element, c.y.shape(), on->memory());
    tensor const scratch(dtype::uint8, {static_cast<std::int64_t>(k.scratch())}, on->memory());
    void* const pointers[] = {there_a.storage().data(), there_b.storage().data(), nullptr, y.storage().data(),
                              scratch.storage().data()};
    step_context step;
    on_stream(
        [&] { k(kernel_call{.pointers = pointers, .inputs = 3, .outputs = 1, .threads = parallel{}, .step = step}); });
    expect_same_numbers(y.to(host), reference(c, a, b), c.text());
  }
}

TEST(product_plan, distributes_few_tiles_by_the_depth) {
  auto const plan = [](shape const& extents) {
    product_case const c(dtype::float32, {}, extents);
    return cuda::plan_product(c.which, c.a, c.b, c.y);
  };
  EXPECT_EQ(plan({4096, 4096, 4096}).side, 128);
  EXPECT_EQ(plan({4096, 4096, 4096}).scratch(), 0u);
  EXPECT_EQ(plan({512, 768, 2304}).side, 128);
  EXPECT_EQ(plan({512, 768, 2304}).form.pieces, 8);
  EXPECT_EQ(plan({64, 64, 64}).side, 32);
  EXPECT_EQ(plan({1, 4096, 4096}).side, 32);
  EXPECT_EQ(plan({1, 4096, 4096}).scratch(), 0u);
  EXPECT_EQ(plan({1, 1, 1 << 24}).form.pieces, (1 << 24) / 288 + 1);
  EXPECT_LE(plan({200, 200, 1 << 24}).scratch(), std::size_t{64} << 20);
}

TEST(product_text, depends_on_element_types_and_tiles) {
  EXPECT_EQ(cuda::product_text(dtype::int8, 32, false), cuda::product_text(dtype::uint8, 32, false));
  EXPECT_EQ(cuda::product_text(dtype::float32, 32, false), cuda::product_text(dtype::float32, 32, true));
  EXPECT_NE(cuda::product_text(dtype::float16, 32, false), cuda::product_text(dtype::float16, 32, true));
  EXPECT_FALSE(cuda::has_product(dtype::boolean) || cuda::has_product(dtype::complex64));
  for (auto const element : numbers) EXPECT_TRUE(cuda::has_product(element));
}

// Every text, for each kind of card.
struct product_text_of : test::on_real_nvrtc, testing::WithParamInterface<dtype> {};
TEST_P(product_text_of, is_compiled_by_nvrtc) {
  int const large = cuda::product_plan{GetParam(), {}}.large_side();
  add_text(cuda::add_pieces_text(GetParam()), GetParam());
  for (bool const apart : {false, true})
    for (int const side : {cuda::product_plan::small_side, large})
      add_text(cuda::product_text(GetParam(), side, apart), GetParam(), "tiles of " + std::to_string(side),
               apart ? "apart" : "");
  expect_compiled();
}
INSTANTIATE_TEST_SUITE_P(each_type, product_text_of,
                         testing::Values(dtype::uint8, dtype::uint16, dtype::uint32, dtype::uint64, dtype::float16,
                                         dtype::bfloat16, dtype::float32, dtype::float64),
                         [](auto const& i) { return std::string(name(i.param)); });

}  // namespace
}  // namespace rill
