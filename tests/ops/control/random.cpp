// Random programs of branches and loops, against the same programs as plain C++.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <numeric>
#include <random>

#include "ops/tensors.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

enum class kind { scalar, row, word };
enum class what {
  number,
  mean,
  tanh_of_product,
  largest,
  negative,
  maximum_of,
  word_of,
  number_of,
  read,
  assign,
  assign_add,
  branch,
  loop,
  map,
  scan,
  fold,
  grow,
  tally
};

struct step;
// Values are numbered through: what is outside of a block, then its arguments, then what its steps make.
struct block {
  std::vector<step> steps;
  std::vector<std::size_t> results;
};
struct step {
  what does = what::number;
  std::vector<std::size_t> in;
  std::vector<block> bodies;
  float number = 0;
  bool backwards = false;
};

constexpr int most_iterations = 3;

// ---- making one up

// `updates`: of the variable; `products`: what has derivatives of any order that don't vanish, lists that grow, and
// updates of a variable that nobody reads.
enum class style { updates, products };

class author {
 public:
  author(unsigned seed, std::size_t columns, style s) : random_(seed), columns_(columns), style_(s) {}

  block write(std::vector<kind> const& outside, std::vector<kind> const& results) {
    known_ = outside;
    return write_block({}, results, 0, true, false);
  }
  std::map<what, int> used;

 private:
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  kind any_kind() { return below(3) == 0 ? kind::row : kind::scalar; }
  std::vector<kind> kinds(std::size_t n) {
    std::vector<kind> all(n);
    for (auto& k : all) k = below(4) == 0 ? kind::word : any_kind();
    return all;
  }
  std::size_t pick(kind k) {  // the latest rather than the first
    std::vector<std::size_t> fit;
    for (std::size_t i = 0; i < known_.size(); ++i)
      if (known_[i] == k) fit.push_back(i);
    return fit[std::max(below(fit.size()), below(fit.size()))];
  }
  std::vector<std::size_t> picks(std::vector<kind> const& wanted) {
    std::vector<std::size_t> all;
    for (auto k : wanted) all.push_back(pick(k));
    return all;
  }

  // `state`: the block may read and update the variable; `updates`: it must update it.
  block write_block(std::vector<kind> const& arguments, std::vector<kind> const& results, int depth, bool state,
                    bool updates) {
    auto const before = known_.size();
    known_.insert(known_.end(), arguments.begin(), arguments.end());
    block b;
    bool updated = false;
    for (auto n = 1 + below(4); n-- > 0;) b.steps.push_back(write_step(depth, state, updated));
    if (updates && !updated) b.steps.push_back(write_update(updated));
    b.results = picks(results);
    known_.resize(before);
    return b;
  }

  step write_update(bool& updated) {
    updated = true;
    return made({below(2) == 0 ? what::assign : what::assign_add, {pick(kind::scalar)}, {}}, {});
  }

  step write_step(int depth, bool state, bool& updated) {
    if (style_ == style::products && below(2) == 0) return write_arithmetic(what::tanh_of_product);
    bool const products = style_ == style::products;
    switch (below(depth < 3 && budget_ > 0 ? (products ? 16 : 14) : 8)) {
      case 0:
        return made({what::number, {}, {}, static_cast<float>(below(9)) / 2 - 2}, {kind::scalar});
      case 1:
        return made({what::negative, {pick(kind::scalar)}, {}}, {kind::scalar});
      case 2:
        if (columns_ == 0) break;
        return made({what::largest, {pick(kind::row)}, {}}, {kind::scalar});
      case 3:
        return made({what::maximum_of, picks({kind::row, any_kind()}), {}}, {kind::row});
      case 4:
        if (state) return made({what::read, {}, {}}, {kind::scalar});
        break;
      case 5:
        if (products) return made({what::tally, {pick(kind::scalar)}, {}}, {});
        if (state) return write_update(updated);
        break;
      case 6:
        return made({what::word_of, {pick(kind::scalar)}, {}}, {kind::word});
      case 7:
        return made({what::number_of, {pick(kind::word)}, {}}, {kind::scalar});
      case 8:
      case 9:
        return write_nested(what::branch, depth, state, updated);
      case 10:
      case 11:
        return write_nested(what::loop, depth, state, updated);
      case 12:
        return write_nested(below(2) == 0 ? what::map : what::scan, depth, state, updated);
      case 13:
        return write_nested(what::fold, depth, state, updated);
      case 14:
      case 15:
        return write_nested(what::grow, depth, state, updated);
    }
    return write_arithmetic(what::mean);
  }
  step write_arithmetic(what does) {
    auto const k = any_kind();
    return made({does, picks({k, below(2) == 0 ? k : kind::scalar}), {}}, {k});
  }

  // After an update in its block only those may use the variable that update it too: only they have an order.
  step write_nested(what does, int depth, bool state, bool& updated) {
    --budget_;
    bool const updates = state && style_ == style::updates && below(3) == 0;
    bool const uses = updates || (state && !updated);
    auto const body = [&](std::vector<kind> const& arguments, std::vector<kind> const& results, bool must) {
      return write_block(arguments, results, depth + 1, uses, must);
    };
    step s{does, {}, {}};
    std::vector<kind> results;
    switch (does) {
      case what::branch:
        results = kinds(1 + below(3));
        s.in = picks({kind::scalar, kind::scalar});
        s.bodies.push_back(body({}, results, updates));
        s.bodies.push_back(body({}, results, false));
        break;
      case what::loop: {
        results = kinds(1 + below(2));
        auto variables = results;
        variables.insert(variables.begin(), kind::scalar);  // the counter
        s.in = picks(variables);
        s.in[0] = pick(kind::scalar);  // the limit
        s.bodies.push_back(body(variables, results, updates));
        results = variables;
        break;
      }
      case what::map:
        s.in = picks({kind::row});
        s.bodies.push_back(body({kind::scalar}, {kind::scalar}, updates));
        results = {kind::row};
        break;
      case what::scan:
        s.in = picks({kind::scalar, kind::row});
        s.bodies.push_back(body({kind::scalar, kind::scalar}, {kind::scalar}, updates));
        results = {kind::row};
        break;
      case what::grow:
        s.in = picks({kind::scalar, kind::row});  // the limit, and what the list begins with
        s.bodies.push_back(body({kind::scalar, kind::scalar}, {kind::scalar}, updates));
        results = {kind::scalar};
        break;
      default:
        results = kinds(1);
        s.backwards = below(2) == 0;
        s.in = picks({results[0], kind::row});
        s.bodies.push_back(body({results[0], kind::scalar}, results, updates));
    }
    // What no body was made to update some may have updated all the same.
    if (writes(s)) updated = true;
    return made(std::move(s), results);
  }
  static bool writes(step const& s) {
    if (s.does == what::assign || s.does == what::assign_add) return true;
    for (auto const& b : s.bodies)
      for (auto const& inner : b.steps)
        if (writes(inner)) return true;
    return false;
  }

  step made(step s, std::vector<kind> const& results) {
    ++used[s.does];
    known_.insert(known_.end(), results.begin(), results.end());
    return s;
  }

  std::mt19937 random_;
  std::size_t columns_;
  style style_;
  std::vector<kind> known_;
  int budget_ = 12;
};

// ---- in plain C++, where a word is a number: 0 is the low one, 1 the high one

template <class T> class machine {
 public:
  using numbers = std::vector<T>;
  machine(std::vector<numbers> outside, T first) : state(first), known_(std::move(outside)) {}

  std::vector<numbers> run(block const& b, std::vector<numbers> const& arguments = {}) {
    auto const size = known_.size();
    known_.insert(known_.end(), arguments.begin(), arguments.end());
    T const found = state;
    for (auto const& s : b.steps)
      for (auto& made : run(s, found)) known_.push_back(std::move(made));
    std::vector<numbers> results;
    for (auto i : b.results) results.push_back(known_[i]);
    known_.resize(size);
    return results;
  }
  T state, tally = 0;
  std::vector<bool> decisions;  // all that were taken on the way: where they are others, derivatives may be too

 private:
  bool decide(bool verdict) { return decisions.push_back(verdict), verdict; }
  T largest(T a, T b) { return decide(a < b) ? b : a; }
  template <class F> numbers each(step const& s, F f) const {
    numbers y = known_[s.in[0]];
    auto const& x = known_[s.in[1]];
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = f(y[i], x.size() == 1 ? x[0] : x[i]);
    return y;
  }

  std::vector<numbers> run(step const& s, T found) {
    auto const in = [&](std::size_t i) { return known_[s.in[i]]; };
    switch (s.does) {
      case what::number:
        return {{static_cast<T>(s.number)}};
      case what::mean:
        return {each(s, [](T a, T b) { return (a + b) * T(0.5); })};
      case what::tanh_of_product:
        return {each(s, [](T a, T b) { return std::tanh(a * b); })};
      case what::maximum_of:
        return {each(s, [&](T a, T b) { return largest(a, b); })};
      case what::largest: {
        auto const row = in(0);
        return {{std::accumulate(row.begin() + 1, row.end(), row[0], [&](T a, T b) { return largest(a, b); })}};
      }
      case what::negative:
        return {{-in(0)[0]}};
      case what::word_of:
        return {{T(decide(in(0)[0] < 0) ? 0 : 1)}};
      case what::number_of:
        return {in(0)};
      case what::read:
        return {{found}};
      case what::assign:
        state = (found + in(0)[0]) * T(0.5);
        return {};
      case what::assign_add:
        state += in(0)[0];
        return {};
      case what::branch:
        return run(s.bodies[decide(in(0)[0] < in(1)[0]) ? 0 : 1]);
      case what::loop: {
        T const limit = std::min(static_cast<T>(most_iterations), in(0)[0]);
        std::vector<numbers> now{{0}};
        for (std::size_t i = 1; i < s.in.size(); ++i) now.push_back(in(i));
        while (decide(now[0][0] < limit)) {
          auto next = run(s.bodies[0], now);
          next.insert(next.begin(), {now[0][0] + 1});
          now = next;
        }
        return now;
      }
      case what::map: {
        numbers made;
        for (T x : in(0)) made.push_back(run(s.bodies[0], {{x}})[0][0]);
        return {made};
      }
      case what::scan: {
        numbers made, now = in(0);
        for (T x : in(1)) now = run(s.bodies[0], {now, {x}})[0], made.push_back(now[0]);
        return {made};
      }
      case what::fold: {
        auto now = in(0), rows = in(1);
        if (s.backwards) std::reverse(rows.begin(), rows.end());
        for (T x : rows) now = run(s.bodies[0], {now, {x}})[0];
        return {now};
      }
      case what::grow: {
        auto const sum = [](numbers const& v) { return std::accumulate(v.begin(), v.end(), T(0)); };
        auto list = in(1);
        for (T k = 0; decide(k < std::min(static_cast<T>(most_iterations), in(0)[0])); ++k) {
          T const next = run(s.bodies[0], {{k}, {sum(list) * T(0.5)}})[0][0];
          for (T& each : list) each = std::tanh(each * next);
          list.push_back(next);
        }
        return {{sum(list)}};
      }
      case what::tally:
        tally += in(0)[0];
        return {};
    }
    return {};
  }

  std::vector<numbers> known_;
};

// ---- as a graph

template <std::size_t N> auto tuple_of(std::vector<value> const& all) {
  return
      [&]<std::size_t... I>(std::index_sequence<I...>) { return std::tuple{all[I]...}; }(std::make_index_sequence<N>());
}
std::vector<value> list_of(auto const& handles) {
  return std::apply([](auto const&... each) { return std::vector<value>{each...}; }, handles);
}
// f(std::integral_constant<std::size_t, n>()), n being 1, 2 or 3.
template <class F> std::vector<value> with_count(std::size_t n, F f) {
  if (n == 1) return f(std::integral_constant<std::size_t, 1>());
  if (n == 2) return f(std::integral_constant<std::size_t, 2>());
  return f(std::integral_constant<std::size_t, 3>());
}

std::string const low_word(30, 'l'), high_word(40, 'h');  // too long to lie in the string itself

template <class T> class recorder {
 public:
  recorder(graph& g, variable_value state, variable_value tally, std::vector<value> outside)
      : g_(g), state_(state), tally_(tally), known_(std::move(outside)) {}

  std::vector<value> record(block const& b, std::vector<value> const& arguments = {}) {
    auto const size = known_.size();
    known_.insert(known_.end(), arguments.begin(), arguments.end());
    for (auto const& s : b.steps)
      for (auto const& made : record(s)) known_.push_back(made);
    std::vector<value> results;
    for (auto i : b.results) results.push_back(known_[i]);
    known_.resize(size);
    return results;
  }

 private:
  value number(T x) { return constant(g_, tensor(x)); }
  value mean(value a, value b) { return mul(add(a, b), number(T(0.5))); }

  std::vector<value> record(step const& s) {
    auto const in = [&](std::size_t i) { return known_[s.in[i]]; };
    switch (s.does) {
      case what::number:
        return {number(static_cast<T>(s.number))};
      case what::mean:
        return {mean(in(0), in(1))};
      case what::tanh_of_product:
        return {tanh(mul(in(0), in(1)))};
      case what::maximum_of:
        return {maximum(in(0), in(1))};
      case what::largest:
        return {max(in(0), extents{0})};
      case what::negative:
        return {neg(in(0))};
      case what::word_of:
        return {gather(value(constant<std::string, 2>(g_, {high_word, low_word})),
                       cast<std::int32_t>(less(in(0), number(0))))};
      case what::number_of:
        return {cast<T>(equal(in(0), value(constant(g_, high_word))))};
      case what::read:
        return {rill::read(state_)};  // its value here: the variable itself would be read where it is used
      case what::assign:
        assign(state_, mean(value(state_), in(0)));
        return {};
      case what::assign_add:
        assign_add(state_, in(0));
        return {};
      case what::branch:
        return with_count(s.bodies[0].results.size(), [&](auto n) {
          return list_of(cond(
              less(in(0), in(1)), [&] { return tuple_of<n>(record(s.bodies[0])); },
              [&] { return tuple_of<n>(record(s.bodies[1])); }));
        });
      case what::loop:
        return with_count(s.bodies[0].results.size(), [&](auto n) { return loop<n>(s); });
      case what::map:
        return {map([&](value x) { return record(s.bodies[0], {x})[0]; }, in(0))};
      case what::scan:
        return {scan([&](value now, value x) { return record(s.bodies[0], {now, x})[0]; }, in(0), in(1))};
      case what::fold: {
        auto const f = [&](value now, value x) { return record(s.bodies[0], {now, x})[0]; };
        return {s.backwards ? fold_right(f, in(0), in(1)) : fold(f, in(0), in(1))};
      }
      case what::grow:
        return {grow(s)};
      case what::tally:
        assign_add(tally_, in(0));
        return {};
    }
    return {};
  }

  auto goes_on(value limit) {
    return [this, limit](value counter, auto...) {
      return less(counter, neg(maximum(neg(limit), number(-static_cast<T>(most_iterations)))));
    };
  }
  value grow(step const& s) {
    auto const list = while_loop(
        goes_on(known_[s.in[0]]),
        [&](value counter, value now) {
          auto const next = record(s.bodies[0], {counter, mul(sum(now, extents{}), number(T(0.5)))})[0];
          auto const longer = concat({tanh(mul(now, next)), reshape(next, {1})}, 0);
          return std::tuple{add(counter, number(1)), as<of<T, unknown>>(longer)};
        },
        number(0), as<of<T, unknown>>(known_[s.in[1]]));
    return sum(value(std::get<1>(list)), extents{});
  }

  template <std::size_t N> std::vector<value> loop(step const& s) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return list_of(while_loop(
          goes_on(known_[s.in[0]]),
          [&](value counter, auto... now) {
            auto const next = record(s.bodies[0], {counter, now...});
            return std::tuple{add(counter, number(1)), next[I]...};
          },
          number(0), known_[s.in[I + 1]]...));
    }(std::make_index_sequence<N>());
  }

  graph& g_;
  variable_value state_, tally_;
  std::vector<value> known_;
};

// ---- one against the other

struct way {
  std::string name;
  session_options options;
  bool as_bytes = false;
};

// A program with its graph. Outside of its blocks are x, a number that is a constant, a row, and a word.
template <class T> struct sample {
  std::size_t columns;
  author by;
  block program;
  graph g;
  value x = placeholder(g, of<T>, "x"), p = placeholder(g, of<bool>, "p"), row = placeholder(g, type_of_row(), "row");
  variable_value state = variable(g, of<T>, "state"), tally = variable(g, of<T>, "tally");
  value known = constant(g, tensor(T(1.5)));
  std::vector<value> results;

  sample(unsigned seed, style s)
      : columns(seed % 8 == 7 ? 0 : seed % 3 + 1),
        by(seed, columns, s),
        program(
            by.write({kind::scalar, kind::scalar, kind::row, kind::word}, {kind::scalar, kind::row, kind::scalar})) {
    recorder<T> r(g, state, tally, {x, known, row, constant(g, high_word)});
    results =
        list_of(cond(p, [&] { return tuple_of<3>(r.record(program)); }, [&] { return std::tuple{x, row, known}; }));
  }
  type type_of_row() const { return type(dtype_of<T>, {static_cast<std::int64_t>(columns)}); }
};

TEST(random_programs, give_what_the_same_programs_in_cpp_give) {
  std::vector<way> const ways = {
      {"as it is by default", {.threads = 1}},
      {"without passes", {.threads = 2, .passes = pass_options::none(), .execution = execution::sequential}},
      {"with tags", {.threads = 1, .execution = execution::tagged}},
      {"with tags on four threads", {.threads = 4, .passes = pass_options::none(), .execution = execution::tagged}},
      {"forked", {.threads = 2, .passes = {.verify = true}, .execution = execution::parallel}},
      {"from bytes", {.threads = 1}, true}};
  using numbers = std::vector<float>;
  std::map<what, int> used;
  for (unsigned seed = 0; seed < 200; ++seed) {
    sample<float> drawn(seed, style::updates);
    for (auto [each, times] : drawn.by.used) used[each] += times;
    std::vector<std::string> names;
    for (auto const& v : drawn.results) names.push_back(v.name());
    auto const again = graph_from_bytes(to_bytes(drawn.g), all_operations());

    for (auto const& w : ways) {
      session s(w.as_bytes ? *again : drawn.g, w.options);
      auto const kept = s.state().variable("state", of<float>);
      kept->assign(tensor(0.25f));
      float found = 0.25f;
      for (float fed : {-1.f, 2.5f}) {
        numbers fed_row(drawn.columns, fed / 2);
        for (std::size_t i = 0; i < fed_row.size(); ++i) fed_row[i] += static_cast<float>(i);
        machine<float> m({{fed}, {1.5f}, fed_row, {1}}, found);
        auto const wanted = m.run(drawn.program);
        auto const row = test::tensor_from<float>(drawn.row.type().shape(), {fed_row.begin(), fed_row.end()});
        auto const got = s.run({{"x", tensor(fed)}, {"row", row}, {"p", tensor(true)}}, names);
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_EQ(numbers(got[i].span<float>().begin(), got[i].span<float>().end()), wanted[i])
              << "result " << i << " of program " << seed << ", " << w.name << ", fed " << fed;
        found = m.state;
        ASSERT_EQ(kept->read().at<float>(), found) << "the variable in program " << seed << ", " << w.name;
      }
    }
  }
  EXPECT_EQ(used.size(), 15);
  for (auto [each, times] : used) EXPECT_GT(times, 30) << static_cast<int>(each);
}

// ---- derivatives

// What the loss of a program is a function of: x, the constant, the variable, and the elements of the row.
using point = std::vector<double>;

point moved(point p, std::vector<double> const& direction, double by) {
  for (std::size_t i = 0; i < p.size(); ++i) p[i] += by * direction[i];
  return p;
}

struct course {
  double loss = 0, tally = 0;
  std::vector<bool> decisions;
};
course in_cpp(block const& program, point const& p) {
  machine<double> m({{p[0]}, {p[1]}, {p.begin() + 3, p.end()}, {1}}, p[2]);
  course c;
  for (auto const& result : m.run(program)) c.loss = std::accumulate(result.begin(), result.end(), c.loss);
  c.tally = m.tally;
  c.decisions = m.decisions;
  return c;
}

value sum_of_all(std::vector<value> const& all) {
  std::vector<value> sums;
  for (auto const& v : all) sums.push_back(sum(v, extents{}));
  return add_n(sums);
}

// A program's loss, its gradient, and the gradient of the gradient's sum: the Hessian times a vector of ones.
struct derived {
  sample<double> drawn;
  value loss;
  std::vector<value> first, second;

  explicit derived(unsigned seed) : drawn(seed, style::products), loss(sum_of_all(drawn.results)) {
    std::vector<value> const inputs{drawn.x, drawn.known, drawn.state, drawn.row};
    first = gradients(loss, inputs, true);
    second = gradients(sum_of_all(first), inputs, true);
  }

  // The elements of all that is fetched, one after another.
  std::vector<double> run(session& s, point const& p, std::vector<value> const& fetched) const {
    s.state().variable("state", of<double>)->assign(tensor(p[2]));
    s.state().variable("tally", of<double>)->assign(tensor(0.));
    auto const row = test::tensor_from<double>(drawn.row.type().shape(), {p.begin() + 3, p.end()});
    std::vector<feed> feeds{{drawn.x, tensor(p[0])}, {drawn.row, row}, {drawn.p, tensor(true)}};
    if (p[1] != 1.5) feeds.emplace_back(drawn.known, tensor(p[1]));  // else passes may fold it
    std::vector<std::string> names;
    for (auto const& v : fetched) names.push_back(v.name());
    std::vector<double> all;
    for (auto const& t : s.run(std::span<feed const>(feeds), names)) {
      auto const elements = test::to_doubles(t);
      all.insert(all.end(), elements.begin(), elements.end());
    }
    return all;
  }
};

TEST(random_programs, have_the_derivatives_that_differences_of_the_same_programs_in_cpp_have) {
  constexpr double step = 1e-5;
  auto const expect_near = [](double derivative, double difference) {
    EXPECT_NEAR(derivative, difference, 1e-6 * (1 + std::abs(difference)));
  };
  int compared = 0, across = 0, slopes = 0, curves = 0;  // the last two: other than zero
  std::map<what, int> used;
  for (unsigned seed = 0; seed < 100; ++seed) {
    derived d(seed);
    for (auto [each, times] : d.drawn.by.used) used[each] += times;
    auto const size = 3 + d.drawn.columns;
    std::vector<value> all{d.loss};
    all.insert(all.end(), d.first.begin(), d.first.end());
    all.insert(all.end(), d.second.begin(), d.second.end());
    std::deque<session> sessions;
    for (auto const execution : {execution::sequential, execution::tagged})
      for (int threads : {1, 2, 4}) {
        auto const passes = threads == 2 ? pass_options::none() : pass_options{.verify = true};
        sessions.emplace_back(d.drawn.g, session_options{.threads = threads, .passes = passes, .execution = execution});
      }
    auto& one = sessions.front();
    for (double fed : {-0.7, 1.9}) {
      SCOPED_TRACE("program " + std::to_string(seed) + ", fed " + std::to_string(fed));
      point at{fed, 1.5, 0.25};
      for (std::size_t i = 0; i < d.drawn.columns; ++i) at.push_back(fed / 3 + static_cast<double>(i) * 0.8);
      auto const here = in_cpp(d.drawn.program, at);
      auto const got = d.run(one, at, all);
      ASSERT_EQ(got.size(), 1 + 2 * size);
      expect_near(got[0], here.loss);
      for (auto& s : sessions) {
        EXPECT_EQ(d.run(s, at, all), got) << "session " << &s - &one;
        expect_near(s.state().variable("tally", of<double>)->read().at<double>(), here.tally);
      }

      // Where a difference crosses a decision it says nothing of the derivative.
      auto const same_course = [&](std::vector<double> const& way) {
        bool const same = in_cpp(d.drawn.program, moved(at, way, step)).decisions == here.decisions &&
                          in_cpp(d.drawn.program, moved(at, way, -step)).decisions == here.decisions;
        ++(same ? compared : across);
        return same;
      };
      for (std::size_t i = 0; i < size; ++i) {
        std::vector<double> way(size);
        way[i] = 1;
        if (!same_course(way)) continue;
        auto const loss = [&](double by) { return in_cpp(d.drawn.program, moved(at, way, by)).loss; };
        expect_near(got[1 + i], (loss(step) - loss(-step)) / (2 * step));
        slopes += got[1 + i] != 0;
      }
      std::vector<double> const ones(size, 1);
      if (!same_course(ones)) continue;
      auto const above = d.run(one, moved(at, ones, step), d.first),
                 below = d.run(one, moved(at, ones, -step), d.first);
      for (std::size_t i = 0; i < size; ++i) {
        expect_near(got[1 + size + i], (above[i] - below[i]) / (2 * step));
        curves += got[1 + size + i] != 0;
      }
    }
  }
  EXPECT_LT(across, compared / 20);
  EXPECT_GT(slopes, 400);
  EXPECT_GT(curves, 150);
  EXPECT_GT(used[what::grow], 30);
  EXPECT_GT(used[what::tally], 20);
}

}  // namespace
}  // namespace rill
