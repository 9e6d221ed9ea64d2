// Random graphs of operations that share memory with each other, broadcast, reduce, update and wait, some of them in
// branches, loops and functions, some of extents that the step settles or changes, or computed again for derivatives:
// with all passes, in each execution, they give the bits that they give without any.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <optional>
#include <random>

#include "base/limit.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/control/cond.hpp"
#include "rill/ops/control/function.hpp"
#include "rill/ops/control/while_loop.hpp"
#include "rill/ops/list/operations.hpp"
#include "rill/ops/list/use_elements.hpp"
#include "rill/ops/queues/queue.hpp"
#include "rill/run/session.hpp"

namespace {

using namespace rill;

/// What a graph has besides plain operations.
enum class extras { none, bodies, late };

class author {
 public:
  author(unsigned seed, extras e) : random_(seed), bodies_(e == extras::bodies), late_(e == extras::late) {}

  graph g;
  std::vector<feed> feeds;
  std::vector<value> fetches;
  std::optional<operation> start;

  void write() {
    for (int i = 0; i < 4; ++i) add_source();
    for (auto const* name : {"v", "w"}) values_.push_back(variable(constant(g, 1.5f), name));
    auto const resized = variable(g, of<float, unknown>, "r");
    if (bodies_ || late_) values_.push_back(resized);
    auto const first = assign(resized, constant(g, vector<float>({0.5f, 1.5f})));
    add_values(30);
    for (int i = 0; i < 5; ++i) fetches.push_back(recent());
    start = group(g, {initializer(g), first});
  }

 private:
  static constexpr dtype elements_[] = {dtype::float32, dtype::float32, dtype::float64,
                                        dtype::int32,   dtype::float16, dtype::complex64};

  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  value recent() {
    return values_[values_.size() - 1 - below(std::min<std::size_t>(values_.size(), below(3) ? 5 : 40))];
  }
  dtype element() { return elements_[below(std::size(elements_))]; }

  tensor numbers(dtype element, shape const& extents) {
    tensor t(element, extents);
    visit(element, [&]<class T>() {
      if constexpr (!std::same_as<T, std::string>)
        for (auto i = t.elements(); i-- > 0;) {
          auto const x = below(20) == 0 ? -0.f : static_cast<float>(below(7)) * 0.5f - 1;
          t.mutable_data<T>()[i] = static_cast<T>(x);
        }
    });
    return t;
  }

  void add_values(int count) {
    for (int i = 0; i < count; ++i) try {
        if (auto const y = any(); y.graph != nullptr) values_.push_back(y);
      } catch (error const& e) {  // operands that don't fit
        ASSERT_NE(e.code(), code::internal) << e.what();
      }
  }

  // A few values, of which one goes into another of the state's type.
  value body(value state) {
    struct scope {
      author& of;
      std::size_t outside = of.values_.size();
      explicit scope(author& a) : of(a) { ++of.depth_; }
      ~scope() { --of.depth_, of.values_.resize(outside); }
    } const here(*this);
    values_.push_back(state);
    add_values(static_cast<int>(below(5)));
    return add(mul(state, like(state, 0.5)), cast(sum(recent(), extents{}), state.type().element));
  }
  value with_body(value a, value b) {
    if (depth_ == 2 || !is_float(a.type().element)) return {};
    switch (below(5)) {
      case 0:
        return cond(
            less(cast(sum(b, extents{}), dtype::float32), constant(g, 0.25f)), [&] { return body(a); },
            [&] { return body(a); });
      case 1: {
        auto const times = static_cast<int>(below(4));
        return while_loop(
            [&](std::vector<value> const& in) { return less(in[0], like(in[0], times)); },
            [&](std::vector<value> const& in) { return std::vector<value>{add(in[0], like(in[0], 1)), body(in[1])}; },
            std::vector<value>{constant(g, 0), a})[1];
      }
      case 2:
        return map([&](value row) { return body(row); }, a);
      case 3:
        return below(2) ? scan([&](value state, value row) { return body(add(state, sum(row, extents{}))); }, b, a)
                        : fold([&](value state, value row) { return body(add(state, sum(row, extents{}))); }, b, a);
      default: {
        auto const name = "f" + std::to_string(functions_++);
        function(g, name, {a.type()}, [&](std::vector<value> const& in) { return std::vector<value>{body(in[0])}; });
        return call(g, name, call(g, name, a)[0])[0];
      }
    }
  }

  void add_source() {
    // In loops within loops large ones are stacked on each other.
    shape const large[] = {{bodies_ ? 20 : 1500}, {bodies_ ? 4 : 40, bodies_ ? 5 : 33}};
    shape const all[] = {{}, {1}, {3}, {1, 3}, {3, 1}, {2, 3}, {0, 3}, large[0], large[1]};
    auto const t = numbers(element(), all[below(std::size(all))]);
    if (below(4) == 0) return values_.push_back(constant(g, t));
    auto const x = placeholder(g, below(2) ? t.type() : type::of_unknown_rank(t.element()));
    feeds.emplace_back(x, t);
    values_.push_back(late_ && below(2) ? as(x, named(t.type())) : x);
  }

  // Each extent as an axis of a name of its own.
  static type named(type t) {
    for (std::size_t i = 0; i < t.rank; ++i) {
      auto const name = "n" + t[i].text();
      t[i] = unknown;
      std::copy(name.begin(), name.end(), t[i].name);
    }
    return t;
  }

  // Elements that are above 0 in their order, or what is left of them: only the step knows how many.
  value settled_late(value a) {
    value const all = reshape(a, extents{-1}), some = gather(all, where(less(like(all, 0), all)));
    switch (below(4)) {
      case 0:
        return some;
      case 1:
        return as(add(some, cast(sum(recent(), extents{}), a.type().element)), named(type(a.type().element, {3})));
      case 2:
        return recompute(g, [&] { return sum(mul(tanh(some), some), extents{}); });
      default:
        return mean(mul(some, some), extents{});
    }
  }
  value computed_again(value a, value b) {
    return recompute(g, [&] { return mul(tanh(mul(a, b)), below(2) ? a : square(b)); });
  }

  // The value itself, or one more than the variable has.
  value other_extents(variable_value r, value x) {
    if (below(2)) return cast(reshape(x, extents{-1}), dtype::float32);
    return concat({r, reshape(cast(sum(x), dtype::float32), extents{1})}, 0);
  }
  // Its elements, which come when the step takes them out again.
  value through_queue(value x) {
    auto const q = fifo_queue<of<float, unknown>>(g, {.capacity = 1});
    auto const in = q.enqueue_by(0, {reshape(cast(x, dtype::float32), extents{-1})});
    return g.after({in}, [&] { return value(q.dequeue()); });
  }
  // One update of each variable, or reads after it; where bodies may update and read, more updates in their order. That
  // of r gives it other extents.
  value update(value x) {
    auto const which = below(bodies_ || late_ ? 4 : 2);
    if (which == 3) return through_queue(x);
    variable_value const v{g.find(which == 0 ? "v" : which == 1 ? "w" : "r")};
    auto& last = updates_[v.node];
    if (last.empty() || (bodies_ && below(2))) {
      auto const made = g.after(last, [&]() -> value {
        return which == 2 ? assign(v, other_extents(v, x)) : assign_add(v, cast(sum(x), dtype::float32));
      });
      if (depth_ == 0) last = {made};
      return made;
    }
    return g.after(last, [&] { return read(v); });
  }

  value any() {
    value const a = recent(), b = recent();
    switch (below(bodies_ ? 32 : late_ ? 31 : 25)) {
      case 0:
        return add(a, b);
      case 1:
        return sub(a, b);
      case 2:
        return mul(a, b);
      case 3:
        return div(a, b);
      case 4:
        return maximum(a, b);
      case 5:
        return select(less(a, b), a, b);
      case 6:
        return neg(a);
      case 7:
        return exp(a);
      case 8:
        return tanh(a);
      case 9:
        return square(a);
      case 10:
        return relu(a);
      case 11:
        return cast(a, element());
      case 12:
        return sum(a, a.type().rank > 0 ? extents{0} : extents{}, below(2) == 0);
      case 13:
        return mean(a, extents{}, below(2) == 0);
      case 14:
        return reshape(a, extents{-1});
      case 15:
        return reshape(a, extents{1, -1});
      case 16:
        return expand_dims(a, 0);
      case 17:
        return transpose(a, extents{});
      case 18:
        return identity(a);
      case 19:
        return below(2) ? mul(a, like(a, 1)) : sub(a, like(a, below(2) ? 0. : -0.));
      case 20:
        return concat({a, b}, 0);
      case 21:
        return gather(a, constant(g, vector<std::int32_t>({0, 0})));
      case 22:
        return update(a);
      case 23:
        return gradients(a, {b})[0];
      case 24:
        return update(b);
      case 25:
      case 26:
        if (late_) return settled_late(a);
        [[fallthrough]];
      case 27:
      case 28:
        if (late_) return computed_again(a, b);
        [[fallthrough]];
      default:
        return late_ ? value(gradients(sum(a), {b})[0]) : with_body(a, b);
    }
  }

  std::mt19937 random_;
  std::vector<value> values_;
  std::map<std::uint32_t, std::vector<operation>> updates_;  // the last of each variable
  bool bodies_, late_;
  int depth_ = 0, functions_ = 0;  // bodies that are being recorded; functions that are there
};

/// Whether the bits are the same, but for those of NaNs: where two meet, whose sign and payload go on depends on the
/// order of a product's operands, which fusion may change.
template <class Number> bool same_parts(tensor const& a, tensor const& b) {
  auto const* x = static_cast<Number const*>(a.raw());
  auto const* y = static_cast<Number const*>(b.raw());
  for (std::size_t i = 0; i < a.bytes() / sizeof(Number); ++i)
    if (std::memcmp(x + i, y + i, sizeof(Number)) != 0 && !(x[i] != x[i] && y[i] != y[i])) return false;
  return true;
}
bool same_numbers(tensor const& a, tensor const& b) {
  if (a.element() != b.element() || a.shape() != b.shape()) return false;
  switch (a.element()) {
    case dtype::float16:
      return same_parts<half>(a, b);
    case dtype::float32:
    case dtype::complex64:
      return same_parts<float>(a, b);
    case dtype::float64:
      return same_parts<double>(a, b);
    default:
      return same_bits(a, b);
  }
}

/// The results of two steps, and the variables after them; or the code of what went wrong.
std::pair<std::vector<tensor>, std::optional<code>> run(author& made, session_options const& options) {
  try {
    session s(made.g, options);
    s.run(*made.start);
    std::vector<std::string> names;
    for (auto const& f : made.fetches) names.push_back(f.name());
    auto results = s.run(std::span<feed const>(made.feeds), names);
    for (auto& t : s.run(std::span<feed const>(made.feeds), names)) results.push_back(std::move(t));
    for (auto const* name : {"v", "w", "r"}) results.push_back(s.run(name));
    return {std::move(results), {}};
  } catch (error const& e) {
    EXPECT_NE(e.code(), code::internal) << e.what();
    return {{}, e.code()};
  }
}

/// How many results were compared.
int compare(unsigned seed, extras e) {
  int compared = 0;
  author made(seed, e);
  made.write();
  auto const [plain, failed] = run(made, {.threads = 1, .passes = pass_options::none()});
  for (auto const how : {execution::automatic, execution::sequential, execution::parallel, execution::tagged}) {
    pass_options passes;
    passes.verify = true;
    auto const [rewritten, also_failed] = run(made, {.threads = 2, .passes = passes, .execution = how});
    EXPECT_EQ(failed, also_failed) << "seed " << seed << ", execution " << static_cast<int>(how);
    EXPECT_EQ(plain.size(), rewritten.size()) << "seed " << seed;
    for (std::size_t i = 0; i < std::min(plain.size(), rewritten.size()); ++i, ++compared)
      EXPECT_TRUE(same_numbers(plain[i], rewritten[i])) << "seed " << seed << ", execution " << static_cast<int>(how)
                                                        << ", result " << i << " of " << plain[i].type().text();
  }
  return compared;
}

TEST(passes, change_no_bit_of_random_graphs) {
  test::allow(300);
  use_elements<dtype::float16, dtype::complex64>();
  int compared = 0;
  for (unsigned seed = 1; seed <= 400 && !HasFailure(); ++seed) compared += compare(seed, extras::none);
  EXPECT_GT(compared, 4000);
}

TEST(passes, change_no_bit_of_random_graphs_with_bodies) {
  test::allow(300);
  use_elements<dtype::float16, dtype::complex64>();
  int compared = 0;
  for (unsigned seed = 1; seed <= 200 && !HasFailure(); ++seed) compared += compare(seed, extras::bodies);
  EXPECT_GT(compared, 2000);
}

TEST(passes, change_no_bit_of_random_graphs_of_extents_that_the_step_settles_and_of_parts_computed_again) {
  use_elements<dtype::float16, dtype::complex64>();
  int compared = 0;
  for (unsigned seed = 1; seed <= 200 && !HasFailure(); ++seed) compared += compare(seed, extras::late);
  EXPECT_GT(compared, 2000);
}

}  // namespace
