// Bytes as a safetensors file: its tensors and words are those that are written of them.
#include "rill/io/safetensors.hpp"

#include "seeded.hpp"

namespace rill::fuzz {

std::vector<std::string> seeds() {
  std::vector<named_tensor> const some{{"w", matrix<float>({{1, 2}, {3, 4}})},
                                       {"n\"\xc3\xa9", tensor(std::int64_t{7})},
                                       {"ok", vector<bool>({true, false})},
                                       {"none", tensor(dtype::bfloat16, {3, 0})}};
  auto const summed = safetensors_bytes(some, {{"format", "pt"}, {"", "empty"}});
  std::string const plain = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"__metadata__":{"k":"v"}})";
  return {summed, safetensors_bytes({}),
          std::string{static_cast<char>(plain.size()), 0, 0, 0, 0, 0, 0, 0} + plain + "xy"};
}

void read(std::string_view bytes) {
  safetensors::metadata words, words_again;
  auto const all = unless_refused([&] { return parse_safetensors(bytes, &words); });
  if (!all) return;
  auto const again = parse_safetensors(safetensors_bytes(*all, words), &words_again);
  require(words_again == words, "words are read as they were written");
  require(std::equal(all->begin(), all->end(), again.begin(), again.end(),
                     [](auto const& a, auto const& b) { return a.name == b.name && same_bits(a.value, b.value); }),
          "tensors are read as they were written");
}

}  // namespace rill::fuzz
