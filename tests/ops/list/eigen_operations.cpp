// Walks the list of operations that Eigen computes, and compares their values with NumPy's and SciPy's
// (values/record_eigen.py).
#include "rill/ops/list/eigen_operations.hpp"

#include "../examples/eigen.hpp"
#include "../run.hpp"
#include "../values/recorded.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/list/registry.hpp"
#include "table.hpp"
#include "walk.hpp"

namespace rill {
namespace {

test::walk const& listed() {
  static auto const all = test::walk_of<eigen_operations>(test::eigen_examples());
  return all;
}

TEST(eigen_operations, are_those_of_the_page) {
  std::vector<op_def const*> defined;
  eigen_operations::for_each([&]<class Op>() { defined.push_back(&definition<Op>()); });
  test::expect_page(
      "eigen_ops.md",
      "# Operations that Eigen computes\n\n"
      "Written by the test `eigen_operations.are_those_of_the_page` from the list in\n"
      "`include/rill/ops/list/eigen_operations.hpp`. The columns are those of [the other operations](ops.md).\n\n" +
          test::table_of<eigen_operations>(defined));
}

TEST(eigen_operations, each_have_an_example_and_a_sentence) {
  std::set<std::string_view> with;
  for (auto const& e : listed().examples) with.insert(e.operation);
  eigen_operations::for_each([&]<class Op>() {
    EXPECT_TRUE(with.contains(Op::name)) << Op::name;
    EXPECT_FALSE(Op::doc.empty()) << Op::name;
  });
}

TEST(eigen_operations, types_are_inferred_as_they_turn_out_with_extents_of_0_and_1_too) {
  test::expect_inferred_types(listed());
}

TEST(eigen_operations, every_element_type_that_is_named_works_and_others_are_refused) {
  test::expect_element_types(listed());
}

TEST(eigen_operations, any_number_of_threads_computes_the_same_bits) {
  test::expect_same_bits_of_any_threads(listed());
}

TEST(eigen_operations, derivatives_are_those_of_finite_differences_and_so_are_second_ones) {
  test::expect_derivatives_twice(listed());
}

TEST(eigen_operations, derivatives_with_respect_to_complex_numbers_point_where_the_target_grows) {
  test::expect_complex_derivatives(listed());
}

TEST(eigen_operations, derivatives_exist_for_extents_that_only_the_run_knows_and_for_0) {
  test::expect_derivatives_of_open_extents(listed());
}

TEST(eigen_operations, say_while_a_program_compiles_whether_they_take_their_operands) {
  test::expect_inference_while_compiling<eigen_operations>();
}

test::recorder_map const& recorders() {
  using test::call;
  static auto const all = [] {
    test::recorder_map r;
    r["inverse"] = [](call const& c) { return inverse(c.x[0]); };
    r["determinant"] = [](call const& c) { return determinant(c.x[0]); };
    r["log_determinant"] = [](call const& c) { return std::get<0>(log_determinant(c.x[0])); };
    r["cholesky"] = [](call const& c) { return cholesky(c.x[0]); };
    r["eigh"] = [](call const& c) { return std::get<0>(eigh(c.x[0])); };
    for (auto const* words : {"qr", "qr of square matrices"})
      r[words] = [](call const& c) { return std::get<0>(qr(c.x[0])); };
    for (auto const* words : {"svd", "svd of wide matrices", "svd of a large matrix"})
      r[words] = [](call const& c) { return std::get<0>(svd(c.x[0])); };
    r["solve"] = [](call const& c) { return solve(c.x[0], c.x[1]); };
    r["solve adjoint"] = [](call const& c) { return solve(c.x[0], c.x[1], {.transposed = true, .conjugated = true}); };
    r["solve with a vector"] = [](call const& c) { return solve(c.x[0], c.x[1]); };
    r["triangular_solve"] = [](call const& c) { return triangular_solve(c.x[0], c.x[1]); };
    r["triangular_solve upper"] = [](call const& c) { return triangular_solve(c.x[0], c.x[1], {.upper = true}); };
    r["triangular_solve transposed"] = [](call const& c) {
      return triangular_solve(c.x[0], c.x[1], {.transposed = true});
    };
    for (auto const* words : {"lstsq", "lstsq of wide matrices"})
      r[words] = [](call const& c) { return lstsq(c.x[0], c.x[1]); };
    return r;
  }();
  return all;
}

TEST(eigen_operations, give_the_values_of_numpy_and_scipy) {
  auto const all = test::read_recordings("eigen");
  std::map<std::string, dtypes> tried;
  test::bound_map bounds;
  for (auto const& r : all) {
    tried[r.operation()] = tried[r.operation()] | r.tried;
    bounds[r.operation()] = {256, true};  // of well-conditioned matrices
  }
  eigen_operations::for_each(
      [&]<class Op>() { EXPECT_TRUE(tried[std::string(Op::name)].includes(Op::elements)) << Op::name; });
  test::expect_recordings(all, recorders(), bounds, {.threads = 2});
}

TEST(eigen_operations, travel_with_their_graph) {
  graph g;
  value const x = placeholder<double, 2, 2>(g, "x");
  auto const [q, r] = qr(x);
  auto const [w, v] = eigh(x);
  auto const [u, s, vt] = svd(x);
  auto const name = sum(solve(q, r, {.transposed = true}) + cholesky(x) * vt + triangular_solve(r, v, {.upper = true}) +
                            expand_dims(w * s, 0),
                        extents{})
                        .name();
  auto const again = graph_from_bytes(to_bytes(g), all_operations<eigen_operations>());
  session one(g), other(*again);
  auto const fed = test::from_doubles(dtype::float64, {2, 2}, {2, 0, 0, 4});
  EXPECT_TRUE(same_bits(one.run({{"x", fed}}, std::vector{name})[0], other.run({{"x", fed}}, std::vector{name})[0]));
}

}  // namespace
}  // namespace rill
