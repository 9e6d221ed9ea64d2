// Examples of products of tensors.
#pragma once
#include <string>

#include "example.hpp"
#include "rill/ops/matrix/einsum.hpp"

namespace rill::test {

inline std::vector<example> matrix_examples() {
  std::vector<example> all;
  auto const add = [&](std::string_view name, std::vector<type> const& of, auto record) {
    all.push_back({.operation = name,
                   .inputs =
                       [=](auto n) {
                         auto types = of;
                         for (auto& t : types) std::replace(t.dims.begin(), t.dims.begin() + t.rank, dim("n"), dim(n));
                         return types;
                       },
                   .record = record,
                   .elements = dtypes::numbers,
                   .composed = true});
  };
  dim const n = "n";  // stands for the extent that is tried
  for (auto const& [equation, of] : std::initializer_list<std::pair<std::string, std::vector<type>>>{
           {"ij,jk", {d({2, n}), d({n, 3})}},
           {"bij,bjk->bik", {d({2, n, 3}), d({2, 3, 2})}},
           {"bqhd,bkhd->bhqk", {d({1, n, 2, 3}), d({1, 2, 2, 3})}},
           {"bsd,dhe->bshe", {d({n, 2, 3}), d({3, 2, 2})}},
           {"aij,jib->ab", {d({2, n, 3}), d({3, n, 2})}},
           {"i,j->ji", {d({n}), d({2})}},
           {"ijk->kj", {d({2, n, 3})}},
           {"ii->i", {d({n, n})}},
           {"iji,j", {d({2, n, 2}), d({n})}},
           {"i,ij,j->", {d({n}), d({n, 3}), d({3})}},
           {"...i,...i->...", {d({n, 2, 3}), d({2, 3})}},
           {"ij,ij->ij", {d({1, 3}), d({n, 3})}}})
    add("einsum", of, [equation](in x) { return einsum(equation, x); });
  add("tensordot", {d({2, n, 3}), d({3, 2, 2})}, [](in x) { return tensordot(x[0], x[1], {-1, 0}, {0, 1}); });
  add("outer", {d({n}), d({3})}, [](in x) { return outer(x[0], x[1]); });
  add("dot", {d({n}), d({n})}, [](in x) { return dot(x[0], x[1]); });
  add("vdot", {d({n}), d({n})}, [](in x) { return vdot(x[0], x[1]); });
  add("inner", {d({2, n}), d({2, 3, n})}, [](in x) { return inner(x[0], x[1]); });
  add("kron", {d({n, 2}), d({3, 2})}, [](in x) { return kron(x[0], x[1]); });
  return all;
}

}  // namespace rill::test
