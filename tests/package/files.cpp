// What somebody else's program might do with rill's components: a checkpoint, an npz file, a map of Eigen's.
#include <cstdio>
#include <filesystem>
#include <rill/eigen.hpp>
#include <rill/io.hpp>
#include <rill/rill.hpp>

int main(int, char** arguments) {
  auto const folder = std::filesystem::path(arguments[0]).parent_path() / "checkpoints";
  rill::graph g;
  auto w = rill::variable(rill::constant<float, 2, 2>(g, {1, 2, 3, 4}), "w");
  auto twice = rill::assign(w, w * 2.f);
  rill::session s{g};
  s.run(rill::initializer(g));
  rill::saver saver(g, folder);
  saver.save(s);
  s.run(twice);
  saver.restore(s);
  rill::tensor found = s.run(w);
  rill::named_tensor const named[] = {{"w", found}};
  rill::write_npz(folder / "w.npz", named);
  rill::tensor const again = rill::read_npz(folder / "w.npz").at(0).value;
  float const sum = rill::as_eigen<float>(again).sum();
  std::printf("sum %g\n", static_cast<double>(sum));
  return sum == 10 ? 0 : 1;
}
