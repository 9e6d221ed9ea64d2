// Deep Q-learning of the cart and the pole (V. Mnih et al., Human-level control, Nature 2015; double Q-learning, H. van
// Hasselt et al., AAAI 2016): push a cart left or right so that the pole on it stays up for 500 moves.
#include <rill/rill.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <numeric>
#include <random>

#include "arguments.hpp"

namespace {

using state = std::array<float, 4>;  // position, speed, angle, angular speed

/// The equations of A. Barto, R. Sutton and C. Anderson (IEEE Trans. SMC, 1983), with their numbers.
class cart {
 public:
  explicit cart(std::mt19937& random) {
    std::uniform_real_distribution<float> small(-0.05f, 0.05f);
    for (auto& each : now_) each = small(random);
  }
  state const& now() const { return now_; }
  /// Pushes the cart for a fiftieth of a second. Returns whether the pole still stands, on a cart within the track.
  bool push(bool right) {
    constexpr double gravity = 9.8, cart_mass = 1, pole_mass = 0.1, half_length = 0.5, force = 10, time = 0.02;
    double const mass = cart_mass + pole_mass, angle = double{now_[2]}, turn = double{now_[3]};
    double const push = ((right ? force : -force) + pole_mass * half_length * turn * turn * std::sin(angle)) / mass;
    double const turned = (gravity * std::sin(angle) - std::cos(angle) * push) /
                          (half_length * (4.0 / 3 - pole_mass * std::cos(angle) * std::cos(angle) / mass));
    double const moved = push - pole_mass * half_length * turned * std::cos(angle) / mass;
    double const change[] = {double{now_[1]}, moved, turn, turned};
    for (std::size_t i = 0; i < 4; ++i) now_[i] = static_cast<float>(double{now_[i]} + time * change[i]);
    return std::abs(now_[0]) < 2.4f && std::abs(now_[2]) < 12 * 2 * 3.14159265f / 360;
  }

 private:
  state now_;
};

constexpr std::int64_t batch = 64, hidden = 128;
constexpr std::size_t memory = 50000;
constexpr int most_moves = 500;
constexpr double later = 0.99;  // what a move later is worth

/// Values of both pushes in each state: two hidden layers.
class network {
 public:
  network(rill::graph& g, std::string const& name)
      : first_(g, 4, name + "/first", rill::he()),
        second_(g, hidden, name + "/second", rill::he()),
        last_(g, hidden, name + "/last") {}
  template <class X> auto operator()(X x) const { return last_(rill::relu(second_(rill::relu(first_(x))))); }
  std::vector<rill::variable_value> variables() const {
    std::vector<rill::variable_value> all;
    for (auto const& some : {first_.variables(), second_.variables(), last_.variables()})
      all.insert(all.end(), some.begin(), some.end());
    return all;
  }

 private:
  rill::dense_layer<hidden> first_, second_;
  rill::dense_layer<2> last_;
};

struct move {
  state before, after;
  std::int32_t push;
  bool has_fallen;
};

void run(long most_episodes) {
  rill::graph g(1);
  network const values(g, "values"), slow(g, "slow");
  auto before = rill::placeholder<float, "batch", 4>(g, "before"),
       after = rill::placeholder<float, "batch", 4>(g, "after");
  auto push = rill::placeholder<std::int32_t, "batch">(g, "push");
  auto goes_on = rill::placeholder<float, "batch">(g, "goes_on");  // 0 where the pole has fallen

  // What a push is worth: 1 for the move, and what the best push after it is worth, as a slowly changing copy says.
  auto best = rill::one_hot<2>(rill::argmax<1>(values(after)));
  auto worth = goes_on * rill::sum<1>(slow(after) * best) * static_cast<float>(later) + 1.f;
  auto guess = rill::sum<1>(values(before) * rill::one_hot<2>(push));
  auto loss = rill::mean(rill::huber(guess, rill::stop_gradient(worth), 1.f));
  auto train = rill::adam{.rate = 2.5e-4f}.apply(
      rill::clip_by_global_norm(rill::variable_gradients(loss, values.variables()), 10));

  std::vector<rill::operation> follow;  // the copy moves a little towards the network
  auto const from = values.variables(), to = slow.variables();
  for (std::size_t i = 0; i < from.size(); ++i)
    follow.push_back(rill::assign_add(to[i], (rill::value(from[i]) - rill::value(to[i])) * 0.005f));
  auto const choice = rill::argmax<1>(values(before));

  rill::session s{g, {.threads = 1}};  // for a network this small, threads cost more than they save
  s.run(rill::initializer(g));
  for (std::size_t i = 0; i < from.size(); ++i) s.set(to[i], s.get(from[i]));
  auto choose = s.prepare(rill::inputs(before), rill::outputs(choice));
  auto learn =
      s.prepare(rill::inputs(before, after, push, goes_on), rill::outputs(loss), train, rill::group(g, follow));

  std::mt19937 random(1);
  std::vector<move> seen;
  std::size_t oldest = 0;
  std::deque<int> lengths;  // of the last 100 episodes
  double chance_of_any = 1;
  double mean = 0, best_mean = 0;
  for (long episode = 1; episode <= most_episodes; ++episode) {
    cart world(random);
    int moves = 0;
    for (bool stands = true; stands && moves < most_moves; ++moves) {
      move m{.before = world.now(), .after = {}, .push = 0, .has_fallen = false};
      if (std::uniform_real_distribution<>()(random) < chance_of_any)
        m.push = std::uniform_int_distribution<>(0, 1)(random);
      else {
        rill::tensor const at = rill::vector(m.before).reshaped({1, 4});
        m.push = static_cast<std::int32_t>(choose(at).item<std::int32_t>());
      }
      stands = world.push(m.push == 1);
      m.after = world.now();
      m.has_fallen = !stands;
      if (seen.size() < memory) seen.push_back(m);
      else seen[oldest++ % memory] = m;
      chance_of_any = std::max(0.02, chance_of_any * 0.9995);
      if (seen.size() < 1000) continue;

      rill::tensor b(rill::dtype::float32, {batch, 4}), a(rill::dtype::float32, {batch, 4});
      rill::tensor p(rill::dtype::int32, {batch}), c(rill::dtype::float32, {batch});
      std::uniform_int_distribution<std::size_t> any(0, seen.size() - 1);
      for (std::int64_t i = 0; i < batch; ++i) {
        auto const& one = seen[any(random)];
        std::copy(one.before.begin(), one.before.end(), b.mutable_data<float>() + i * 4);
        std::copy(one.after.begin(), one.after.end(), a.mutable_data<float>() + i * 4);
        p.at<std::int32_t>(i) = one.push;
        c.at<float>(i) = one.has_fallen ? 0.f : 1.f;
      }
      learn(b, a, p, c);
    }
    lengths.push_back(moves);
    if (lengths.size() > 100) lengths.pop_front();
    mean = std::accumulate(lengths.begin(), lengths.end(), 0.0) / static_cast<double>(lengths.size());
    best_mean = std::max(best_mean, mean);
    if (episode % 20 == 0)
      std::printf("episode %4ld: the last %zu had %.1f moves on average\n", episode, lengths.size(), mean),
          std::fflush(stdout);
    if (lengths.size() == 100 && mean >= 475) {
      std::printf("solved after %ld episodes\n", episode);
      return;
    }
  }
  if (most_episodes < 600) models::expect(best_mean > 40, "the pole does not stand longer than by chance");
  else
    throw std::runtime_error("not solved: the best average of 100 episodes was " + std::to_string(best_mean) +
                             " moves");
}

}  // namespace

int main(int count, char** words) { return models::main_of(count, words, 3000, run); }
