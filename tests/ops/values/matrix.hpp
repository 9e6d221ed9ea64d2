// How the cases of record_matrix.py are recorded in a graph.
#pragma once
#include "recorded.hpp"
#include "rill/ops/matrix/einsum.hpp"

namespace rill::test {

inline recorder_map matrix_recorders() {
  recorder_map r;
  for (auto const* equation : {"ij,jk",
                               "ij,kj->ki",
                               "ji,jk->ik",
                               "bij,bjk->bik",
                               "bqhd,bkhd->bhqk",
                               "bsd,dhe->bshe",
                               "aij,jib->ab",
                               "i,j->ji",
                               "ijk->kj",
                               "ijk->",
                               "ii->i",
                               "ii",
                               "iji,j",
                               "i,ij,j->",
                               "ab,bc,cd->ad",
                               "ab,ab->ab",
                               "a,ab,abc",
                               "abc,abd->cd",
                               ",ij->j",
                               "ij,j->i",
                               "ij,ij->",
                               "abij,abjk->ik",
                               "ba",
                               "ijj,kj->ik",
                               "...ij,...jk->...ik",
                               "...i,...i",
                               "i...,j...->ij..."})
    r["einsum " + std::string(equation)] = [=](call const& c) { return einsum(equation, c.x); };
  r["tensordot"] = [](call const& c) { return tensordot(c.x[0], c.x[1], {0, -1}, {2, 0}); };
  r["tensordot of two"] = [](call const& c) { return tensordot(c.x[0], c.x[1], 2); };
  r["tensordot of zero"] = [](call const& c) { return tensordot(c.x[0], c.x[1], 0); };
  r["outer"] = [](call const& c) { return outer(c.x[0], c.x[1]); };
  r["dot"] = [](call const& c) { return dot(c.x[0], c.x[1]); };
  r["vdot"] = [](call const& c) { return vdot(c.x[0], c.x[1]); };
  r["inner"] = [](call const& c) { return inner(c.x[0], c.x[1]); };
  r["kron"] = [](call const& c) { return kron(c.x[0], c.x[1]); };
  return r;
}

}  // namespace rill::test
