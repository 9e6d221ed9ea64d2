// Loads a plugin, uses it, unloads it, and does so again; the plugin must really be gone in between.
#include <dlfcn.h>

#include <cstdio>

int main(int, char** argv) {
  for (int round = 0; round < 3; ++round) {
    void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) return std::printf("%s\n", dlerror()), 1;
    auto const use = reinterpret_cast<int (*)()>(dlsym(plugin, "use_rill"));
    if (use == nullptr || use() != 0) return std::printf("the plugin failed in round %d\n", round), 1;
    dlclose(plugin);
    if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) != nullptr) return std::printf("the plugin can't be unloaded\n"), 1;
  }
}
