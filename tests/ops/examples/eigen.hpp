// Examples of the operations that Eigen computes.
#pragma once
#include "example.hpp"
#include "rill/ops/list/eigen_operations.hpp"

namespace rill::test {

/// Returns matrices with small elements, except 2, 3, 4, … on the diagonal: none is singular, no eigenvalue occurs
/// twice.
inline value heavy(value x, double part = 0.1) {
  detail::element_places const at(x);
  value const small = x * part, more = cast(at.row + 2, x.type().element);
  return small + select(equal(at.row, at.column), more, zero(small));
}

inline std::vector<example> eigen_examples() {
  std::vector<example> all;
  auto const add = [&](std::string_view name, std::vector<type> const& of, auto record) {
    all.push_back({.operation = name,
                   .inputs =
                       [=](auto n) {
                         auto types = of;
                         for (auto& t : types) std::replace(t.dims.begin(), t.dims.begin() + t.rank, dim("n"), dim(n));
                         return types;
                       },
                   .record = record});
  };
  dim const n = "n";  // stands for the extent that is tried
  for (auto const& of : {d({n, 3, 3}), d({2, n, n})}) {
    add("inverse", {of}, [](in x) { return inverse(heavy(x[0])); });
    add("inverse", {of}, [](in x) { return record_erased<ops::inverse_op>(*x[0].graph, {true}, {heavy(x[0])}); });
    add("determinant", {of}, [](in x) { return determinant(heavy(x[0])); });
    add("log_determinant", {of}, [](in x) { return std::get<0>(log_determinant(heavy(x[0]))); });
    add("cholesky", {of}, [](in x) { return cholesky(heavy(x[0], 0.02)); });
    add("eigh", {of}, [](in x) { return std::get<0>(eigh(heavy(x[0]))); });
  }
  for (auto const& of : {d({n, 3, 2}), d({2, n, n})})
    add("qr", {of}, [](in x) { return std::get<0>(qr(heavy(x[0]))); });
  for (auto const& of : {d({n, 3, 2}), d({2, n, 3}), d({n, n})})
    add("svd", {of}, [](in x) { return std::get<0>(svd(heavy(x[0]))); });
  for (auto const& [a, b] :
       {std::pair{d({n, 2, 2}), d({n, 2, 3})}, {d({n, n}), d({2, n, 1})}, {d({2, 1, 2, 2}), d({n, 2, 2})}})
    for (bool transposed : {false, true})
      for (bool conjugated : {false, true}) {
        system_form const how{transposed, conjugated};
        add("solve", {a, b}, [=](in x) { return solve(heavy(x[0]), x[1], how); });
        for (bool upper : {false, true}) {
          triangle_form const part{upper, transposed, conjugated};
          add("triangular_solve", {a, b}, [=](in x) { return triangular_solve(heavy(x[0]), x[1], part); });
        }
      }
  for (auto const& [a, b] : {std::pair{d({4, 2}), d({4, n})}, {d({n, 4, 2}), d({4, 1})}}) {
    add("lstsq", {a, b}, [=](in x) { return lstsq(heavy(x[0]), x[1]); });
    all.back().composed = true;
    all.back().elements = ops::decomposed_elements;
  }
  return all;
}

}  // namespace rill::test
