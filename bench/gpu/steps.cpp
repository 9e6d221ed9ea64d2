// Times what a step costs beside its kernels: launches one by one and as a CUDA graph, copies of single numbers, and
// the ways in which the host can learn that the GPU is done. Prints tables; each figure is a median over many rounds.
//   steps [SECTION...]      chains, changes, step, waiting, lanes, loops; without: all
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <functional>

#include "cuda.hpp"

namespace {

using namespace bench;

// Small kernels. `add` adds 1 to n floats, and so does `add_early`, which may begin before the kernel in front of it
// has ended, and waits for that itself (programmatic dependent launch); `feed` reads a fed number, `fetch` writes a
// number that is fetched, and then, if asked, a flag that the host polls; `busy` works for some nanoseconds.
constexpr char const* kernels = R"(
extern "C" __global__ void add(float* x, unsigned n) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1;
}
extern "C" __global__ void add_early(float* x, unsigned n) {
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1;
}
extern "C" __global__ void feed(float const* fed, float* x, unsigned n) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = *fed;
}
extern "C" __global__ void fetch(float const* x, float* fetched, unsigned* count, volatile unsigned* flag) {
  *fetched = *x;
  if (flag == nullptr) return;
  __threadfence_system();
  *flag = ++*count;
}
extern "C" __global__ void busy(unsigned long nanoseconds) {
  unsigned long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - begin < nanoseconds);
}
)";

// For loops whose condition the GPU computes: the body counts down and says whether to go on.
constexpr char const* loop_kernels = R"(
extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned value);
extern "C" __global__ void start(unsigned* left, unsigned iterations, unsigned long long handle) {
  *left = iterations;
  cudaGraphSetConditional(handle, iterations != 0);
}
extern "C" __global__ void proceed(unsigned* left, unsigned long long handle) {
  cudaGraphSetConditional(handle, --*left != 0);
}
)";

constexpr unsigned elements = 1024, threads = 256, widest = 8;

/// Microseconds of a call.
struct spread {
  double median, least, most;  ///< most: of 95 %
};

spread of(std::vector<double>& times) {
  std::sort(times.begin(), times.end());
  auto const at = [&](double share) {
    return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
  };
  return {at(0.5), times[0], at(0.95)};
}

template <class F> spread microseconds(int rounds, F const& f) {
  std::vector<double> times;
  for (int i = 0; i < rounds / 10 + 2; ++i) f();
  for (int i = 0; i < rounds; ++i) {
    double const begin = cuda::now();
    f();
    times.push_back((cuda::now() - begin) * 1e6);
  }
  return of(times);
}

std::string decimal(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", x);
  return text;
}

/// Microseconds of processor time that this process has used.
double processor_time() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  auto const of_clock = [](timeval t) { return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec); };
  return of_clock(used.ru_utime) + of_clock(used.ru_stime);
}

class steps {
 public:
  std::string summary() const { return gpu_.summary(); }

  /// n kernels, each of which needs the one before.
  void chains() {
    std::printf(
        "## Chains\n\nMicroseconds for n kernels on 1,024 floats, each after the one before. `wide` is 8 chains "
        "side by side; in the last column each kernel begins before the one in front of it has ended, and waits for "
        "that itself.\n\n| n | launches: enqueue | and wait | graph: capture | instantiate | upload | memory, KiB "
        "| enqueue | and wait | begun early |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (int n : {0, 1, 10, 100, 1000}) chain(n, 1);
    chain(1000, widest);
    std::printf("\n");
  }

  /// What it costs to change a graph that is instantiated.
  void changes() {
    std::printf("## Changes\n\nMicroseconds.\n\n| what | median | least | 95 %% |\n|---|---:|---:|---:|\n");
    for (int n : {20, 1000}) {
      auto const graph = cuda::captured(stream_, [&] { launches(n, 1); });
      auto const same = cuda::captured(stream_, [&] { launches(n, 1); });
      auto const exec = cuda::instantiated(graph);
      auto const nodes = nodes_of(graph);
      auto const of_n = " of " + std::to_string(n) + " kernels";
      CUdeviceptr x = x_;
      unsigned count = elements;
      void* arguments[] = {&x, &count};
      CUDA_KERNEL_NODE_PARAMS node{};
      node.func = add_;
      node.gridDimX = elements / threads, node.gridDimY = node.gridDimZ = 1;
      node.blockDimX = threads, node.blockDimY = node.blockDimZ = 1;
      node.kernelParams = arguments;
      auto const change = [&](CUgraphNode which) {
        cuda::check(cuGraphExecKernelNodeSetParams(exec, which, &node), "cuGraphExecKernelNodeSetParams");
      };
      auto const launch = [&] {
        cuda::launch(exec, stream_);
        cuda::wait(stream_);
      };
      line("launch and wait" + of_n, microseconds(200, launch));
      line("change one kernel's arguments" + of_n, microseconds(2000, [&] { change(nodes[nodes.size() / 2]); }));
      line("change every kernel's arguments" + of_n, microseconds(100, [&] {
             for (auto each : nodes) change(each);
           }));
      line("change one, launch and wait" + of_n, microseconds(200, [&] {
             change(nodes[nodes.size() / 2]);
             launch();
           }));
      line("change every one, launch and wait" + of_n, microseconds(100, [&] {
             for (auto each : nodes) change(each);
             launch();
           }));
      line("switch one kernel off and on" + of_n, microseconds(500, [&] {
             for (unsigned on : {0u, 1u})
               cuda::check(cuGraphNodeSetEnabled(exec, nodes[nodes.size() / 2], on), "cuGraphNodeSetEnabled");
           }));
      line("update from a captured graph (cuGraphExecUpdate)" + of_n, microseconds(100, [&] {
             CUgraphExecUpdateResultInfo info{};
             cuda::check(cuGraphExecUpdate(exec, same, &info), "cuGraphExecUpdate");
           }));
      line("capture and update" + of_n, microseconds(50, [&] {
             auto const fresh = cuda::captured(stream_, [&] { launches(n, 1); });
             CUgraphExecUpdateResultInfo info{};
             cuda::check(cuGraphExecUpdate(exec, fresh, &info), "cuGraphExecUpdate");
           }));
    }
    std::printf("\n");
  }

  /// A prepared step: a number is fed, n kernels run, a number is fetched, and the host waits for it.
  void step() {
    std::printf(
        "## A prepared step\n\nMicroseconds from the call to the fetched number on the host.\n\n"
        "| step | median | least | 95 %% |\n|---|---:|---:|---:|\n");
    for (int n : {2, 20}) {
      auto const of_n = ", " + std::to_string(n) + " kernels";
      auto const done = cuda::make_event();
      auto const by_copies = [&] {
        cuda::check(cuMemcpyHtoDAsync(fed_, &host_->fed, 4, stream_), "cuMemcpyHtoDAsync");
        body(n, fed_, fetched_, 0);
        cuda::check(cuMemcpyDtoHAsync(&host_->fetched, fetched_, 4, stream_), "cuMemcpyDtoHAsync");
      };
      auto const by_host_memory = [&](bool flag) {
        body(n, address(&host_->fed), address(&host_->fetched), flag ? address(&host_->flag) : 0);
      };
      auto const ended = [&] {
        cuda::check(cuEventRecord(done, stream_), "cuEventRecord");
        cuda::check(cuEventSynchronize(done), "cuEventSynchronize");
      };
      auto const copies = cuda::instantiated(cuda::captured(stream_, by_copies));
      auto const in_place = cuda::instantiated(cuda::captured(stream_, [&] { by_host_memory(false); }));
      auto const with_flag = cuda::instantiated(cuda::captured(stream_, [&] { by_host_memory(true); }));
      std::vector<std::pair<char const*, std::function<void()>>> const ways{
          {"launches; copies; event", [&] { by_copies(), ended(); }},
          {"launches; host memory in place; event", [&] { by_host_memory(false), ended(); }},
          {"graph; copies; event", [&] { cuda::launch(copies, stream_), ended(); }},
          {"graph; copies; cuStreamSynchronize", [&] { cuda::launch(copies, stream_), cuda::wait(stream_); }},
          {"graph; host memory in place; event", [&] { cuda::launch(in_place, stream_), ended(); }},
          {"graph; host memory in place; flag polled", [&] { cuda::launch(with_flag, stream_), await_flag(); }}};
      std::vector<std::vector<double>> times(ways.size());
      for (int round = 0; round < 20; ++round)  // the ways in turn, so that none has the machine's better minutes
        for (std::size_t way = 0; way < ways.size(); ++way)
          for (int i = 0; i < 110; ++i) {
            host_->fed += 1;
            double const begin = cuda::now();
            ways[way].second();
            if (i >= 10) times[way].push_back((cuda::now() - begin) * 1e6);
            if (host_->fetched != host_->fed + static_cast<float>(n - 2))
              throw std::runtime_error("a step fetched a wrong number");
          }
      for (std::size_t way = 0; way < ways.size(); ++way) line(ways[way].first + of_n, of(times[way]));
      line("graph; nothing fetched: enqueue alone" + of_n, enqueue_alone(in_place));
      line("graph; at most two steps ahead, each" + of_n, two_ahead(in_place));
    }
    std::printf("\n");
  }

  /// How the host learns that a kernel has ended.
  void waiting() {
    std::printf(
        "## Waiting\n\nMicroseconds from the launch of one small kernel until the host knows that it has ended; "
        "then, for a kernel of one millisecond, how much longer the host takes, and the processor time that it "
        "uses meanwhile.\n\n| way | median | least | 95 %% | after 1 ms | processor time |\n"
        "|---|---:|---:|---:|---:|---:|\n");
    auto const plain = cuda::make_event();
    auto const blocking = cuda::make_event(CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC);
    wait_line("cuStreamSynchronize", [&] { cuda::wait(stream_); });
    wait_line("cuEventSynchronize", [&] {
      cuda::check(cuEventRecord(plain, stream_), "cuEventRecord");
      cuda::check(cuEventSynchronize(plain), "cuEventSynchronize");
    });
    wait_line("cuEventSynchronize, CU_EVENT_BLOCKING_SYNC", [&] {
      cuda::check(cuEventRecord(blocking, stream_), "cuEventRecord");
      cuda::check(cuEventSynchronize(blocking), "cuEventSynchronize");
    });
    wait_line("cuEventQuery, again and again", [&] {
      cuda::check(cuEventRecord(plain, stream_), "cuEventRecord");
      while (cuEventQuery(plain) == CUDA_ERROR_NOT_READY) {
      }
    });
    wait_line("flag in host memory, by cuStreamWriteValue32", [&] {
      unsigned const next = host_->flag + 1;
      cuda::check(cuStreamWriteValue32(stream_, address(&host_->flag), next, 0), "cuStreamWriteValue32");
      while (flag() != next) {
      }
    });
    set_count(flag());
    wait_line("flag in host memory, by a kernel", [&] {
      cuda::launch(fetch_, 1, 1, stream_, CUdeviceptr(x_), CUdeviceptr(fetched_), CUdeviceptr(count_),
                   address(&host_->flag));
      await_flag();
    });
    wait_line("flag set by cuLaunchHostFunc", [&] {
      std::atomic<bool> ended = false;
      auto const set = [](void* at) { static_cast<std::atomic<bool>*>(at)->store(true); };
      cuda::check(cuLaunchHostFunc(stream_, set, &ended), "cuLaunchHostFunc");
      while (!ended.load()) {
      }
    });
    wait_line("std::atomic::wait, set by cuLaunchHostFunc", [&] {
      std::atomic<bool> ended = false;
      auto const set = [](void* at) {
        auto* const flag = static_cast<std::atomic<bool>*>(at);
        flag->store(true);
        flag->notify_one();
      };
      cuda::check(cuLaunchHostFunc(stream_, set, &ended), "cuLaunchHostFunc");
      ended.wait(false);
      cuda::wait(stream_);  // the callback may still be in notify_one
    });
    std::printf("\n");
  }

  /// What it costs to order two streams by events.
  void lanes() {
    std::printf("## Two streams\n\nMicroseconds.\n\n| what | median | least | 95 %% |\n|---|---:|---:|---:|\n");
    auto const other = cuda::make_stream();
    std::array<cuda::event, 100> events;
    for (auto& e : events) e = cuda::make_event();
    line("cuEventRecord", microseconds(1000, [&] { cuda::check(cuEventRecord(events[0], stream_), "cuEventRecord"); }));
    line("cuStreamWaitEvent, of an event that has come",
         microseconds(1000, [&] { cuda::check(cuStreamWaitEvent(other, events[0], 0), "cuStreamWaitEvent"); }));
    auto const kernel = [&](CUstream s) {
      cuda::launch(add_, elements / threads, threads, s, CUdeviceptr(x_), elements);
    };
    auto const in_turn = [&] {
      for (std::size_t i = 0; i < events.size(); ++i) {
        CUstream const here = i % 2 == 0 ? stream_ : other, there = i % 2 == 0 ? other : stream_;
        kernel(here);
        cuda::check(cuEventRecord(events[i], here), "cuEventRecord");
        cuda::check(cuStreamWaitEvent(there, events[i], 0), "cuStreamWaitEvent");
      }
    };
    line("100 kernels on two streams in turn, by events, and wait", microseconds(100, [&] {
           in_turn();
           cuda::wait(stream_);
         }));
    line("100 kernels on one stream, and wait", microseconds(100, [&] {
           launches(100, 1);
           cuda::wait(stream_);
         }));
    auto const graph = cuda::instantiated(cuda::captured(stream_, in_turn));
    line("100 kernels on two streams in turn, as a graph, and wait", microseconds(100, [&] {
           cuda::launch(graph, stream_);
           cuda::wait(stream_);
         }));
    std::printf("\n");
  }

  /// A loop whose condition the GPU computes: by a conditional node of a graph, or by the host, which fetches it.
  void loops(std::string const& device_runtime) {
    std::printf(
        "## Loops\n\nMicroseconds for an iteration of 1,000: a body of n kernels, and one that computes the "
        "condition.\n\n| loop | n | median | least | 95 %% |\n|---|---:|---:|---:|---:|\n");
    auto const code = linked(loop_kernels, device_runtime);
    auto const start = cuda::function(code, "start"), proceed = cuda::function(code, "proceed");
    constexpr unsigned iterations = 1000;
    auto const left = cuda::allocate(4);
    for (int n : {1, 10}) {
      auto const whole = while_graph(start, proceed, left, iterations, n);
      auto const exec = cuda::instantiated(whole);
      loop_line("WHILE node of a graph", n,
                microseconds(10,
                             [&] {
                               cuda::launch(exec, stream_);
                               cuda::wait(stream_);
                             }),
                iterations);
      // The host's loop: the condition is a number that each iteration fetches.
      auto const one = cuda::instantiated(cuda::captured(stream_, [&] {
        launches(n, 1);
        cuda::launch(fetch_, 1, 1, stream_, CUdeviceptr(x_), address(&host_->fetched), CUdeviceptr(count_),
                     address(&host_->flag));
      }));
      loop_line("host: graph of the body, flag polled", n,
                microseconds(10,
                             [&] {
                               for (unsigned i = 0; i < iterations; ++i) {
                                 cuda::launch(one, stream_);
                                 await_flag();
                               }
                             }),
                iterations);
      loop_line("host: graph of the body, cuStreamSynchronize", n,
                microseconds(10,
                             [&] {
                               for (unsigned i = 0; i < iterations; ++i) {
                                 cuda::launch(one, stream_);
                                 cuda::wait(stream_);
                               }
                             }),
                iterations);
      polled_ = host_->flag;
      auto const counted = cuda::instantiated(cuda::captured(stream_, [&] { launches(n + 1, 1); }));
      loop_line("host: graph of the body, count known before", n,
                microseconds(10,
                             [&] {
                               for (unsigned i = 0; i < iterations; ++i) cuda::launch(counted, stream_);
                               cuda::wait(stream_);
                             }),
                iterations);
    }
    std::printf("\n");
  }

 private:
  /// What host and GPU share in page-locked memory, each on a line of its own.
  struct shared {
    alignas(64) float fed;
    alignas(64) float fetched;
    alignas(64) unsigned flag;
  };

  cuda::device gpu_;
  cuda::stream stream_ = cuda::make_stream();
  std::array<cuda::stream, widest> others_ = [] {
    std::array<cuda::stream, widest> all;
    for (auto& s : all) s = cuda::make_stream();
    return all;
  }();
  cuda::event fork_ = cuda::make_event(), join_ = cuda::make_event();
  cuda::module code_ = cuda::load(cuda::compile(kernels, gpu_.architecture()).code);
  CUfunction add_ = cuda::function(code_, "add"), add_early_ = cuda::function(code_, "add_early"),
             feed_ = cuda::function(code_, "feed"), fetch_ = cuda::function(code_, "fetch"),
             busy_ = cuda::function(code_, "busy");
  cuda::device_memory x_ = zeros(widest * elements * 4), fed_ = zeros(4), fetched_ = zeros(4), count_ = zeros(4);
  cuda::host_memory memory_ = cuda::allocate_on_host(sizeof(shared));
  shared* host_ = new (static_cast<void*>(memory_)) shared{};
  unsigned polled_ = 0;  ///< the flag's value that was last awaited

  static cuda::device_memory zeros(std::size_t bytes) {
    auto memory = cuda::allocate(bytes);
    cuda::check(cuMemsetD8(memory, 0, bytes), "cuMemsetD8");
    return memory;
  }
  static CUdeviceptr address(void* host) { return reinterpret_cast<CUdeviceptr>(host); }
  unsigned flag() const { return std::atomic_ref<unsigned>(host_->flag).load(std::memory_order_acquire); }
  void await_flag() {
    ++polled_;
    while (flag() != polled_) {
    }
  }
  void set_count(unsigned value) {
    cuda::check(cuMemsetD32(count_, value, 1), "cuMemsetD32");
    polled_ = value;
  }

  static void line(std::string const& what, spread s) {
    std::printf("| %s | %.2f | %.2f | %.2f |\n", what.c_str(), s.median, s.least, s.most);
    std::fflush(stdout);
  }
  static void loop_line(char const* what, int n, spread s, unsigned iterations) {
    std::printf("| %s | %d | %.2f | %.2f | %.2f |\n", what, n, s.median / iterations, s.least / iterations,
                s.most / iterations);
    std::fflush(stdout);
  }

  static std::vector<CUgraphNode> nodes_of(CUgraph graph) {
    std::size_t count = 0;
    cuda::check(cuGraphGetNodes(graph, nullptr, &count), "cuGraphGetNodes");
    std::vector<CUgraphNode> nodes(count);
    cuda::check(cuGraphGetNodes(graph, nodes.data(), &count), "cuGraphGetNodes");
    return nodes;
  }

  /// Enqueues n kernels in `width` chains; other chains than the first run on streams that fork from it and join it.
  void launches(int n, int width) {
    if (width > 1) cuda::check(cuEventRecord(fork_, stream_), "cuEventRecord");
    for (int c = 0; c < width; ++c) {
      CUstream const s = c == 0 ? stream_ : others_[static_cast<std::size_t>(c)];
      if (c > 0) cuda::check(cuStreamWaitEvent(s, fork_, 0), "cuStreamWaitEvent");
      CUdeviceptr const x = x_ + static_cast<unsigned>(c) * elements * 4;
      for (int i = 0; i < n / width; ++i) cuda::launch(add_, elements / threads, threads, s, x, elements);
      if (c == 0) continue;
      cuda::check(cuEventRecord(join_, s), "cuEventRecord");
      cuda::check(cuStreamWaitEvent(stream_, join_, 0), "cuStreamWaitEvent");
    }
  }

  /// n kernels, each of which begins early.
  void early_launches(int n) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config{};
    config.gridDimX = elements / threads, config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = threads, config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream_;
    config.attrs = &attribute, config.numAttrs = 1;
    CUdeviceptr x = x_;
    unsigned count = elements;
    void* arguments[] = {&x, &count};
    for (int i = 0; i < n; ++i)
      cuda::check(cuLaunchKernelEx(&config, add_early_, arguments, nullptr), "cuLaunchKernelEx");
  }

  /// Microseconds for a graph of n kernels that begin early. Throws if they do not add up.
  double early_chain(int n, int rounds) {
    auto const graph = cuda::instantiated(cuda::captured(stream_, [&] { early_launches(n); }));
    cuda::check(cuMemsetD32Async(x_, 0, elements, stream_), "cuMemsetD32Async");
    cuda::launch(graph, stream_);
    float sum = 0;
    cuda::check(cuMemcpyDtoHAsync(&sum, x_, 4, stream_), "cuMemcpyDtoHAsync");
    cuda::wait(stream_);
    if (sum != static_cast<float>(n)) throw std::runtime_error("kernels that begin early did not wait");
    return microseconds(rounds,
                        [&] {
                          cuda::launch(graph, stream_);
                          cuda::wait(stream_);
                        })
        .median;
  }

  void chain(int n, int width) {
    int const rounds = n >= 1000 ? 100 : 500;
    std::vector<double> enqueue;
    auto const whole = microseconds(rounds, [&] {
      double const begin = cuda::now();
      launches(n, width);
      enqueue.push_back((cuda::now() - begin) * 1e6);
      cuda::wait(stream_);
    });
    std::vector<double> capture, instantiate, upload;
    std::vector<cuda::graph> graphs;
    for (int i = 0; i < 20; ++i) {
      double const begin = cuda::now();
      graphs.push_back(cuda::captured(stream_, [&] { launches(n, width); }));
      capture.push_back((cuda::now() - begin) * 1e6);
    }
    std::size_t before = 0, after = 0, all = 0;
    std::vector<cuda::graph_exec> execs;
    cuda::check(cuMemGetInfo(&before, &all), "cuMemGetInfo");
    for (int i = 0; i < 20; ++i) {
      double const begin = cuda::now();
      execs.push_back(cuda::instantiated(graphs.front()));
      double const made_at = cuda::now();
      cuda::check(cuGraphUpload(execs.back(), stream_), "cuGraphUpload");
      cuda::wait(stream_);
      instantiate.push_back((made_at - begin) * 1e6);
      upload.push_back((cuda::now() - made_at) * 1e6);
    }
    cuda::check(cuMemGetInfo(&after, &all), "cuMemGetInfo");
    std::vector<double> enqueue_graph;
    auto const whole_graph = microseconds(rounds, [&] {
      double const begin = cuda::now();
      cuda::launch(execs.front(), stream_);
      enqueue_graph.push_back((cuda::now() - begin) * 1e6);
      cuda::wait(stream_);
    });
    std::string const early = n == 0 || width > 1 ? "" : decimal(early_chain(n, rounds));
    std::printf("| %d%s | %.1f | %.1f | %.1f | %.1f | %.1f | %.0f | %.1f | %.1f | %s |\n", n, width > 1 ? ", wide" : "",
                of(enqueue).median, whole.median, of(capture).median, of(instantiate).median, of(upload).median,
                static_cast<double>(before - after) / 20 / 1024, of(enqueue_graph).median, whole_graph.median,
                early.c_str());
    std::fflush(stdout);
  }

  /// A step's n kernels: one that reads the fed number, others that add 1, and one that writes the fetched number.
  void body(int n, CUdeviceptr fed, CUdeviceptr fetched, CUdeviceptr flag_at) {
    cuda::launch(feed_, elements / threads, threads, stream_, fed, CUdeviceptr(x_), elements);
    launches(n - 2, 1);
    cuda::launch(fetch_, 1, 1, stream_, CUdeviceptr(x_), fetched, CUdeviceptr(count_), flag_at);
  }

  /// Of a launch whose end is awaited outside of the time.
  spread enqueue_alone(CUgraphExec graph) {
    std::vector<double> times;
    for (int i = 0; i < 1000; ++i) {
      double const begin = cuda::now();
      cuda::launch(graph, stream_);
      times.push_back((cuda::now() - begin) * 1e6);
      cuda::wait(stream_);
    }
    return of(times);
  }

  /// Of a launch among many, of which each waits for the last but two.
  spread two_ahead(CUgraphExec graph) {
    cuda::event const ahead[2] = {cuda::make_event(), cuda::make_event()};
    std::vector<double> times;
    for (int round = 0; round < 20; ++round) {
      double const begin = cuda::now();
      for (int i = 0; i < 200; ++i) {
        if (i >= 2) cuda::check(cuEventSynchronize(ahead[i % 2]), "cuEventSynchronize");
        cuda::launch(graph, stream_);
        cuda::check(cuEventRecord(ahead[i % 2], stream_), "cuEventRecord");
      }
      cuda::wait(stream_);
      times.push_back((cuda::now() - begin) * 1e6 / 200);
    }
    return of(times);
  }

  template <class F> void wait_line(char const* way, F const& f) {
    auto const brief = microseconds(1000, [&] {
      cuda::launch(add_, elements / threads, threads, stream_, CUdeviceptr(x_), elements);
      f();
    });
    double const before = processor_time();
    int calls = 0;
    auto const whole = microseconds(50, [&] {
      ++calls;
      cuda::launch(busy_, 1, 1, stream_, std::uint64_t{1'000'000});
      f();
    });
    double const used = (processor_time() - before) / calls;
    std::printf("| %s | %.2f | %.2f | %.2f | %.1f | %.0f |\n", way, brief.median, brief.least, brief.most,
                whole.median - 1000, used);
    std::fflush(stdout);
  }

  /// Compiles text that calls CUDA's device runtime and links it with that library.
  cuda::module linked(char const* text, std::string const& library) const {
    auto const made = cuda::compile(text, gpu_.architecture(), {"--relocatable-device-code=true"});
    CUlinkState state = nullptr;
    cuda::check(cuLinkCreate(0, nullptr, nullptr, &state), "cuLinkCreate");
    cuda::check(cuLinkAddData(state, CU_JIT_INPUT_CUBIN, const_cast<char*>(made.code.data()), made.code.size(), "loop",
                              0, nullptr, nullptr),
                "cuLinkAddData");
    cuda::check(cuLinkAddFile(state, CU_JIT_INPUT_LIBRARY, library.c_str(), 0, nullptr, nullptr), "cuLinkAddFile");
    void* code = nullptr;
    std::size_t size = 0;
    cuda::check(cuLinkComplete(state, &code, &size), "cuLinkComplete");
    cuda::module m = cuda::load({static_cast<char const*>(code), size});
    cuLinkDestroy(state);
    return m;
  }

  /// A graph that sets the condition and then runs a body of n kernels, and one that counts down, while that says so.
  cuda::graph while_graph(CUfunction start, CUfunction proceed, CUdeviceptr left, unsigned iterations, int n) {
    CUgraph whole = nullptr;
    cuda::check(cuGraphCreate(&whole, 0), "cuGraphCreate");
    cuda::graph result(whole);
    CUcontext context = nullptr;
    cuda::check(cuCtxGetCurrent(&context), "cuCtxGetCurrent");
    CUgraphConditionalHandle handle{};
    cuda::check(cuGraphConditionalHandleCreate(&handle, whole, context, 0, 0), "cuGraphConditionalHandleCreate");
    unsigned long long number = handle;
    void* start_arguments[] = {&left, &iterations, &number};
    CUgraphNode first = kernel_node(whole, nullptr, start, 1, start_arguments);
    CUgraphNodeParams loop{};
    loop.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    loop.conditional.handle = handle;
    loop.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
    loop.conditional.size = 1;
    loop.conditional.ctx = context;
    CUgraphNode node = nullptr;
    cuda::check(cuGraphAddNode(&node, whole, &first, nullptr, 1, &loop), "cuGraphAddNode");
    CUgraph const inside = loop.conditional.phGraph_out[0];
    CUdeviceptr x = x_;
    unsigned count = elements;
    void* add_arguments[] = {&x, &count};
    CUgraphNode last = nullptr;
    for (int i = 0; i < n; ++i) last = kernel_node(inside, last, add_, elements / threads, add_arguments);
    void* proceed_arguments[] = {&left, &number};
    kernel_node(inside, last, proceed, 1, proceed_arguments);
    return result;
  }

  static CUgraphNode kernel_node(CUgraph graph, CUgraphNode after, CUfunction f, unsigned blocks, void** arguments) {
    CUDA_KERNEL_NODE_PARAMS node{};
    node.func = f;
    node.gridDimX = blocks, node.gridDimY = node.gridDimZ = 1;
    node.blockDimX = blocks == 1 ? 1 : threads, node.blockDimY = node.blockDimZ = 1;
    node.kernelParams = arguments;
    CUgraphNode made = nullptr;
    cuda::check(cuGraphAddKernelNode(&made, graph, &after, after != nullptr ? 1 : 0, &node), "cuGraphAddKernelNode");
    return made;
  }
};

}  // namespace

int main(int count, char** words) try {
  std::vector<std::string> const sections(words + 1, words + count);
  auto const asked = [&](char const* name) {
    return sections.empty() || std::find(sections.begin(), sections.end(), name) != sections.end();
  };
  steps all;
  std::printf("%s\n\n", all.summary().c_str());
  if (asked("chains")) all.chains();
  if (asked("changes")) all.changes();
  if (asked("step")) all.step();
  if (asked("waiting")) all.waiting();
  if (asked("lanes")) all.lanes();
  if (asked("loops")) all.loops(RILL_CUDA_DEVICE_RUNTIME);
} catch (std::exception const& e) {
  std::fprintf(stderr, "steps: %s\n", e.what());
  return 1;
}
