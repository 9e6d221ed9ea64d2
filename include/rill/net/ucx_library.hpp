// What is called of UCX (openucx.org). libucp is loaded when it is asked for: it catches signals and patches functions
// of the system as soon as it is there.
#pragma once
#if RILL_UCX
#include <dlfcn.h>
#include <ucp/api/ucp.h>

#include <string>

#include "rill/base/c_locale.hpp"
#include "rill/base/error.hpp"

namespace rill::net::detail {

/// What is called of libucp.
struct ucx_library {
  decltype(&::ucp_init_version) init = nullptr;
  decltype(&::ucp_config_read) config_read = nullptr;
  decltype(&::ucp_config_release) config_release = nullptr;
  decltype(&::ucp_worker_create) worker_create = nullptr;
  decltype(&::ucp_worker_destroy) worker_destroy = nullptr;
  decltype(&::ucp_worker_get_address) worker_get_address = nullptr;
  decltype(&::ucp_worker_release_address) worker_release_address = nullptr;
  decltype(&::ucp_worker_get_efd) worker_get_efd = nullptr;
  decltype(&::ucp_worker_arm) worker_arm = nullptr;
  decltype(&::ucp_worker_signal) worker_signal = nullptr;
  decltype(&::ucp_worker_progress) worker_progress = nullptr;
  decltype(&::ucp_ep_create) ep_create = nullptr;
  decltype(&::ucp_ep_close_nbx) ep_close = nullptr;
  decltype(&::ucp_ep_flush_nbx) ep_flush = nullptr;
  decltype(&::ucp_stream_send_nbx) send = nullptr;
  decltype(&::ucp_stream_recv_data_nb) receive = nullptr;
  decltype(&::ucp_stream_data_release) release = nullptr;
  decltype(&::ucp_request_free) request_free = nullptr;
  decltype(&::ucp_request_check_status) request_status = nullptr;
  decltype(&::ucs_status_string) text_of = nullptr;

  /// Throws error(unavailable) if it is not there.
  static ucx_library const& here() {
    static ucx_library const all;
    return all;
  }

 private:
  ucx_library() {
    c_locale const english;  // for what dlerror says
    auto* const ucp = ::dlopen("libucp.so.0", RTLD_NOW | RTLD_GLOBAL);
    if (ucp == nullptr)
      throw error(code::unavailable, std::string("net_options::ucx needs UCX, which can't be loaded (") + ::dlerror() +
                                         "); on Debian and Ubuntu: apt-get install libucx0");
    // What it needs itself, such as ucs_status_string, is found with it.
    find(ucp, init, "ucp_init_version");
    find(ucp, config_read, "ucp_config_read"), find(ucp, config_release, "ucp_config_release");
    find(ucp, worker_create, "ucp_worker_create"), find(ucp, worker_destroy, "ucp_worker_destroy");
    find(ucp, worker_get_address, "ucp_worker_get_address");
    find(ucp, worker_release_address, "ucp_worker_release_address");
    find(ucp, worker_get_efd, "ucp_worker_get_efd"), find(ucp, worker_arm, "ucp_worker_arm");
    find(ucp, worker_signal, "ucp_worker_signal"), find(ucp, worker_progress, "ucp_worker_progress");
    find(ucp, ep_create, "ucp_ep_create"), find(ucp, ep_close, "ucp_ep_close_nbx");
    find(ucp, ep_flush, "ucp_ep_flush_nbx"), find(ucp, send, "ucp_stream_send_nbx");
    find(ucp, receive, "ucp_stream_recv_data_nb"), find(ucp, release, "ucp_stream_data_release");
    find(ucp, request_free, "ucp_request_free"), find(ucp, request_status, "ucp_request_check_status");
    find(ucp, text_of, "ucs_status_string");
  }
  template <class F> static void find(void* at, F& f, char const* name) {
    f = reinterpret_cast<F>(::dlsym(at, name));
    if (f == nullptr) throw error(code::unavailable, std::string("the UCX that is installed has no ") + name);
  }
};

/// Throws error(unavailable) for what UCX has not done.
inline void check_ucx(ucs_status_t status, char const* what) {
  if (status != UCS_OK)
    throw error(code::unavailable, std::string("UCX can't ") + what + ": " + ucx_library::here().text_of(status));
}

/// Returns what all connections of a process have in common. It is never given back: some may outlive `main`.
inline ucp_context_h ucx_context() {
  static ucp_context_h const one = [] {
    auto const& ucx = ucx_library::here();
    ucp_config_t* config = nullptr;
    check_ucx(ucx.config_read(nullptr, nullptr, &config), "read its settings");
    ucp_params_t how{};
    how.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
    how.features = UCP_FEATURE_STREAM | UCP_FEATURE_WAKEUP;
    how.mt_workers_shared = 1;
    ucp_context_h made = nullptr;
    auto const status = ucx.init(UCP_API_MAJOR, UCP_API_MINOR, &how, config, &made);
    ucx.config_release(config);
    check_ucx(status, "begin");
    return made;
  }();
  return one;
}

}  // namespace rill::net::detail
#endif
