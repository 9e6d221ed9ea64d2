// How the cases of record_cumulative.py are recorded.
#pragma once
#include <cmath>

#include "recorded.hpp"

namespace rill::test {

inline recorder_map cumulative_recorders() {
  recorder_map r;
  for (std::int64_t axis : {0, 1, 2})
    for (bool exclusive : {false, true})
      for (bool reverse : {false, true}) {
        auto const words =
            " along " + std::to_string(axis) + (exclusive ? " exclusive" : "") + (reverse ? " reverse" : "");
        cumulative const how{exclusive, reverse};
        r["cumsum" + words] = [=](call const& c) { return cumsum(c.x[0], axis, how); };
        r["cumprod" + words] = [=](call const& c) { return cumprod(c.x[0], axis, how); };
      }
  for (bool reverse : {false, true}) {
    std::string const words = reverse ? " reverse" : "";
    r["delayed" + words] = [=](call const& c) { return delayed(c.x[0], 1, reverse); };
    r["linear_recurrence" + words] = [=](call const& c) { return linear_recurrence(c.x[0], c.x[1], 1, reverse); };
  }
  r["segment_sum"] = [](call const& c) { return segment_sum(c.x[0], c.x[1], 5); };
  r["segment_sum of any order"] = [](call const& c) { return unsorted_segment_sum(c.x[0], c.x[1], 5); };
  r["segment_sum of means"] = [](call const& c) { return segment_mean(c.x[0], c.x[1], 5); };
  r["segment_sum of means of any order"] = [](call const& c) { return unsorted_segment_mean(c.x[0], c.x[1], 5); };
  r["segment_max"] = [](call const& c) { return segment_max(c.x[0], c.x[1], 5); };
  r["segment_max of any order"] = [](call const& c) { return unsorted_segment_max(c.x[0], c.x[1], 5); };
  r["segment_max least"] = [](call const& c) { return segment_min(c.x[0], c.x[1], 5); };
  r["segment_max least of any order"] = [](call const& c) { return unsorted_segment_min(c.x[0], c.x[1], 5); };
  r["segment_take"] = [](call const& c) {
    return record_erased<ops::segment_take_op>(c.g, {5, false, false}, {c.x[0], c.x[1]});
  };
  for (double p : {1., 2., 3., static_cast<double>(INFINITY)})
    r["norm " + std::to_string(static_cast<int>(std::min(p, 9.)))] = [=](call const& c) {
      return norm(c.x[0], extents{1}, false, p);
    };
  r["standard_deviation"] = [](call const& c) { return standard_deviation(c.x[0], extents{0, 2}, true, ddof{1}); };
  r["average"] = [](call const& c) { return average(c.x[0], c.x[1], extents{1}); };
  r["count_nonzero"] = [](call const& c) { return count_nonzero(c.x[0], extents{1}); };
  r["any_nan"] = [](call const& c) { return any_nan(c.x[0], extents{1}); };
  r["real"] = [](call const& c) { return real(c.x[0]); };
  r["imag"] = [](call const& c) { return imag(c.x[0]); };
  r["angle"] = [](call const& c) { return angle(c.x[0]); };
  r["complex"] = [](call const& c) { return complex(c.x[0], c.x[1]); };
  r["polar"] = [](call const& c) { return polar(c.x[0], c.x[1]); };
  r["abs of complex"] = [](call const& c) { return abs(c.x[0]); };
  return r;
}

inline bound_map cumulative_bounds() {
  return {{"cumprod", {16, true}}, {"segment_sum", {8, true}}, {"norm", {8, true}}, {"angle", {3.25}}, {"abs", {4}}};
}

}  // namespace rill::test
