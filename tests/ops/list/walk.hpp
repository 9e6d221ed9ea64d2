// Walks examples of operations: types, element types, extents of 0 and 1, threads and derivatives of each.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "../examples/example.hpp"
#include "../tensors.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/math/complex.hpp"
#include "rill/run/session.hpp"

namespace rill::test {

// Numbers that differ from each other by 0.03 or more, none near 0; or indices.
inline std::vector<double> numbers(std::size_t n, unsigned salt, bool positive) {
  std::vector<double> v(n);
  for (std::size_t i = 0; i < n; ++i) {
    auto const place = static_cast<double>((i * 37 + salt * 11) % 61);
    v[i] = 0.4 + 0.03 * place + 0.0007 * static_cast<double>(salt) + 0.00005 * static_cast<double>(i / 61);
    if (!positive && (i * 7 + salt) % 3 == 0) v[i] = -v[i];
  }
  return v;
}

inline bool tried(type const& t) { return t.element == dtype::float64; }

inline tensor input(example const& e, type const& t, dtype as, unsigned salt) {
  auto const n = static_cast<std::size_t>(elements(t.shape()));
  if (tried(t)) {
    auto v = numbers(n, salt, e.positive || dtypes::integers.contains(as) || as == dtype::boolean);
    for (auto& each : v)
      if (dtypes::integers.contains(as)) each = std::floor(each * 2 + 1);
    return from_doubles(as, t.shape(), v);
  }
  std::vector<double> v(n);
  for (std::size_t i = 0; i < n; ++i)
    v[i] = static_cast<double>((i * 5 + salt) % static_cast<std::size_t>(e.indices_below));
  return from_doubles(t.element, t.shape(), v);
}

// An example recorded with placeholders, and something to feed them.
struct recorded {
  recorded(example const& e, std::int64_t n, dtype as = dtype::float64, bool known = true) {
    unsigned salt = 0;
    for (auto t : e.inputs(n)) {
      fed.push_back(input(e, t, as, ++salt));
      type declared = fed.back().type();
      if (!known)
        for (std::size_t i = 0; i < declared.rank; ++i) declared[i] = unknown;
      x.push_back(placeholder(g, declared));
    }
    auto const y = e.record(x);
    for (std::uint32_t port = 0; port < y.origin().outputs.size(); ++port) outputs.push_back({&g, y.node, port});
  }
  std::vector<feed> feeds() const {
    std::vector<feed> all;
    for (std::size_t i = 0; i < x.size(); ++i) all.emplace_back(x[i], fed[i]);
    return all;
  }

  graph g;
  std::vector<value> x, outputs;
  std::vector<tensor> fed;
};

inline std::vector<tensor> run(recorded const& r, std::vector<value> const& fetches, session& s) {
  std::vector<tensor> results;
  for (auto const& f : fetches) results.push_back(s.run(std::span<feed const>(r.feeds()), f));
  return results;
}

inline std::string described(example const& e) {
  std::string s(e.operation);
  for (auto const& t : e.inputs(3)) s += " " + t.text();
  return s;
}

// The examples of a list of operations, and which element types each operation says that it takes.
struct walk {
  std::vector<example> examples;
  std::map<std::string_view, dtypes> taken;

  bool takes(example const& e, dtype d) const {
    return (e.elements == dtypes{} ? taken.at(e.operation) : e.elements).contains(d);
  }
};

template <class Operations> walk walk_of(std::vector<example> const& examples) {
  walk w{examples, {}};
  Operations::for_each([&]<class Op>() {
    if constexpr (requires { Op::elements; }) w.taken[Op::name] = Op::elements;
    else w.taken[Op::name] = dtypes::any_element;
  });
  return w;
}

// An element type for whatever the call is.
inline dtype first_taken(walk const& w, example const& e) {
  for (auto as : {dtype::float64, dtype::complex64, dtype::int32})
    if (w.takes(e, as)) return as;
  return dtype::boolean;
}

inline void expect_inferred_types(walk const& w) {
  for (auto const& e : w.examples)
    for (std::int64_t n : {0, 1, 3})
      for (bool known : {true, false}) {
        SCOPED_TRACE(described(e) + " with " + std::to_string(n) + (known ? "" : ", unknown"));
        if (!known && e.needs_extents) {
          EXPECT_THROW(recorded(e, n, first_taken(w, e), known), error);
          continue;
        }
        try {
          recorded r(e, n, first_taken(w, e), known);
          session s{r.g};
          auto const results = run(r, r.outputs, s);
          EXPECT_FALSE(n == 0 && e.refuses_nothing);
          for (std::size_t o = 0; o < results.size(); ++o) {
            if (known) {
              EXPECT_EQ(r.outputs[o].type().text(), results[o].type().text());
            }
            EXPECT_TRUE(accepts(r.outputs[o].type(), results[o].type()))
                << r.outputs[o].type().text() << " " << results[o].type().text();
          }
        } catch (error const& failure) {
          EXPECT_TRUE(n == 0 && e.refuses_nothing) << failure.what();
          EXPECT_EQ(failure.code(), code::invalid_argument);
        }
      }
}

inline double tolerance(dtype d) {
  switch (d) {
    case dtype::float16:
      return 4e-3;
    case dtype::bfloat16:
      return 3e-2;
    case dtype::float32:
    case dtype::complex64:
    case dtype::string:
      return 2e-5;
    default:
      return 1e-12;
  }
}

// The integer, cut and wrapped, that integer arithmetic gives.
inline double wrapped(dtype d, double v) {
  return visit(d, [&]<class T>() {
    if constexpr (std::integral<T>) return static_cast<double>(static_cast<T>(static_cast<std::int64_t>(v)));
    else return v;
  });
}

inline void expect_element_types(walk const& w) {
  for (auto const& e : w.examples) {
    auto const types = e.inputs(3);
    if (std::none_of(types.begin(), types.end(), tried)) continue;
    for (std::size_t i = 0; i < dtype_count; ++i) {
      auto const as = static_cast<dtype>(i);
      SCOPED_TRACE(described(e) + " as " + std::string(name(as)));
      if (!w.takes(e, as)) {
        EXPECT_THROW(recorded(e, 3, as), error);
        continue;
      }
      try {
        recorded r(e, 3, as);
        session s{r.g};
        auto const results = run(r, r.outputs, s);
        if (as == dtype::boolean || !w.takes(e, dtype::float64)) continue;
        bool const ordered = e.operation == "less" || e.operation == "less_equal";
        if (as == dtype::string && ordered) continue;  // "10" is less than "9"
        recorded exact(e, 3);
        for (std::size_t k = 0; k < exact.fed.size(); ++k)
          if (tried(types[k])) exact.fed[k] = from_doubles(dtype::float64, types[k].shape(), to_doubles(r.fed[k]));
        session t{exact.g};
        auto const wanted = run(exact, exact.outputs, t);
        for (std::size_t o = 0; o < results.size(); ++o) {
          auto const a = to_doubles(results[o]), b = to_doubles(wanted[o]);
          ASSERT_EQ(a.size(), b.size());
          bool const whole = dtypes::integers.contains(results[o].element());
          for (std::size_t k = 0; k < a.size(); ++k)
            ASSERT_NEAR(a[k], whole ? wrapped(results[o].element(), b[k]) : b[k],
                        whole ? 0 : tolerance(as) * (1 + std::abs(b[k]) * 4))
                << k;
        }
      } catch (error const& failure) {
        ADD_FAILURE() << failure.what();
      }
    }
  }
}

inline void expect_same_bits_of_any_threads(walk const& w) {
  for (auto const& e : w.examples) {
    std::int64_t const n = 60;
    SCOPED_TRACE(described(e));
    for (auto as : {dtype::float32, dtype::float64, dtype::float16}) {
      if (!w.takes(e, as)) continue;
      recorded r(e, n, as);
      session one{r.g, {.threads = 1}}, four{r.g, {.threads = 4}};
      auto const a = run(r, r.outputs, one), b = run(r, r.outputs, four);
      for (std::size_t o = 0; o < a.size(); ++o) EXPECT_TRUE(same_bits(a[o], b[o]));
    }
  }
}

inline void expect_same_bits_in_each_step(walk const& w) {
  for (auto const& e : w.examples) {
    if (!w.takes(e, dtype::float32)) continue;
    SCOPED_TRACE(described(e));
    recorded r(e, 3, dtype::float32);
    session s{r.g, {.threads = 1}};
    auto const a = run(r, r.outputs, s), b = run(r, r.outputs, s);
    for (std::size_t o = 0; o < a.size(); ++o)
      EXPECT_TRUE(same_bits(a[o], b[o]) || !r.outputs[o].origin().op->draws_random.empty());
  }
}

// Complex numbers as real ones that depend on both parts; real numbers as they are.
inline value as_real(value y) { return is_complex(y.type().element) ? real(y) + imag(y) * 0.5 : y; }

// The sum of all values, each with a weight of its own: every element of every output counts.
inline value weighted(graph& g, std::vector<value> const& all) {
  std::vector<value> sums;
  unsigned salt = 3;
  for (auto const& y : all) {
    if (!y || !is_differentiable(y.type().element)) continue;
    auto const n = static_cast<std::size_t>(elements(y.type().shape()));
    auto const weights = constant(g, from_doubles(dtype::float64, y.type().shape(), numbers(n, ++salt, false)));
    sums.push_back(sum(as_real(y) * weights, extents{}));
  }
  return add_n(sums);
}

// Compares the derivatives of a loss with central differences.
inline void expect_derivatives(recorded& r, value loss, session& s, std::vector<value> const& with_respect_to,
                               std::vector<value> const& derivatives) {
  for (std::size_t k = 0; k < with_respect_to.size(); ++k) {
    std::size_t which = 0;
    while (r.x[which].node != with_respect_to[k].node) ++which;
    auto const derivative = to_doubles(s.run(std::span<feed const>(r.feeds()), derivatives[k]));
    auto const original = r.fed[which];
    ASSERT_EQ(derivative.size(), static_cast<std::size_t>(original.elements()));
    for (std::size_t i = 0; i < derivative.size(); ++i) {
      double const step = 1e-5;
      double at[2];
      for (int side = 0; side < 2; ++side) {
        r.fed[which] = original.clone();
        r.fed[which].mutable_data<double>()[i] += side == 0 ? step : -step;
        at[side] = s.run(std::span<feed const>(r.feeds()), loss).template item<double>();
      }
      r.fed[which] = original;
      double const difference = (at[0] - at[1]) / (2 * step);
      ASSERT_NEAR(derivative[i], difference, 2e-6 * (1 + std::abs(difference)))
          << "input " << which << ", element " << i;
    }
  }
}

inline void expect_derivatives_twice(walk const& w) {
  for (auto const& e : w.examples) {
    if (!e.differentiable || !w.takes(e, dtype::float64)) continue;
    for (std::int64_t n : {1, 3}) {
      SCOPED_TRACE(described(e) + " with " + std::to_string(n));
      try {
        recorded r(e, n);
        std::vector<value> x;
        for (auto const& each : r.x)
          if (is_differentiable(each.type().element)) x.push_back(each);
        if (x.empty()) continue;
        auto const loss = weighted(r.g, r.outputs);
        auto const first = gradients(loss, x, true);
        for (std::size_t k = 0; k < x.size(); ++k) EXPECT_EQ(first[k].type().text(), x[k].type().text());
        session s{r.g};
        expect_derivatives(r, loss, s, x, first);
        auto const second_loss = weighted(r.g, first);
        expect_derivatives(r, second_loss, s, x, gradients(second_loss, x, true));
      } catch (error const& failure) {
        ADD_FAILURE() << failure.what();
      }
    }
  }
}

// Complex numbers with the given real parts, and imaginary parts of their own.
inline tensor complex_from(tensor const& real, unsigned salt) {
  tensor t(dtype::complex128, real.shape());
  auto const other = numbers(static_cast<std::size_t>(real.elements()), salt + 20, false);
  auto const mine = to_doubles(real);
  for (std::size_t i = 0; i < mine.size(); ++i) t.mutable_data<std::complex<double>>()[i] = {mine[i], other[i] / 2};
  return t;
}

// The gradient of a real target L with respect to a complex z is dL/dRe z + i dL/dIm z: the way in which L grows most.
inline void expect_complex_derivatives(walk const& w) {
  for (auto const& e : w.examples) {
    if (!e.differentiable || !w.takes(e, dtype::complex128)) continue;
    SCOPED_TRACE(described(e));
    using number = std::complex<double>;
    recorded r(e, 3, dtype::complex128);
    std::vector<value> x, sums;
    for (std::size_t k = 0; k < r.x.size(); ++k)
      if (r.fed[k].element() == dtype::complex128) {
        r.fed[k] = complex_from(r.fed[k], static_cast<unsigned>(k));
        x.push_back(r.x[k]);
      }
    unsigned salt = 0;
    for (auto const& y : r.outputs) {
      if (real_of(y.type().element) != dtype::float64) continue;
      auto const n = static_cast<std::size_t>(elements(y.type().shape()));
      auto const real = from_doubles(dtype::float64, y.type().shape(), numbers(n, ++salt, false));
      auto const z = cast(y, dtype::complex128);
      sums.push_back(sum(z * constant(r.g, complex_from(real, salt)), extents{}));
    }
    if (x.empty() || sums.empty()) continue;
    auto const loss = cast(add_n(sums), dtype::float64);
    auto const derivatives = gradients(loss, x, true);
    session s{r.g};
    auto const at = [&](tensor& t, std::size_t i, number step) {
      auto const original = t;
      t = original.clone();
      t.mutable_data<number>()[i] += step;
      auto const result = s.run(std::span<feed const>(r.feeds()), loss).item<double>();
      t = original;
      return result;
    };
    for (std::size_t k = 0, next = 0; k < r.x.size(); ++k) {
      if (r.fed[k].element() != dtype::complex128) continue;
      auto const derivative = s.run(std::span<feed const>(r.feeds()), derivatives[next++]);
      for (std::size_t i = 0; i < static_cast<std::size_t>(derivative.elements()); ++i) {
        double const h = 1e-5;
        number const wanted{(at(r.fed[k], i, h) - at(r.fed[k], i, -h)) / (2 * h),
                            (at(r.fed[k], i, {0, h}) - at(r.fed[k], i, {0, -h})) / (2 * h)};
        ASSERT_LT(std::abs(derivative.data<number>()[i] - wanted), 2e-6 * (1 + std::abs(wanted)))
            << "input " << k << ", element " << i;
      }
    }
  }
}

inline void expect_close(tensor const& a, tensor const& b) {
  ASSERT_EQ(a.shape(), b.shape());
  auto const x = to_doubles(a), y = to_doubles(b);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], 1e-12 * (1 + std::abs(x[i]))) << i;
}

inline void expect_derivatives_of_open_extents(walk const& w) {
  for (auto const& e : w.examples) {
    if (!e.differentiable || e.needs_extents || !w.takes(e, dtype::float64)) continue;
    for (std::int64_t n : {0, 3}) {
      if (n == 0 && e.refuses_nothing) continue;
      SCOPED_TRACE(described(e) + " with " + std::to_string(n));
      try {
        recorded known(e, n), open(e, n, dtype::float64, false);
        auto const derive = [](recorded& r) {
          std::vector<value> x, sums;
          for (auto const& each : r.x)
            if (is_differentiable(each.type().element)) x.push_back(each);
          for (auto const& y : r.outputs)
            if (is_differentiable(y.type().element)) sums.push_back(sum(as_real(y) * as_real(y), extents{}));
          session s{r.g};
          std::vector<tensor> all;
          if (!x.empty() && !sums.empty())
            for (auto const& dx : gradients(add_n(sums), x, true))
              all.push_back(s.run(std::span<feed const>(r.feeds()), dx));
          return all;
        };
        auto const a = derive(known), b = derive(open);
        ASSERT_EQ(a.size(), b.size());
        for (std::size_t k = 0; k < a.size(); ++k) {
          // What is known may decide which operations a function records.
          if (e.composed) expect_close(a[k], b[k]);
          else EXPECT_TRUE(same_bits(a[k], b[k])) << k;
        }
      } catch (error const& failure) {
        ADD_FAILURE() << failure.what();
      }
    }
  }
}

// Types of all ranks that inference looks at, of which most operations take few.
inline constexpr type sample_types[] = {of<float>,
                                        of<float, 2>,
                                        of<float, 2, 3>,
                                        of<float, 2, 3, 4, 4>,
                                        of<float, "n", 3, 5>,
                                        of<int, 2>,
                                        of<bool>,
                                        type::of_unknown_rank(dtype::float32)};

// Notes the operation and these types unless inference takes or refuses them, rather than to read what is not there,
// which no constant expression does.
template <class Op, std::size_t... I> void infers(std::vector<std::string>& not_so) {
  if constexpr (!requires {
                  typename std::bool_constant<(
                      detail::infer_or_refuse<Op>(attributes_of<Op>{}, std::array{sample_types[I]...}), true)>;
                })
    not_so.push_back(std::string(Op::name) + text_of(std::array{sample_types[I]...}));
}

template <class Op> void infers_all(std::vector<std::string>& not_so) {
  constexpr auto n = std::size(sample_types);
  constexpr bool of_compile_time = requires { typename std::bool_constant<(attributes_of<Op>{}, true)>; };
  if constexpr (of_compile_time && (requires { Op::infer(attributes_of<Op>{}, sample_types[0], checks{}); } ||
                                    requires { Op::infer(attributes_of<Op>{}, sample_types[0], sample_types[0], checks{}); } ||
                                    requires { Op::infer(attributes_of<Op>{}, std::span(sample_types), checks{}); }))
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      if constexpr (Op::arity == 1) (infers<Op, I>(not_so), ...);
      else
        ((infers<Op, I, 0>(not_so), infers<Op, I, (I + 1) % n>(not_so), infers<Op, I, (I * 3 + 2) % n>(not_so),
          infers<Op, I, (I + 5) % n>(not_so)),
         ...);
    }(std::make_index_sequence<n>{});
}

template <class Operations> void expect_inference_while_compiling() {
  std::vector<std::string> not_so;
  Operations::for_each([&]<class Op>() { infers_all<Op>(not_so); });
  EXPECT_EQ(not_so, std::vector<std::string>());
}

}  // namespace rill::test
