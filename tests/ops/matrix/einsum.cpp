#include "rill/ops/matrix/einsum.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

using test::expect_error;

template <type T> using handle = expr<T>;

static_assert(decltype(einsum<"bij,bjk->bik">(handle<of<float, "b", 2, 3>>(),
                                              handle<of<float, "b", 3, 4>>()))::static_type == of<float, "b", 2, 4>);
static_assert(decltype(einsum<" ij , jk ">(handle<of<int, 2, 3>>(), handle<of<int, 3, unknown>>()))::static_type ==
              of<int, 2, unknown>);
static_assert(decltype(einsum<"ba">(handle<of<float, 2, 3>>()))::static_type == of<float, 3, 2>);
static_assert(decltype(einsum<"ii">(handle<of<double, "n", "n">>()))::static_type == of<double>);
static_assert(decltype(einsum<"ii->i">(handle<of<double, unknown, 3>>()))::static_type == of<double, 3>);
static_assert(decltype(einsum<"...ij,...jk">(handle<of<float, 5, 1, 2, 3>>(),
                                             handle<of<float, 4, 3, 6>>()))::static_type == of<float, 5, 4, 2, 6>);
static_assert(decltype(einsum<"bZ,aZ">(handle<of<float, 2, 3>>(), handle<of<float, 4, 3>>()))::static_type ==
              of<float, 4, 2>);
static_assert(decltype(tensordot<2>(handle<of<float, 2, 3, 4>>(), handle<of<float, 3, 4, 5>>()))::static_type ==
              of<float, 2, 5>);
static_assert(decltype(tensordot<extents{0}, extents{-1}>(handle<of<float, 2, 3>>(),
                                                          handle<of<float, "n", 2>>()))::static_type ==
              of<float, 3, "n">);
static_assert(decltype(inner(handle<of<float, 2, 3>>(), handle<of<float, 5, 3>>()))::static_type == of<float, 2, 5>);
static_assert(decltype(kron(handle<of<float, 2, 3>>(), handle<of<float, "n", 5>>()))::static_type ==
              of<float, unknown, 15>);

// The names of the operations of a graph, except placeholders.
std::vector<std::string_view> operations_of(graph const& g) {
  std::vector<std::string_view> names;
  for (std::uint32_t i = 0; i < g.size(); ++i)
    if (g[i].op->kind != op_kind::placeholder) names.push_back(g[i].op->name);
  return names;
}

TEST(einsum, is_one_matrix_product_where_the_axes_lie_as_one_needs_them) {
  struct pair {
    char const* equation;
    type a, b;
  };
  for (auto const& [equation, a, b] : {pair{"ij,jk->ik", of<float, "n", 3>, of<float, 3, 4>},
                                       {"ji,kj->ik", of<float, 3, 2>, of<float, 4, 3>},
                                       {"bij,bjk->bik", of<float, "b", 2, 3>, of<float, "b", 3, unknown>},
                                       {"bij,jk->bik", of<float, unknown, unknown, 3>, of<float, 3, 4>},
                                       {"bqd,bkd->bqk", of<float, 2, "q", 3>, of<float, 2, "k", 3>}}) {
    graph g;
    value const y = einsum(equation, {placeholder(g, a), placeholder(g, b)});
    EXPECT_EQ(operations_of(g), std::vector<std::string_view>{"matmul"}) << equation << " " << y.type().text();
  }
}

TEST(einsum, merges_known_axes_into_one_matrix_product) {
  graph g;
  einsum("abi,icd->abcd", {placeholder(g, of<float, 2, 3, 4>), placeholder(g, of<float, 4, 5, 6>)});
  EXPECT_EQ(operations_of(g), (std::vector<std::string_view>{"reshape", "reshape", "matmul", "reshape"}));
}

TEST(einsum, of_two_is_a_matrix_product_whenever_a_letter_is_summed) {
  for (auto const* equation : {"i,i->", "bi,bi->b", "ij,j->i", "aij,jib->ab", "abij,abjk->ik"}) {
    graph g;
    std::vector<value> x;
    std::string_view const text(equation);
    for (auto const term : {text.substr(0, text.find(',')), text.substr(text.find(',') + 1)}) {
      type t;
      for (char const c : term.substr(0, term.find('-'))) t.push_back(c - 'a' + 1);
      x.push_back(placeholder(g, t));
    }
    einsum(text, x);
    auto const all = operations_of(g);
    EXPECT_EQ(std::count(all.begin(), all.end(), "matmul"), 1) << equation;
    EXPECT_EQ(std::count(all.begin(), all.end(), "mul"), 0) << equation;
  }
}

// The same with extents that only the step knows.
TEST(einsum, gives_the_same_whatever_is_known_before_the_step) {
  auto const fed = [](std::string_view term, unsigned salt) {
    shape s;
    for (char const c : term) s.push_back(2 + c % 3);
    return test::scattered(dtype::float64, s, salt);
  };
  for (auto const& [a, b, result] : std::initializer_list<std::array<char const*, 3>>{{"abc", "cde", "abde"},
                                                                                      {"abcd", "cdab", ""},
                                                                                      {"abc", "bcd", "da"},
                                                                                      {"xabc", "xcbd", "xad"},
                                                                                      {"ab", "cd", "dbca"},
                                                                                      {"abcde", "cedf", "abf"},
                                                                                      {"xab", "xab", "x"},
                                                                                      {"abc", "ad", "bd"}}) {
    std::vector<tensor> const x{fed(a, 1), fed(b, 2)};
    auto const equation = std::string(a) + "," + b + "->" + result;
    auto const known = test::run([&](auto const& in) { return einsum(equation, in); }, x);
    graph g;
    std::vector<value> y;
    std::vector<feed> feeds;
    for (auto const& t : x) {
      type of{dtype::float64};
      for (std::size_t i = 0; i < t.shape().rank(); ++i) of.push_back(unknown);
      y.push_back(placeholder(g, of));
      feeds.emplace_back(y.back(), t);
    }
    session s{g};
    auto const open = s.run(std::span<feed const>(feeds), einsum(equation, y));
    ASSERT_EQ(known.shape(), open.shape()) << equation;
    auto const p = test::to_doubles(known), q = test::to_doubles(open);
    for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(p[i], q[i], 1e-13) << equation;
  }
}

TEST(einsum, broadcasts_an_extent_of_1_as_numpy_does) {
  auto const one = test::counting(dtype::float64, {1, 3}), two = test::counting(dtype::float64, {2, 3});
  auto const run = [&](char const* equation) {
    return test::to_doubles(test::run([&](auto const& in) { return einsum(equation, in); }, {one, two}));
  };
  EXPECT_EQ(run("ij,ij->ij"), (std::vector<double>{1, 4, 9, 4, 10, 18}));
  EXPECT_EQ(run("ij,ij->j"), (std::vector<double>{5, 14, 27}));
}

TEST(einsum, reads_only_the_diagonal) {
  auto const y = test::run([](auto const& in) { return einsum("ii->i", in); },
                           {test::from_doubles(dtype::float32, {2, 2}, {1, NAN, INFINITY, 4})});
  EXPECT_EQ(test::to_doubles(y), (std::vector<double>{1, 4}));
}

TEST(einsum, of_a_diagonal_fails_in_the_step_that_finds_other_extents) {
  graph g;
  auto const x = placeholder(g, of<float, unknown, unknown>);
  value const y = einsum("ii", {x});
  session s{g};
  EXPECT_EQ(s.run({{x, test::counting(dtype::float32, {2, 2})}}, y).item<float>(), 5);
  for (auto const& extents : {shape{2, 3}, shape{1, 3}, shape{3, 1}})
    expect_error(code::invalid_argument, "the number of elements changes",
                 [&] { s.run({{x, test::counting(dtype::float32, extents)}}, y); });
}

TEST(einsum, sums_16_bit_floats_as_float32) {
  std::vector<double> const ones(4096, 1);
  auto const x = test::from_doubles(dtype::float16, {4096}, ones);
  EXPECT_EQ(test::to_doubles(test::run([](auto const& in) { return dot(in[0], in[1]); }, {x, x}))[0], 4096);
}

TEST(einsum, refuses_equations_and_operands_that_do_not_fit) {
  graph g;
  value const x = placeholder(g, of<float, 2, 3>), y = placeholder(g, of<float, 4, 3>),
              i = placeholder(g, of<int, 3, 2>), b = placeholder(g, of<bool, 3, 2>),
              open = placeholder(g, type::of_unknown_rank(dtype::float32));
  auto const refuses = [](char const* words, std::string_view equation, std::vector<value> const& of) {
    expect_error(code::invalid_argument, words, [&] { einsum(equation, of); });
  };
  refuses("there are no operands", "", {});
  refuses("a term for each operand: 1 against 2", "ij", {x, y});
  refuses("a term for each operand: 3 against 2", "ij,jk,k", {x, y});
  refuses("an axis for each letter: 2 against 3", "ijk", {x});
  refuses("fewer axes than letters: 2 against 3", "...ijk", {x});
  refuses("a term consists of letters", "i1", {x});
  refuses("a term consists of letters", "i..j", {x});
  refuses("a term consists of letters", "......ij", {x});
  refuses("a term consists of letters", "ij->i>j", {x});
  refuses("a term consists of letters", "ij->i,j", {x});
  refuses("the result has a letter twice", "ij->ii", {x});
  refuses("the result has a letter that no operand has", "ij->ik", {x});
  refuses("one letter and different extents: 3 against 2", "ii", {x});
  refuses("do not broadcast", "ij,jk", {x, y});
  refuses("different element types", "ij,jk", {x, i});
  refuses("not of numbers", "ij", {b});
  refuses("the rank of an operand is not known", "ij", {open});
  refuses("more than 8 axes", "ij,kl,mn,op,q...->...ijklmnop", {x, x, x, x, x});
  expect_error(code::invalid_argument, "empty handle", [&] { einsum("ij", {value()}); });
}

TEST(tensordot, refuses_axes_that_do_not_fit) {
  graph g;
  value const x = placeholder(g, of<float, 2, 3>), y = placeholder(g, of<float, 4, 3>);
  auto const refuses = [&](char const* words, extents const& a, extents const& b) {
    expect_error(code::invalid_argument, words, [&] { tensordot(x, y, a, b); });
  };
  refuses("different extents: 2 against 4", {0}, {0});
  refuses("different lengths", {0, 1}, {1});
  refuses("named twice", {1, -1}, {1, 1});
  refuses("axis 2 of rank 2", {2}, {0});
  expect_error(code::invalid_argument, "fewer axes", [&] { tensordot(x, y, 3); });
  expect_error(code::invalid_argument, "fewer axes", [&] { tensordot(x, y, -1); });
}

TEST(kron, takes_extents_that_only_the_step_knows) {
  graph g;
  for (auto const& [a, b] :
       {std::pair{of<double, "n", 2>, of<double, 2, 1>}, {of<double, "n", "m">, of<double, 2, "k">}}) {
    value const x = placeholder(g, a), y = placeholder(g, b), z = kron(x, y);
    session s{g};
    auto const made =
        s.run({{x, test::counting(dtype::float64, {1, 2})}, {y, test::counting(dtype::float64, {2, 1})}}, z);
    EXPECT_EQ(made.shape(), (shape{2, 2}));
    EXPECT_EQ(test::to_doubles(made), (std::vector<double>{1, 2, 2, 4}));
  }
}

TEST(vdot, conjugates_the_first_vector) {
  graph g;
  using number = std::complex<double>;
  tensor t(dtype::complex128, shape{1});
  t.mutable_data<number>()[0] = {1, 2};
  auto const y = test::run([](auto const& in) { return vdot(in[0], in[0]); }, {t});
  EXPECT_EQ(y.data<number>()[0], (number{5, 0}));
}

}  // namespace
}  // namespace rill
