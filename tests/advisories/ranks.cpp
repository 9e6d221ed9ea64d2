// Rank or scalarness that is assumed.
#include "hostile.hpp"

namespace rill::test {
namespace {

tensor of_rank(tensor const& like, std::size_t rank, std::int64_t extent) {
  shape s;
  for (std::size_t k = 0; k < rank; ++k) s.push_back(k % 3 == 0 ? extent : 1);
  return mild(type(like.element(), s), dtypes::indices.contains(like.element()) ? 1 : 0);
}

TEST(advisories_ranks, every_rank_of_every_input_is_computed_or_refused) {
  for (auto const& good : good_calls())
    for (std::size_t i = 0; i < good.inputs.size(); ++i)
      for (std::size_t rank = 0; rank <= max_rank; ++rank)
        for (std::int64_t extent : {1, 2, 3}) {
          if (rank == 0 && extent > 1) continue;
          auto c = good;
          c.inputs[i] = of_rank(good.inputs[i], rank, extent);
          expect_steady(c);
        }
}

TEST(advisories_ranks, every_rank_of_all_inputs_together_is_computed_or_refused) {
  for (auto const& good : good_calls())
    for (std::size_t rank = 0; rank <= max_rank; ++rank)
      for (std::int64_t extent : {0, 1, 2}) {
        if (rank == 0 && extent != 1) continue;
        auto c = good;
        for (auto& t : c.inputs) t = of_rank(t, rank, extent);
        expect_steady(c);
      }
}

TEST(advisories_ranks, an_axis_more_or_less_at_either_end_is_computed_or_refused) {
  for (auto const& good : good_calls())
    for (std::size_t i = 0; i < good.inputs.size(); ++i) {
      auto const s = good.inputs[i].shape();
      shape before{1}, behind = s, less;
      for (std::size_t k = 0; k < s.rank(); ++k) before.push_back(s[k]);
      behind.push_back(1);
      for (std::size_t k = 1; k < s.rank(); ++k) less.push_back(s[k]);
      for (auto const& other : {before, behind, less}) {
        auto c = good;
        c.inputs[i] =
            mild(type(good.inputs[i].element(), other), dtypes::indices.contains(good.inputs[i].element()) ? 3 : 0);
        expect_steady(c);
      }
    }
}

}  // namespace
}  // namespace rill::test
