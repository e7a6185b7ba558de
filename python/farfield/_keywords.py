"""Keywords of the commands: their flags, and the keys of a scenario.

Written by python/generate.py: change that, or the documents it reads, and run it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Mapping, Tuple

if TYPE_CHECKING:
    from typing import TypedDict

    from ._values import Value

    class ScenarioKeywords(TypedDict, total=False):
        """Keys of a scenario: `run_warm_up` is `run.warm-up`."""

        aborts: Value
        capture_buffer: Value
        capture_clients: Value
        capture_filter: Value
        capture_filter_clients: Value
        capture_filter_port: Value
        capture_gateway: Value
        capture_kernel: Value
        capture_snap: Value
        capture_verify: Value
        connections: Value
        connections_abandon_after: Value
        connections_addresses: Value
        connections_expect_timeout: Value
        connections_head_fields: Value
        connections_head_limit: Value
        connections_parallel: Value
        connections_pause_after_failure: Value
        connections_pipeline_depth: Value
        connections_policy: Value
        connections_pool_idle: Value
        connections_pool_keep_alive: Value
        connections_proxy: Value
        connections_request_timeout: Value
        connections_requests_per_connection: Value
        connections_resolve_every: Value
        connections_streams: Value
        connections_unix_socket: Value
        events: Value
        events_by: Value
        events_leave_after: Value
        events_leave_at: Value
        events_stall: Value
        flow: Value
        host: Value
        load: Value
        load_active_off: Value
        load_active_off_distribution: Value
        load_active_off_exponent: Value
        load_active_off_file: Value
        load_active_off_max: Value
        load_active_off_mean: Value
        load_active_off_min: Value
        load_active_off_mu: Value
        load_active_off_n: Value
        load_active_off_of: Value
        load_active_off_p: Value
        load_active_off_parts: Value
        load_active_off_rate: Value
        load_active_off_scale: Value
        load_active_off_shape: Value
        load_active_off_sigma: Value
        load_active_off_value: Value
        load_active_off_values: Value
        load_arrivals: Value
        load_arrivals_at: Value
        load_arrivals_course: Value
        load_arrivals_day: Value
        load_arrivals_decay: Value
        load_arrivals_deviation: Value
        load_arrivals_factor: Value
        load_arrivals_file: Value
        load_arrivals_for: Value
        load_arrivals_from: Value
        load_arrivals_gaps: Value
        load_arrivals_gaps_distribution: Value
        load_arrivals_gaps_exponent: Value
        load_arrivals_gaps_file: Value
        load_arrivals_gaps_max: Value
        load_arrivals_gaps_mean: Value
        load_arrivals_gaps_min: Value
        load_arrivals_gaps_mu: Value
        load_arrivals_gaps_n: Value
        load_arrivals_gaps_of: Value
        load_arrivals_gaps_p: Value
        load_arrivals_gaps_parts: Value
        load_arrivals_gaps_rate: Value
        load_arrivals_gaps_scale: Value
        load_arrivals_gaps_shape: Value
        load_arrivals_gaps_sigma: Value
        load_arrivals_gaps_value: Value
        load_arrivals_gaps_values: Value
        load_arrivals_hurst: Value
        load_arrivals_length: Value
        load_arrivals_length_distribution: Value
        load_arrivals_length_max: Value
        load_arrivals_length_mean: Value
        load_arrivals_length_min: Value
        load_arrivals_length_mu: Value
        load_arrivals_length_scale: Value
        load_arrivals_length_shape: Value
        load_arrivals_length_sigma: Value
        load_arrivals_length_value: Value
        load_arrivals_loop: Value
        load_arrivals_marginal: Value
        load_arrivals_off: Value
        load_arrivals_off_distribution: Value
        load_arrivals_off_max: Value
        load_arrivals_off_mean: Value
        load_arrivals_off_min: Value
        load_arrivals_off_mu: Value
        load_arrivals_off_scale: Value
        load_arrivals_off_shape: Value
        load_arrivals_off_sigma: Value
        load_arrivals_off_value: Value
        load_arrivals_on: Value
        load_arrivals_on_distribution: Value
        load_arrivals_on_max: Value
        load_arrivals_on_mean: Value
        load_arrivals_on_min: Value
        load_arrivals_on_mu: Value
        load_arrivals_on_scale: Value
        load_arrivals_on_shape: Value
        load_arrivals_on_sigma: Value
        load_arrivals_on_value: Value
        load_arrivals_period: Value
        load_arrivals_process: Value
        load_arrivals_profile: Value
        load_arrivals_rate: Value
        load_arrivals_rates: Value
        load_arrivals_segments: Value
        load_arrivals_sessions: Value
        load_arrivals_share: Value
        load_arrivals_slot: Value
        load_arrivals_sources: Value
        load_arrivals_spacing: Value
        load_arrivals_stages: Value
        load_arrivals_stay: Value
        load_arrivals_to: Value
        load_arrivals_transitions: Value
        load_arrivals_within: Value
        load_descriptors: Value
        load_established_max: Value
        load_model: Value
        load_ramp: Value
        load_requests: Value
        load_requests_distribution: Value
        load_requests_exponent: Value
        load_requests_file: Value
        load_requests_max: Value
        load_requests_mean: Value
        load_requests_min: Value
        load_requests_mu: Value
        load_requests_n: Value
        load_requests_of: Value
        load_requests_p: Value
        load_requests_parts: Value
        load_requests_rate: Value
        load_requests_scale: Value
        load_requests_shape: Value
        load_requests_sigma: Value
        load_requests_value: Value
        load_requests_values: Value
        load_restart: Value
        load_spacing: Value
        load_stages: Value
        load_think: Value
        load_think_distribution: Value
        load_think_exponent: Value
        load_think_file: Value
        load_think_max: Value
        load_think_mean: Value
        load_think_min: Value
        load_think_mu: Value
        load_think_n: Value
        load_think_of: Value
        load_think_p: Value
        load_think_parts: Value
        load_think_rate: Value
        load_think_scale: Value
        load_think_shape: Value
        load_think_sigma: Value
        load_think_value: Value
        load_think_values: Value
        load_timeout: Value
        load_users: Value
        load_users_max: Value
        monitor: Value
        monitor_pid: Value
        monitor_prometheus: Value
        monitor_tier: Value
        network: Value
        network_access: Value
        network_addresses: Value
        network_backbone: Value
        network_backbone_access: Value
        network_backbone_access_up: Value
        network_backbone_backbone: Value
        network_backbone_delay: Value
        network_backbone_hosts: Value
        network_backbone_local_delay: Value
        network_backbone_mtu: Value
        network_backbone_queue: Value
        network_backbone_queue_alpha: Value
        network_backbone_queue_beta: Value
        network_backbone_queue_burst: Value
        network_backbone_queue_discipline: Value
        network_backbone_queue_ecn: Value
        network_backbone_queue_gentle: Value
        network_backbone_queue_interval: Value
        network_backbone_queue_limit: Value
        network_backbone_queue_max: Value
        network_backbone_queue_mean_packet: Value
        network_backbone_queue_min: Value
        network_backbone_queue_probability: Value
        network_backbone_queue_quantum: Value
        network_backbone_queue_queues: Value
        network_backbone_queue_target: Value
        network_backbone_queue_update: Value
        network_backbone_queue_weight: Value
        network_backbone_subnets: Value
        network_busy_poll: Value
        network_change: Value
        network_class: Value
        network_clients: Value
        network_cross_traffic: Value
        network_gateway: Value
        network_gateway_queue: Value
        network_interface: Value
        network_mac: Value
        network_next_hop: Value
        network_offload: Value
        network_processors: Value
        network_program: Value
        network_real_time: Value
        network_rtt: Value
        network_server: Value
        network_shards: Value
        network_shared: Value
        network_shared_down: Value
        network_shared_down_corrupt: Value
        network_shared_down_delay: Value
        network_shared_down_duplicate: Value
        network_shared_down_jitter: Value
        network_shared_down_jitter_distribution: Value
        network_shared_down_jitter_exponent: Value
        network_shared_down_jitter_file: Value
        network_shared_down_jitter_max: Value
        network_shared_down_jitter_mean: Value
        network_shared_down_jitter_min: Value
        network_shared_down_jitter_mu: Value
        network_shared_down_jitter_n: Value
        network_shared_down_jitter_of: Value
        network_shared_down_jitter_p: Value
        network_shared_down_jitter_parts: Value
        network_shared_down_jitter_rate: Value
        network_shared_down_jitter_scale: Value
        network_shared_down_jitter_shape: Value
        network_shared_down_jitter_sigma: Value
        network_shared_down_jitter_value: Value
        network_shared_down_jitter_values: Value
        network_shared_down_loss: Value
        network_shared_down_loss_loss_bad: Value
        network_shared_down_loss_loss_good: Value
        network_shared_down_loss_model: Value
        network_shared_down_loss_per: Value
        network_shared_down_loss_rate: Value
        network_shared_down_loss_to_bad: Value
        network_shared_down_loss_to_good: Value
        network_shared_down_mtu: Value
        network_shared_down_overhead: Value
        network_shared_down_path_profile: Value
        network_shared_down_queue: Value
        network_shared_down_queue_alpha: Value
        network_shared_down_queue_beta: Value
        network_shared_down_queue_burst: Value
        network_shared_down_queue_discipline: Value
        network_shared_down_queue_ecn: Value
        network_shared_down_queue_gentle: Value
        network_shared_down_queue_interval: Value
        network_shared_down_queue_limit: Value
        network_shared_down_queue_max: Value
        network_shared_down_queue_mean_packet: Value
        network_shared_down_queue_min: Value
        network_shared_down_queue_probability: Value
        network_shared_down_queue_quantum: Value
        network_shared_down_queue_queues: Value
        network_shared_down_queue_target: Value
        network_shared_down_queue_update: Value
        network_shared_down_queue_weight: Value
        network_shared_down_rate: Value
        network_shared_down_reorder: Value
        network_shared_down_trace: Value
        network_shared_down_unreachable: Value
        network_shared_down_unreachable_answer: Value
        network_shared_down_unreachable_from: Value
        network_shared_down_unreachable_to: Value
        network_shared_rtt: Value
        network_shared_up: Value
        network_shared_up_corrupt: Value
        network_shared_up_delay: Value
        network_shared_up_duplicate: Value
        network_shared_up_jitter: Value
        network_shared_up_jitter_distribution: Value
        network_shared_up_jitter_exponent: Value
        network_shared_up_jitter_file: Value
        network_shared_up_jitter_max: Value
        network_shared_up_jitter_mean: Value
        network_shared_up_jitter_min: Value
        network_shared_up_jitter_mu: Value
        network_shared_up_jitter_n: Value
        network_shared_up_jitter_of: Value
        network_shared_up_jitter_p: Value
        network_shared_up_jitter_parts: Value
        network_shared_up_jitter_rate: Value
        network_shared_up_jitter_scale: Value
        network_shared_up_jitter_shape: Value
        network_shared_up_jitter_sigma: Value
        network_shared_up_jitter_value: Value
        network_shared_up_jitter_values: Value
        network_shared_up_loss: Value
        network_shared_up_loss_loss_bad: Value
        network_shared_up_loss_loss_good: Value
        network_shared_up_loss_model: Value
        network_shared_up_loss_per: Value
        network_shared_up_loss_rate: Value
        network_shared_up_loss_to_bad: Value
        network_shared_up_loss_to_good: Value
        network_shared_up_mtu: Value
        network_shared_up_overhead: Value
        network_shared_up_path_profile: Value
        network_shared_up_queue: Value
        network_shared_up_queue_alpha: Value
        network_shared_up_queue_beta: Value
        network_shared_up_queue_burst: Value
        network_shared_up_queue_discipline: Value
        network_shared_up_queue_ecn: Value
        network_shared_up_queue_gentle: Value
        network_shared_up_queue_interval: Value
        network_shared_up_queue_limit: Value
        network_shared_up_queue_max: Value
        network_shared_up_queue_mean_packet: Value
        network_shared_up_queue_min: Value
        network_shared_up_queue_probability: Value
        network_shared_up_queue_quantum: Value
        network_shared_up_queue_queues: Value
        network_shared_up_queue_target: Value
        network_shared_up_queue_update: Value
        network_shared_up_queue_weight: Value
        network_shared_up_rate: Value
        network_shared_up_reorder: Value
        network_shared_up_trace: Value
        network_shared_up_unreachable: Value
        network_shared_up_unreachable_answer: Value
        network_shared_up_unreachable_from: Value
        network_shared_up_unreachable_to: Value
        network_tcp: Value
        network_tcp_abandon_after: Value
        network_tcp_congestion: Value
        network_tcp_delayed_ack: Value
        network_tcp_delayed_ack_delay: Value
        network_tcp_delayed_ack_heartbeat: Value
        network_tcp_delayed_ack_quick_segments: Value
        network_tcp_ecn: Value
        network_tcp_fin_wait_2: Value
        network_tcp_initial_window: Value
        network_tcp_limited_transmit: Value
        network_tcp_mss: Value
        network_tcp_nagle: Value
        network_tcp_profile: Value
        network_tcp_reassembly_max: Value
        network_tcp_receive_buffer: Value
        network_tcp_receive_buffer_initial: Value
        network_tcp_receive_buffer_max: Value
        network_tcp_recovery: Value
        network_tcp_rto: Value
        network_tcp_rto_granularity: Value
        network_tcp_rto_initial: Value
        network_tcp_rto_max: Value
        network_tcp_rto_min: Value
        network_tcp_sack: Value
        network_tcp_slow_start: Value
        network_tcp_syn: Value
        network_tcp_syn_ack: Value
        network_tcp_time_wait: Value
        network_tcp_timestamps: Value
        network_tcp_window_scaling: Value
        network_topology: Value
        network_topology_hosts: Value
        network_topology_links: Value
        network_topology_routers: Value
        network_topology_routing: Value
        network_topology_server: Value
        network_topology_switches: Value
        origin: Value
        origin_accept_limit: Value
        origin_alt_svc: Value
        origin_backlog: Value
        origin_bind: Value
        origin_certificate: Value
        origin_early_data: Value
        origin_error_rate: Value
        origin_hiccup: Value
        origin_keep_alive_requests: Value
        origin_keep_alive_timeout: Value
        origin_key: Value
        origin_root: Value
        origin_seed: Value
        origin_servers: Value
        origin_service_time: Value
        origin_site: Value
        origin_site_median_object_size: Value
        origin_site_objects_per_page: Value
        origin_site_pages: Value
        origin_slow_start: Value
        origin_slow_tail: Value
        origin_stall: Value
        origin_threads: Value
        origin_tls: Value
        output: Value
        output_directory: Value
        output_disk_budget: Value
        output_report: Value
        output_samples: Value
        requests_file: Value
        requests_order: Value
        requests_request: Value
        requests_site: Value
        requests_site_seed: Value
        run: Value
        run_cool_down: Value
        run_drain: Value
        run_duration: Value
        run_duration_max: Value
        run_finish_sessions: Value
        run_part: Value
        run_requests: Value
        run_sessions: Value
        run_set_aside: Value
        run_start_at: Value
        run_unfinished: Value
        run_warm_up: Value
        server_abort_on_overflow: Value
        server_command: Value
        server_congestion: Value
        server_container: Value
        server_cpu_of: Value
        server_directory: Value
        server_environment: Value
        server_initial_window: Value
        server_ipv4: Value
        server_ipv6: Value
        server_mtu: Value
        server_port: Value
        server_processors: Value
        server_ready: Value
        server_ready_timeout: Value
        server_receive_buffer: Value
        server_receive_processors: Value
        server_sack: Value
        server_send_buffer: Value
        server_settings: Value
        server_somaxconn: Value
        server_stop_timeout: Value
        server_syn_ack_retries: Value
        server_syn_backlog: Value
        server_syn_cookies: Value
        server_timestamps: Value
        server_window_scaling: Value
        session: Value
        session_body_limit: Value
        session_cache: Value
        session_clicks: Value
        session_clicks_distribution: Value
        session_clicks_exponent: Value
        session_clicks_file: Value
        session_clicks_max: Value
        session_clicks_mean: Value
        session_clicks_min: Value
        session_clicks_mu: Value
        session_clicks_n: Value
        session_clicks_of: Value
        session_clicks_p: Value
        session_clicks_parts: Value
        session_clicks_rate: Value
        session_clicks_scale: Value
        session_clicks_shape: Value
        session_clicks_sigma: Value
        session_clicks_value: Value
        session_clicks_values: Value
        session_cookies: Value
        session_data: Value
        session_entry: Value
        session_first: Value
        session_last: Value
        session_on_failure: Value
        session_page_load: Value
        session_path: Value
        session_redirects: Value
        session_replay: Value
        session_replay_fields: Value
        session_replay_fields_agent: Value
        session_replay_fields_bytes: Value
        session_replay_fields_client: Value
        session_replay_fields_method: Value
        session_replay_fields_path: Value
        session_replay_fields_referrer: Value
        session_replay_fields_request: Value
        session_replay_fields_status: Value
        session_replay_fields_time: Value
        session_replay_fields_transfer: Value
        session_replay_fields_transfer_unit: Value
        session_replay_file: Value
        session_replay_format: Value
        session_replay_in_turn: Value
        session_replay_layout: Value
        session_replay_missing_bodies: Value
        session_replay_speed: Value
        session_replay_timing: Value
        session_set_up: Value
        session_state: Value
        session_tear_down: Value
        session_think: Value
        session_think_distribution: Value
        session_think_exponent: Value
        session_think_file: Value
        session_think_max: Value
        session_think_mean: Value
        session_think_min: Value
        session_think_mu: Value
        session_think_n: Value
        session_think_of: Value
        session_think_p: Value
        session_think_parts: Value
        session_think_rate: Value
        session_think_scale: Value
        session_think_shape: Value
        session_think_sigma: Value
        session_think_value: Value
        session_think_values: Value
        session_transitions: Value
        simulated: Value
        simulated_backlog: Value
        simulated_events: Value
        simulated_events_count: Value
        simulated_events_gap: Value
        simulated_events_gap_distribution: Value
        simulated_events_gap_exponent: Value
        simulated_events_gap_file: Value
        simulated_events_gap_max: Value
        simulated_events_gap_mean: Value
        simulated_events_gap_min: Value
        simulated_events_gap_mu: Value
        simulated_events_gap_n: Value
        simulated_events_gap_of: Value
        simulated_events_gap_p: Value
        simulated_events_gap_parts: Value
        simulated_events_gap_rate: Value
        simulated_events_gap_scale: Value
        simulated_events_gap_shape: Value
        simulated_events_gap_sigma: Value
        simulated_events_gap_value: Value
        simulated_events_gap_values: Value
        simulated_holding: Value
        simulated_keep_alive_timeout: Value
        simulated_linger: Value
        simulated_reply: Value
        simulated_reply_size: Value
        simulated_reply_size_distribution: Value
        simulated_reply_size_exponent: Value
        simulated_reply_size_file: Value
        simulated_reply_size_max: Value
        simulated_reply_size_mean: Value
        simulated_reply_size_min: Value
        simulated_reply_size_mu: Value
        simulated_reply_size_n: Value
        simulated_reply_size_of: Value
        simulated_reply_size_p: Value
        simulated_reply_size_parts: Value
        simulated_reply_size_rate: Value
        simulated_reply_size_scale: Value
        simulated_reply_size_shape: Value
        simulated_reply_size_sigma: Value
        simulated_reply_size_value: Value
        simulated_reply_size_values: Value
        simulated_service_time: Value
        simulated_service_time_distribution: Value
        simulated_service_time_exponent: Value
        simulated_service_time_file: Value
        simulated_service_time_max: Value
        simulated_service_time_mean: Value
        simulated_service_time_min: Value
        simulated_service_time_mu: Value
        simulated_service_time_n: Value
        simulated_service_time_of: Value
        simulated_service_time_p: Value
        simulated_service_time_parts: Value
        simulated_service_time_rate: Value
        simulated_service_time_scale: Value
        simulated_service_time_shape: Value
        simulated_service_time_sigma: Value
        simulated_service_time_value: Value
        simulated_service_time_values: Value
        simulated_streams: Value
        simulated_tls: Value
        simulated_tls_certificates: Value
        simulated_tls_early_data: Value
        simulated_tls_full_handshake: Value
        simulated_tls_groups: Value
        simulated_tls_resumed_handshake: Value
        simulated_tls_tickets: Value
        simulated_tls_versions: Value
        simulated_workers: Value
        sockets: Value
        sockets_connect_to: Value
        sockets_processors: Value
        sockets_sources: Value
        sockets_workers: Value
        thresholds: Value
        tls: Value
        tls_ca: Value
        tls_certificate: Value
        tls_early_data: Value
        tls_groups: Value
        tls_key: Value
        tls_key_log: Value
        tls_pins: Value
        tls_resumption: Value
        tls_server_name: Value
        tls_verify: Value
        tls_versions: Value
        verdict: Value
        verdict_arrival_lateness_p99: Value
        verdict_capture_compared: Value
        verdict_capture_error: Value
        verdict_capture_unmatched: Value
        verdict_crossing_lateness_p99: Value
        verdict_delivery_lateness_p99: Value
        verdict_departure_lateness_p99: Value
        verdict_dropped_arrivals: Value
        verdict_generator_lacked: Value
        verdict_host_steal: Value
        verdict_lateness_p99: Value
        verdict_littles_law: Value
        verdict_longest_stall: Value
        verdict_loop_lag_p99: Value
        verdict_machine_busy: Value
        verdict_pickup_lateness_p99: Value
        verdict_rate_error: Value
        verdict_response_time_law: Value
        verdict_server_failing: Value
        verdict_server_held_up: Value
        verdict_server_silent: Value
        verdict_succeeded: Value
        verdict_throttled: Value
        verdict_worker_busy: Value

    class RunKeywords(ScenarioKeywords, total=False):
        """Flags of `farfield run`."""

        users: Value
        """Users of a closed load, or the most of an open one at once [default: 10]"""

        rate: Value
        """Open load: Poisson arrivals at this rate; a closed load if absent"""

        stages: Value
        """Users, or their rate, over time: 1m:100,5m:100,1m:0 or 1m:50/s,1m:0/s; one level if absent"""

        duration: Value
        """Length of the measured part; a number is of seconds [default: 10s]"""

        requests: Value
        """End after this many requests, without a warm-up; no limit if absent"""

        sessions: Value
        """End after this many sessions, completed or broken off; without a warm-up, unless --warm-up
        sets one; no limit if absent
        """

        think: Value
        """Think time: from the end of a page to the user's next [default: 0s]"""

        warm_up: Value
        """Length of the warm-up, before the measured part [default: 1s]"""

        cool_down: Value
        """Time for which the load goes on after the measured part; none if absent"""

        part: Value
        """Make this part of a run that several processes share, such as 2/3, or 3..5/16; auto takes the
        place that Slurm, MPI or Kubernetes give; all of it if absent
        """

        start_at: Value
        """Start at this wall-clock time, such as 2026-12-01T09:30:00Z; as soon as all is ready if absent"""

        target: Value
        """URL of the server; the scenario's or the built-in server if absent"""

        plane: Value
        """Carrier of the traffic: sockets, emulated or simulated [default: sockets]"""

        method: Value
        """Method of the request; GET if absent, or POST with a body"""

        header: Value
        """A header of the request, `Name: value`; may be repeated"""

        body: Value
        """Body of the request, or `@FILE` for that of a file; none if absent"""

        http: Value
        """HTTP version: 1.0, 1.1, 2, 3, or auto as browsers do [default: auto]"""

        policy: Value
        """Use of connections by users: one-request, persistent, early-close, pipelined, pipelined-early-
        close, multiplexed or shared-pool [default: persistent]
        """

        parallel: Value
        """The most connections that a user has open at once [default: 1]"""

        source: Value
        """Local addresses that connections come from, one after the other; may be repeated. If absent,
        all of 127.0.0.0/8 for a target there, and else as the kernel chooses
        """

        connect_to: Value
        """Connect to OTHER-HOST and OTHER-PORT in place of HOST and PORT, as curl does; requests, SNI
        and the certificate keep the name. What is empty is any, or as it was; may be repeated
        """

        resolve: Value
        """Take ADDRESS, or several with commas between, for HOST, as curl does; may be repeated"""

        addresses: Value
        """Addresses of the target's name that connections go to: the first that answers, all in turn, or
        the one that the name has when a connection is opened [default: first]
        """

        unix_socket: Value
        """Connect to the Unix socket at PATH, or to @NAME, as curl does; the URL says host and path. If
        absent, TCP
        """

        proxy: Value
        """Connect to the proxy at URL, `http://[user:password@]host:port`, as curl does: it is asked for
        http in absolute form, and for a tunnel (CONNECT) for https; no proxy if absent
        """

        cacert: Value
        """PEM file of the CA of the server's certificate; the system's if absent"""

        cert: Value
        """PEM file of the certificates that users have for an https server that asks for one; none if
        absent
        """

        key: Value
        """PEM file of their private keys; that of the certificates if absent"""

        rtt: Value
        """Round-trip time between clients and the server, emulated; none if absent"""

        access: Value
        """Access link of clients, such as dsl, fibre, 4g or modem-56k; none if absent"""

        gateway: Value
        """Kind of gateway between clients and the server: auto, tun or packet; auto if absent"""

        clients: Value
        """Emulated clients, each with an address and a path; none if absent"""

        shards: Value
        """Number of threads that share the emulated clients; 1 if absent"""

        server: Value
        """Command that starts the server; the built-in server if absent"""

        server_pid: Value
        """Process of a server that runs already, in a network namespace of its own; one is started, or
        reached by the URL, if absent
        """

        server_netns: Value
        """Network namespace of a server that runs already: a name of `ip netns`, or a file; this one if
        absent
        """

        container: Value
        """Container of a server that runs already; none if absent"""

        interface: Value
        """Network card that leads to a server on another machine; none if absent"""

        server_cpu: Value
        """The most processor time that the started server may take, in processors, such as 0.2; no limit
        if absent
        """

        server_memory: Value
        """The most memory that the started server may take, such as 64MiB; no limit if absent"""

        server_user: Value
        """System user that the started server runs as; only root can set another; the one who runs
        farfield if absent
        """

        workers: Value
        """Worker threads; by the number of processors if absent"""

        processors: Value
        """Processors that farfield runs on, such as 1 or 0,2; all that it may use if absent"""

        seed: Value
        """Seed of all random numbers [default: 1]"""

        beside: Value
        """Run COMMAND, by the shell `sh`, at a client of CLASS beside the emulated users, on the same
        network; it ends with the run; may be repeated
        """

        join: Value
        """Make a part of the run that `farfield gather` gathers at ADDRESS, which has the scenario; a
        run of its own if absent
        """

        ticket: Value
        """File of the ticket that `farfield gather` made; FARFIELD_TOKEN if absent"""

        join_within: Value
        """Time for which the gatherer may not be there yet"""

        on: Value
        """Make each run by parts: local:N, ssh:HOST,HOST… or slurm:N; by this process alone if absent"""

        on_ssh: Value
        """The command that reaches a host of --on"""

        on_listen: Value
        """Listen here for the parts of --on; at a free port, of any address unless all are local, if
        absent
        """

        on_wait: Value
        """Time for all parts of a run of --on to come and be ready, also in a queue"""

        threshold: Value
        """Exit with 99 unless 'p99<200ms' (errors<1%, …); may be repeated"""

        abort: Value
        """End the run, and exit with 105, once this does not hold; may be repeated"""

        name: Value
        """Name of the run, in results and of its directory [default: run]"""

        note: Value
        """Note on the run, which results and `farfield runs` show; none if absent"""

        samples: Value
        """Keep these samples: all, none, or a number k for every k-th [default: all]"""

        metrics: Value
        """Serve the figures for Prometheus at /metrics while the run goes on: at a port of the loopback
        interface, or at the address given; not served if absent
        """

        metrics_push: Value
        """Push the figures each second by Prometheus' remote write; may be repeated"""

        metrics_otlp: Value
        """Push the figures each second by the OpenTelemetry Protocol (JSON over HTTP); may be repeated"""

        ui: Value
        """Show the run in a browser while it goes on, at a free port or the one given"""

        starts_only: Value
        """Start only the programs whose digest this is, as somebody has confirmed them in the workbench"""

        set_aside: bool
        """Set seconds in which the machine was disturbed aside, and measure as much longer"""

        insecure: bool
        """Accept any certificate of the server; every output says so"""

        capture: bool
        """Keep the packets between clients and server in capture.pcapng"""

        no_report: bool
        """Write no page of the run (report.html)"""

        no_monitor: bool
        """Do not monitor the server during the run"""

    class SweepKeywords(ScenarioKeywords, total=False):
        """Flags of `farfield sweep`."""

        jobs: Value
        """Runs at once; if absent 1, or simulated as many as processors"""

        metric: Value
        """A further metric: p95, mean(connect), …; may be repeated"""

        repeats: Value
        """Repeat so often, each time with another seed; if absent a sweep does it 3 times, a run once"""

        until: Value
        """Repeat until the mean is known so well: 'p99 ± 5%'; not if absent"""

        repeats_max: Value
        """Repeat so often at most"""

        length_max: Value
        """The longest measured part that runs are lengthened to where --until needs longer ones"""

        budget: Value
        """The time for all repeats; none is begun that would probably not end in it; no limit if absent"""

        on: Value
        """Make each run by parts: local:N, ssh:HOST,HOST… or slurm:N; by this process alone if absent"""

        on_ssh: Value
        """The command that reaches a host of --on"""

        on_listen: Value
        """Listen here for the parts of --on; at a free port, of any address unless all are local, if
        absent
        """

        on_wait: Value
        """Time for all parts of a run of --on to come and be ready, also in a queue"""

        users: Value
        """Users of a closed load, or the most of an open one at once [default: 10]"""

        rate: Value
        """Open load: Poisson arrivals at this rate; a closed load if absent"""

        stages: Value
        """Users, or their rate, over time: 1m:100,5m:100,1m:0 or 1m:50/s,1m:0/s; one level if absent"""

        duration: Value
        """Length of the measured part; a number is of seconds [default: 10s]"""

        requests: Value
        """End after this many requests, without a warm-up; no limit if absent"""

        sessions: Value
        """End after this many sessions, completed or broken off; without a warm-up, unless --warm-up
        sets one; no limit if absent
        """

        think: Value
        """Think time: from the end of a page to the user's next [default: 0s]"""

        warm_up: Value
        """Length of the warm-up, before the measured part [default: 1s]"""

        cool_down: Value
        """Time for which the load goes on after the measured part; none if absent"""

        part: Value
        """Make this part of a run that several processes share, such as 2/3, or 3..5/16; auto takes the
        place that Slurm, MPI or Kubernetes give; all of it if absent
        """

        start_at: Value
        """Start at this wall-clock time, such as 2026-12-01T09:30:00Z; as soon as all is ready if absent"""

        target: Value
        """URL of the server; the scenario's or the built-in server if absent"""

        plane: Value
        """Carrier of the traffic: sockets, emulated or simulated [default: sockets]"""

        method: Value
        """Method of the request; GET if absent, or POST with a body"""

        header: Value
        """A header of the request, `Name: value`; may be repeated"""

        body: Value
        """Body of the request, or `@FILE` for that of a file; none if absent"""

        http: Value
        """HTTP version: 1.0, 1.1, 2, 3, or auto as browsers do [default: auto]"""

        policy: Value
        """Use of connections by users: one-request, persistent, early-close, pipelined, pipelined-early-
        close, multiplexed or shared-pool [default: persistent]
        """

        parallel: Value
        """The most connections that a user has open at once [default: 1]"""

        source: Value
        """Local addresses that connections come from, one after the other; may be repeated. If absent,
        all of 127.0.0.0/8 for a target there, and else as the kernel chooses
        """

        connect_to: Value
        """Connect to OTHER-HOST and OTHER-PORT in place of HOST and PORT, as curl does; requests, SNI
        and the certificate keep the name. What is empty is any, or as it was; may be repeated
        """

        resolve: Value
        """Take ADDRESS, or several with commas between, for HOST, as curl does; may be repeated"""

        addresses: Value
        """Addresses of the target's name that connections go to: the first that answers, all in turn, or
        the one that the name has when a connection is opened [default: first]
        """

        unix_socket: Value
        """Connect to the Unix socket at PATH, or to @NAME, as curl does; the URL says host and path. If
        absent, TCP
        """

        proxy: Value
        """Connect to the proxy at URL, `http://[user:password@]host:port`, as curl does: it is asked for
        http in absolute form, and for a tunnel (CONNECT) for https; no proxy if absent
        """

        cacert: Value
        """PEM file of the CA of the server's certificate; the system's if absent"""

        cert: Value
        """PEM file of the certificates that users have for an https server that asks for one; none if
        absent
        """

        key: Value
        """PEM file of their private keys; that of the certificates if absent"""

        rtt: Value
        """Round-trip time between clients and the server, emulated; none if absent"""

        access: Value
        """Access link of clients, such as dsl, fibre, 4g or modem-56k; none if absent"""

        gateway: Value
        """Kind of gateway between clients and the server: auto, tun or packet; auto if absent"""

        clients: Value
        """Emulated clients, each with an address and a path; none if absent"""

        shards: Value
        """Number of threads that share the emulated clients; 1 if absent"""

        server: Value
        """Command that starts the server; the built-in server if absent"""

        server_pid: Value
        """Process of a server that runs already, in a network namespace of its own; one is started, or
        reached by the URL, if absent
        """

        server_netns: Value
        """Network namespace of a server that runs already: a name of `ip netns`, or a file; this one if
        absent
        """

        container: Value
        """Container of a server that runs already; none if absent"""

        interface: Value
        """Network card that leads to a server on another machine; none if absent"""

        server_cpu: Value
        """The most processor time that the started server may take, in processors, such as 0.2; no limit
        if absent
        """

        server_memory: Value
        """The most memory that the started server may take, such as 64MiB; no limit if absent"""

        server_user: Value
        """System user that the started server runs as; only root can set another; the one who runs
        farfield if absent
        """

        workers: Value
        """Worker threads; by the number of processors if absent"""

        processors: Value
        """Processors that farfield runs on, such as 1 or 0,2; all that it may use if absent"""

        seed: Value
        """Seed of all random numbers [default: 1]"""

        one_at_a_time: bool
        """Vary one key at a time, from the first value of each"""

        set_aside: bool
        """Set seconds in which the machine was disturbed aside, and measure as much longer"""

        insecure: bool
        """Accept any certificate of the server; every output says so"""

        capture: Value
        name: Value
        note: Value

    class CapacityKeywords(ScenarioKeywords, total=False):
        """Flags of `farfield capacity`."""

        slo: Value
        """Find the highest load that keeps these thresholds: 'p99<1s,errors<1%'; --peak if absent"""

        peak: Value
        """Find the most that the server gives at any load: --peak=requests, or bytes; --slo if absent"""

        from_: Value
        """The load of the first trial; the scenario's if absent"""

        to: Value
        """The highest load that is tried; no limit if absent"""

        generator_limit: Value
        """The highest load that the generator can offer (`farfield doctor --limit`); no limit if absent"""

        budget: Value
        """The time for all trials"""

        precision: Value
        """Half-width of the interval that is good enough"""

        duration: Value
        """Length of a full trial's measured part; by default about budget / 30"""

        warm_up: Value
        """Length of each trial's warm-up; the scenario's, or found from trials, if absent"""

        on: Value
        """Make each run by parts: local:N, ssh:HOST,HOST… or slurm:N; by this process alone if absent"""

        on_ssh: Value
        """The command that reaches a host of --on"""

        on_listen: Value
        """Listen here for the parts of --on; at a free port, of any address unless all are local, if
        absent
        """

        on_wait: Value
        """Time for all parts of a run of --on to come and be ready, also in a queue"""

        users: Value
        """Users of a closed load: of the first trial, as --from; the scenario's if absent"""

        think: Value
        """Think time: from the end of a page to the user's next [default: 0s]"""

        target: Value
        """URL of the server; the scenario's or the built-in server if absent"""

        plane: Value
        """Carrier of the traffic: sockets, emulated or simulated [default: sockets]"""

        method: Value
        """Method of the request; GET if absent, or POST with a body"""

        header: Value
        """A header of the request, `Name: value`; may be repeated"""

        body: Value
        """Body of the request, or `@FILE` for that of a file; none if absent"""

        http: Value
        """HTTP version: 1.0, 1.1, 2, 3, or auto as browsers do [default: auto]"""

        policy: Value
        """Use of connections by users: one-request, persistent, early-close, pipelined, pipelined-early-
        close, multiplexed or shared-pool [default: persistent]
        """

        parallel: Value
        """The most connections that a user has open at once [default: 1]"""

        source: Value
        """Local addresses that connections come from, one after the other; may be repeated. If absent,
        all of 127.0.0.0/8 for a target there, and else as the kernel chooses
        """

        connect_to: Value
        """Connect to OTHER-HOST and OTHER-PORT in place of HOST and PORT, as curl does; requests, SNI
        and the certificate keep the name. What is empty is any, or as it was; may be repeated
        """

        resolve: Value
        """Take ADDRESS, or several with commas between, for HOST, as curl does; may be repeated"""

        addresses: Value
        """Addresses of the target's name that connections go to: the first that answers, all in turn, or
        the one that the name has when a connection is opened [default: first]
        """

        unix_socket: Value
        """Connect to the Unix socket at PATH, or to @NAME, as curl does; the URL says host and path. If
        absent, TCP
        """

        proxy: Value
        """Connect to the proxy at URL, `http://[user:password@]host:port`, as curl does: it is asked for
        http in absolute form, and for a tunnel (CONNECT) for https; no proxy if absent
        """

        cacert: Value
        """PEM file of the CA of the server's certificate; the system's if absent"""

        cert: Value
        """PEM file of the certificates that users have for an https server that asks for one; none if
        absent
        """

        key: Value
        """PEM file of their private keys; that of the certificates if absent"""

        rtt: Value
        """Round-trip time between clients and the server, emulated; none if absent"""

        access: Value
        """Access link of clients, such as dsl, fibre, 4g or modem-56k; none if absent"""

        gateway: Value
        """Kind of gateway between clients and the server: auto, tun or packet; auto if absent"""

        clients: Value
        """Emulated clients, each with an address and a path; none if absent"""

        shards: Value
        """Number of threads that share the emulated clients; 1 if absent"""

        server: Value
        """Command that starts the server; the built-in server if absent"""

        server_pid: Value
        """Process of a server that runs already, in a network namespace of its own; one is started, or
        reached by the URL, if absent
        """

        server_netns: Value
        """Network namespace of a server that runs already: a name of `ip netns`, or a file; this one if
        absent
        """

        container: Value
        """Container of a server that runs already; none if absent"""

        interface: Value
        """Network card that leads to a server on another machine; none if absent"""

        server_cpu: Value
        """The most processor time that the started server may take, in processors, such as 0.2; no limit
        if absent
        """

        server_memory: Value
        """The most memory that the started server may take, such as 64MiB; no limit if absent"""

        server_user: Value
        """System user that the started server runs as; only root can set another; the one who runs
        farfield if absent
        """

        workers: Value
        """Worker threads; by the number of processors if absent"""

        processors: Value
        """Processors that farfield runs on, such as 1 or 0,2; all that it may use if absent"""

        seed: Value
        """Seed of all random numbers [default: 1]"""

        insecure: bool
        """Accept any certificate of the server; every output says so"""

        capture: Value
        name: Value
        note: Value
        requests: Value

    class CompareKeywords(TypedDict, total=False):
        """Flags of `farfield compare`."""

        metric: Value
        """A further metric: p95, p99(service), mean(connect), …; p99{mobile} is of a class, flow, host,
        stage or state of that name; may be repeated
        """

        fail_if: Value
        """Exit with 99 if a metric has changed by more than this, such as 'p99 +5%' or 'rate -3%', of
        errors in percentage points; may be repeated
        """

    class FitKeywords(TypedDict, total=False):
        """Flags of `farfield fit`."""

        transfer: Value
        """Unit of a transfer time that follows the usual fields; in an extended log, the unit of time-
        taken, by default seconds, or milliseconds if its #Software line is Microsoft's
        """

        field: Value
        """A field of JSON lines, such as client=request.remote_ip; one of time, client, agent, method,
        path, request, referrer, status, bytes, transfer. May be repeated
        """

        t_min: Value
        """A request sooner than this after the one before belongs to its page"""

        t_max: Value
        """A request later than this after the one before begins a session"""

        seed: Value
        """Seed of all random choices"""

        target: Value
        """URL of a server that has the log's own paths: the scenario then requests these. Without it,
        the scenario requests the site in site.json, which the built-in server serves, and any other
        server once `farfield site make` has written its files (absent: that site)
        """

        speed: Value
        """Factor by which sessions arrive, and users think, faster than in the log. By default 1, or
        more if ten minutes would then contain next to nothing
        """

        objects: Value
        """The most objects that the scenario and the site have; the most popular ones are kept"""

        keep_query: bool
        """Treat URLs that differ only in their query as different objects"""

        stamped_at_end: bool
        """The log's times are the ends of requests, as nginx writes them"""

        single_distributions: bool
        """Try single distributions only, no mixtures, which is much faster"""

        course: bool
        """Let the rate of sessions vary as in the log, for as long as the log; by default it is the
        mean, for ten minutes at most
        """

    class ServeKeywords(TypedDict, total=False):
        """Flags of `farfield serve`."""

        cert: Value
        """PEM file of the certificate to serve over TLS with; one is made if absent"""

        key: Value
        """PEM file of the certificate's key; the certificate's file if absent"""

        threads: Value
        """Number of event loops [default: 1]"""

        service_time: Value
        """Time to serve each request [default: 0s]"""

        servers: Value
        """The most requests served at once; the others wait; no limit if absent"""

        error_rate: Value
        """The share of requests answered with 503 [default: 0]"""

        stall: Value
        """Serve nothing for a time in every period, such as '500ms every 5s'; no stalls if absent"""

        hiccup: Value
        """Serve nothing for a time, once, such as '2s at 3s' after the first request; not if absent"""

        slow_tail: Value
        """Take longer to serve a share of the requests, such as '1% take 200ms'; none if absent"""

        slow_start: Value
        """Take longer at first, and less and less so, such as '100ms for 3s'; not if absent"""

        accept_limit: Value
        """The most connections held at once; others wait in the kernel's accept queue; no limit if
        absent
        """

        backlog: Value
        """Length of that queue [default: 4096]"""

        keep_alive_timeout: Value
        """Time after which an idle connection is closed; never if absent"""

        keep_alive_requests: Value
        """The most requests served on one connection; no limit if absent"""

        seed: Value
        """Seed of the pages and of the errors [default: 1]"""

        config: Value
        """Any key of a scenario's `origin` table, as TOML; other flags outrank it; none if absent"""

        tls: bool
        """Serve over TLS, with a certificate that is made at the start"""

#: Flags of each command by their keyword, and whether they take a value.
FLAGS: Mapping[str, Mapping[str, Tuple[str, bool]]] = {
    "run": {
        "users": ("users", True),
        "rate": ("rate", True),
        "stages": ("stages", True),
        "duration": ("duration", True),
        "requests": ("requests", True),
        "sessions": ("sessions", True),
        "think": ("think", True),
        "warm_up": ("warm-up", True),
        "cool_down": ("cool-down", True),
        "part": ("part", True),
        "start_at": ("start-at", True),
        "target": ("target", True),
        "plane": ("plane", True),
        "method": ("method", True),
        "header": ("header", True),
        "body": ("body", True),
        "http": ("http", True),
        "policy": ("policy", True),
        "parallel": ("parallel", True),
        "source": ("source", True),
        "connect_to": ("connect-to", True),
        "resolve": ("resolve", True),
        "addresses": ("addresses", True),
        "unix_socket": ("unix-socket", True),
        "proxy": ("proxy", True),
        "cacert": ("cacert", True),
        "cert": ("cert", True),
        "key": ("key", True),
        "rtt": ("rtt", True),
        "access": ("access", True),
        "gateway": ("gateway", True),
        "clients": ("clients", True),
        "shards": ("shards", True),
        "server": ("server", True),
        "server_pid": ("server-pid", True),
        "server_netns": ("server-netns", True),
        "container": ("container", True),
        "interface": ("interface", True),
        "server_cpu": ("server-cpu", True),
        "server_memory": ("server-memory", True),
        "server_user": ("server-user", True),
        "workers": ("workers", True),
        "processors": ("processors", True),
        "seed": ("seed", True),
        "beside": ("beside", True),
        "join": ("join", True),
        "ticket": ("ticket", True),
        "join_within": ("join-within", True),
        "on": ("on", True),
        "on_ssh": ("on-ssh", True),
        "on_listen": ("on-listen", True),
        "on_wait": ("on-wait", True),
        "threshold": ("threshold", True),
        "abort": ("abort", True),
        "name": ("name", True),
        "note": ("note", True),
        "samples": ("samples", True),
        "metrics": ("metrics", True),
        "metrics_push": ("metrics-push", True),
        "metrics_otlp": ("metrics-otlp", True),
        "ui": ("ui", True),
        "starts_only": ("starts-only", True),
        "set_aside": ("set-aside", False),
        "insecure": ("insecure", False),
        "capture": ("capture", False),
        "no_report": ("no-report", False),
        "no_monitor": ("no-monitor", False),
    },
    "sweep": {
        "jobs": ("jobs", True),
        "metric": ("metric", True),
        "repeats": ("repeats", True),
        "until": ("until", True),
        "repeats_max": ("repeats-max", True),
        "length_max": ("length-max", True),
        "budget": ("budget", True),
        "on": ("on", True),
        "on_ssh": ("on-ssh", True),
        "on_listen": ("on-listen", True),
        "on_wait": ("on-wait", True),
        "users": ("users", True),
        "rate": ("rate", True),
        "stages": ("stages", True),
        "duration": ("duration", True),
        "requests": ("requests", True),
        "sessions": ("sessions", True),
        "think": ("think", True),
        "warm_up": ("warm-up", True),
        "cool_down": ("cool-down", True),
        "part": ("part", True),
        "start_at": ("start-at", True),
        "target": ("target", True),
        "plane": ("plane", True),
        "method": ("method", True),
        "header": ("header", True),
        "body": ("body", True),
        "http": ("http", True),
        "policy": ("policy", True),
        "parallel": ("parallel", True),
        "source": ("source", True),
        "connect_to": ("connect-to", True),
        "resolve": ("resolve", True),
        "addresses": ("addresses", True),
        "unix_socket": ("unix-socket", True),
        "proxy": ("proxy", True),
        "cacert": ("cacert", True),
        "cert": ("cert", True),
        "key": ("key", True),
        "rtt": ("rtt", True),
        "access": ("access", True),
        "gateway": ("gateway", True),
        "clients": ("clients", True),
        "shards": ("shards", True),
        "server": ("server", True),
        "server_pid": ("server-pid", True),
        "server_netns": ("server-netns", True),
        "container": ("container", True),
        "interface": ("interface", True),
        "server_cpu": ("server-cpu", True),
        "server_memory": ("server-memory", True),
        "server_user": ("server-user", True),
        "workers": ("workers", True),
        "processors": ("processors", True),
        "seed": ("seed", True),
        "one_at_a_time": ("one-at-a-time", False),
        "set_aside": ("set-aside", False),
        "insecure": ("insecure", False),
    },
    "capacity": {
        "slo": ("slo", True),
        "peak": ("peak", True),
        "from_": ("from", True),
        "to": ("to", True),
        "generator_limit": ("generator-limit", True),
        "budget": ("budget", True),
        "precision": ("precision", True),
        "duration": ("duration", True),
        "warm_up": ("warm-up", True),
        "on": ("on", True),
        "on_ssh": ("on-ssh", True),
        "on_listen": ("on-listen", True),
        "on_wait": ("on-wait", True),
        "users": ("users", True),
        "think": ("think", True),
        "target": ("target", True),
        "plane": ("plane", True),
        "method": ("method", True),
        "header": ("header", True),
        "body": ("body", True),
        "http": ("http", True),
        "policy": ("policy", True),
        "parallel": ("parallel", True),
        "source": ("source", True),
        "connect_to": ("connect-to", True),
        "resolve": ("resolve", True),
        "addresses": ("addresses", True),
        "unix_socket": ("unix-socket", True),
        "proxy": ("proxy", True),
        "cacert": ("cacert", True),
        "cert": ("cert", True),
        "key": ("key", True),
        "rtt": ("rtt", True),
        "access": ("access", True),
        "gateway": ("gateway", True),
        "clients": ("clients", True),
        "shards": ("shards", True),
        "server": ("server", True),
        "server_pid": ("server-pid", True),
        "server_netns": ("server-netns", True),
        "container": ("container", True),
        "interface": ("interface", True),
        "server_cpu": ("server-cpu", True),
        "server_memory": ("server-memory", True),
        "server_user": ("server-user", True),
        "workers": ("workers", True),
        "processors": ("processors", True),
        "seed": ("seed", True),
        "insecure": ("insecure", False),
    },
    "compare": {
        "metric": ("metric", True),
        "fail_if": ("fail-if", True),
    },
    "fit": {
        "transfer": ("transfer", True),
        "field": ("field", True),
        "t_min": ("t-min", True),
        "t_max": ("t-max", True),
        "seed": ("seed", True),
        "target": ("target", True),
        "speed": ("speed", True),
        "objects": ("objects", True),
        "keep_query": ("keep-query", False),
        "stamped_at_end": ("stamped-at-end", False),
        "single_distributions": ("single-distributions", False),
        "course": ("course", False),
    },
    "serve": {
        "cert": ("cert", True),
        "key": ("key", True),
        "threads": ("threads", True),
        "service_time": ("service-time", True),
        "servers": ("servers", True),
        "error_rate": ("error-rate", True),
        "stall": ("stall", True),
        "hiccup": ("hiccup", True),
        "slow_tail": ("slow-tail", True),
        "slow_start": ("slow-start", True),
        "accept_limit": ("accept-limit", True),
        "backlog": ("backlog", True),
        "keep_alive_timeout": ("keep-alive-timeout", True),
        "keep_alive_requests": ("keep-alive-requests", True),
        "seed": ("seed", True),
        "config": ("config", True),
        "tls": ("tls", False),
    },
}

#: Keys of a scenario by their keyword.
KEYS: Dict[str, str] = {
    "aborts": "aborts",
    "capture": "capture",
    "capture_buffer": "capture.buffer",
    "capture_clients": "capture.clients",
    "capture_filter": "capture.filter",
    "capture_filter_clients": "capture.filter.clients",
    "capture_filter_port": "capture.filter.port",
    "capture_gateway": "capture.gateway",
    "capture_kernel": "capture.kernel",
    "capture_snap": "capture.snap",
    "capture_verify": "capture.verify",
    "connections": "connections",
    "connections_abandon_after": "connections.abandon-after",
    "connections_addresses": "connections.addresses",
    "connections_expect_timeout": "connections.expect-timeout",
    "connections_head_fields": "connections.head-fields",
    "connections_head_limit": "connections.head-limit",
    "connections_parallel": "connections.parallel",
    "connections_pause_after_failure": "connections.pause-after-failure",
    "connections_pipeline_depth": "connections.pipeline-depth",
    "connections_policy": "connections.policy",
    "connections_pool_idle": "connections.pool-idle",
    "connections_pool_keep_alive": "connections.pool-keep-alive",
    "connections_proxy": "connections.proxy",
    "connections_request_timeout": "connections.request-timeout",
    "connections_requests_per_connection": "connections.requests-per-connection",
    "connections_resolve_every": "connections.resolve-every",
    "connections_streams": "connections.streams",
    "connections_unix_socket": "connections.unix-socket",
    "events": "events",
    "events_by": "events.by",
    "events_leave_after": "events.leave-after",
    "events_leave_at": "events.leave-at",
    "events_stall": "events.stall",
    "flow": "flow",
    "host": "host",
    "http": "http",
    "load": "load",
    "load_active_off": "load.active-off",
    "load_active_off_distribution": "load.active-off.distribution",
    "load_active_off_exponent": "load.active-off.exponent",
    "load_active_off_file": "load.active-off.file",
    "load_active_off_max": "load.active-off.max",
    "load_active_off_mean": "load.active-off.mean",
    "load_active_off_min": "load.active-off.min",
    "load_active_off_mu": "load.active-off.mu",
    "load_active_off_n": "load.active-off.n",
    "load_active_off_of": "load.active-off.of",
    "load_active_off_p": "load.active-off.p",
    "load_active_off_parts": "load.active-off.parts",
    "load_active_off_rate": "load.active-off.rate",
    "load_active_off_scale": "load.active-off.scale",
    "load_active_off_shape": "load.active-off.shape",
    "load_active_off_sigma": "load.active-off.sigma",
    "load_active_off_value": "load.active-off.value",
    "load_active_off_values": "load.active-off.values",
    "load_arrivals": "load.arrivals",
    "load_arrivals_at": "load.arrivals.at",
    "load_arrivals_course": "load.arrivals.course",
    "load_arrivals_day": "load.arrivals.day",
    "load_arrivals_decay": "load.arrivals.decay",
    "load_arrivals_deviation": "load.arrivals.deviation",
    "load_arrivals_factor": "load.arrivals.factor",
    "load_arrivals_file": "load.arrivals.file",
    "load_arrivals_for": "load.arrivals.for",
    "load_arrivals_from": "load.arrivals.from",
    "load_arrivals_gaps": "load.arrivals.gaps",
    "load_arrivals_gaps_distribution": "load.arrivals.gaps.distribution",
    "load_arrivals_gaps_exponent": "load.arrivals.gaps.exponent",
    "load_arrivals_gaps_file": "load.arrivals.gaps.file",
    "load_arrivals_gaps_max": "load.arrivals.gaps.max",
    "load_arrivals_gaps_mean": "load.arrivals.gaps.mean",
    "load_arrivals_gaps_min": "load.arrivals.gaps.min",
    "load_arrivals_gaps_mu": "load.arrivals.gaps.mu",
    "load_arrivals_gaps_n": "load.arrivals.gaps.n",
    "load_arrivals_gaps_of": "load.arrivals.gaps.of",
    "load_arrivals_gaps_p": "load.arrivals.gaps.p",
    "load_arrivals_gaps_parts": "load.arrivals.gaps.parts",
    "load_arrivals_gaps_rate": "load.arrivals.gaps.rate",
    "load_arrivals_gaps_scale": "load.arrivals.gaps.scale",
    "load_arrivals_gaps_shape": "load.arrivals.gaps.shape",
    "load_arrivals_gaps_sigma": "load.arrivals.gaps.sigma",
    "load_arrivals_gaps_value": "load.arrivals.gaps.value",
    "load_arrivals_gaps_values": "load.arrivals.gaps.values",
    "load_arrivals_hurst": "load.arrivals.hurst",
    "load_arrivals_length": "load.arrivals.length",
    "load_arrivals_length_distribution": "load.arrivals.length.distribution",
    "load_arrivals_length_max": "load.arrivals.length.max",
    "load_arrivals_length_mean": "load.arrivals.length.mean",
    "load_arrivals_length_min": "load.arrivals.length.min",
    "load_arrivals_length_mu": "load.arrivals.length.mu",
    "load_arrivals_length_scale": "load.arrivals.length.scale",
    "load_arrivals_length_shape": "load.arrivals.length.shape",
    "load_arrivals_length_sigma": "load.arrivals.length.sigma",
    "load_arrivals_length_value": "load.arrivals.length.value",
    "load_arrivals_loop": "load.arrivals.loop",
    "load_arrivals_marginal": "load.arrivals.marginal",
    "load_arrivals_off": "load.arrivals.off",
    "load_arrivals_off_distribution": "load.arrivals.off.distribution",
    "load_arrivals_off_max": "load.arrivals.off.max",
    "load_arrivals_off_mean": "load.arrivals.off.mean",
    "load_arrivals_off_min": "load.arrivals.off.min",
    "load_arrivals_off_mu": "load.arrivals.off.mu",
    "load_arrivals_off_scale": "load.arrivals.off.scale",
    "load_arrivals_off_shape": "load.arrivals.off.shape",
    "load_arrivals_off_sigma": "load.arrivals.off.sigma",
    "load_arrivals_off_value": "load.arrivals.off.value",
    "load_arrivals_on": "load.arrivals.on",
    "load_arrivals_on_distribution": "load.arrivals.on.distribution",
    "load_arrivals_on_max": "load.arrivals.on.max",
    "load_arrivals_on_mean": "load.arrivals.on.mean",
    "load_arrivals_on_min": "load.arrivals.on.min",
    "load_arrivals_on_mu": "load.arrivals.on.mu",
    "load_arrivals_on_scale": "load.arrivals.on.scale",
    "load_arrivals_on_shape": "load.arrivals.on.shape",
    "load_arrivals_on_sigma": "load.arrivals.on.sigma",
    "load_arrivals_on_value": "load.arrivals.on.value",
    "load_arrivals_period": "load.arrivals.period",
    "load_arrivals_process": "load.arrivals.process",
    "load_arrivals_profile": "load.arrivals.profile",
    "load_arrivals_rate": "load.arrivals.rate",
    "load_arrivals_rates": "load.arrivals.rates",
    "load_arrivals_segments": "load.arrivals.segments",
    "load_arrivals_sessions": "load.arrivals.sessions",
    "load_arrivals_share": "load.arrivals.share",
    "load_arrivals_slot": "load.arrivals.slot",
    "load_arrivals_sources": "load.arrivals.sources",
    "load_arrivals_spacing": "load.arrivals.spacing",
    "load_arrivals_stages": "load.arrivals.stages",
    "load_arrivals_stay": "load.arrivals.stay",
    "load_arrivals_to": "load.arrivals.to",
    "load_arrivals_transitions": "load.arrivals.transitions",
    "load_arrivals_within": "load.arrivals.within",
    "load_descriptors": "load.descriptors",
    "load_established_max": "load.established-max",
    "load_model": "load.model",
    "load_ramp": "load.ramp",
    "load_requests": "load.requests",
    "load_requests_distribution": "load.requests.distribution",
    "load_requests_exponent": "load.requests.exponent",
    "load_requests_file": "load.requests.file",
    "load_requests_max": "load.requests.max",
    "load_requests_mean": "load.requests.mean",
    "load_requests_min": "load.requests.min",
    "load_requests_mu": "load.requests.mu",
    "load_requests_n": "load.requests.n",
    "load_requests_of": "load.requests.of",
    "load_requests_p": "load.requests.p",
    "load_requests_parts": "load.requests.parts",
    "load_requests_rate": "load.requests.rate",
    "load_requests_scale": "load.requests.scale",
    "load_requests_shape": "load.requests.shape",
    "load_requests_sigma": "load.requests.sigma",
    "load_requests_value": "load.requests.value",
    "load_requests_values": "load.requests.values",
    "load_restart": "load.restart",
    "load_spacing": "load.spacing",
    "load_stages": "load.stages",
    "load_think": "load.think",
    "load_think_distribution": "load.think.distribution",
    "load_think_exponent": "load.think.exponent",
    "load_think_file": "load.think.file",
    "load_think_max": "load.think.max",
    "load_think_mean": "load.think.mean",
    "load_think_min": "load.think.min",
    "load_think_mu": "load.think.mu",
    "load_think_n": "load.think.n",
    "load_think_of": "load.think.of",
    "load_think_p": "load.think.p",
    "load_think_parts": "load.think.parts",
    "load_think_rate": "load.think.rate",
    "load_think_scale": "load.think.scale",
    "load_think_shape": "load.think.shape",
    "load_think_sigma": "load.think.sigma",
    "load_think_value": "load.think.value",
    "load_think_values": "load.think.values",
    "load_timeout": "load.timeout",
    "load_users": "load.users",
    "load_users_max": "load.users-max",
    "monitor": "monitor",
    "monitor_pid": "monitor.pid",
    "monitor_prometheus": "monitor.prometheus",
    "monitor_tier": "monitor.tier",
    "name": "name",
    "network": "network",
    "network_access": "network.access",
    "network_addresses": "network.addresses",
    "network_backbone": "network.backbone",
    "network_backbone_access": "network.backbone.access",
    "network_backbone_access_up": "network.backbone.access-up",
    "network_backbone_backbone": "network.backbone.backbone",
    "network_backbone_delay": "network.backbone.delay",
    "network_backbone_hosts": "network.backbone.hosts",
    "network_backbone_local_delay": "network.backbone.local-delay",
    "network_backbone_mtu": "network.backbone.mtu",
    "network_backbone_queue": "network.backbone.queue",
    "network_backbone_queue_alpha": "network.backbone.queue.alpha",
    "network_backbone_queue_beta": "network.backbone.queue.beta",
    "network_backbone_queue_burst": "network.backbone.queue.burst",
    "network_backbone_queue_discipline": "network.backbone.queue.discipline",
    "network_backbone_queue_ecn": "network.backbone.queue.ecn",
    "network_backbone_queue_gentle": "network.backbone.queue.gentle",
    "network_backbone_queue_interval": "network.backbone.queue.interval",
    "network_backbone_queue_limit": "network.backbone.queue.limit",
    "network_backbone_queue_max": "network.backbone.queue.max",
    "network_backbone_queue_mean_packet": "network.backbone.queue.mean-packet",
    "network_backbone_queue_min": "network.backbone.queue.min",
    "network_backbone_queue_probability": "network.backbone.queue.probability",
    "network_backbone_queue_quantum": "network.backbone.queue.quantum",
    "network_backbone_queue_queues": "network.backbone.queue.queues",
    "network_backbone_queue_target": "network.backbone.queue.target",
    "network_backbone_queue_update": "network.backbone.queue.update",
    "network_backbone_queue_weight": "network.backbone.queue.weight",
    "network_backbone_subnets": "network.backbone.subnets",
    "network_busy_poll": "network.busy-poll",
    "network_change": "network.change",
    "network_class": "network.class",
    "network_clients": "network.clients",
    "network_cross_traffic": "network.cross-traffic",
    "network_gateway": "network.gateway",
    "network_gateway_queue": "network.gateway-queue",
    "network_interface": "network.interface",
    "network_mac": "network.mac",
    "network_next_hop": "network.next-hop",
    "network_offload": "network.offload",
    "network_processors": "network.processors",
    "network_program": "network.program",
    "network_real_time": "network.real-time",
    "network_rtt": "network.rtt",
    "network_server": "network.server",
    "network_shards": "network.shards",
    "network_shared": "network.shared",
    "network_shared_down": "network.shared.down",
    "network_shared_down_corrupt": "network.shared.down.corrupt",
    "network_shared_down_delay": "network.shared.down.delay",
    "network_shared_down_duplicate": "network.shared.down.duplicate",
    "network_shared_down_jitter": "network.shared.down.jitter",
    "network_shared_down_jitter_distribution": "network.shared.down.jitter.distribution",
    "network_shared_down_jitter_exponent": "network.shared.down.jitter.exponent",
    "network_shared_down_jitter_file": "network.shared.down.jitter.file",
    "network_shared_down_jitter_max": "network.shared.down.jitter.max",
    "network_shared_down_jitter_mean": "network.shared.down.jitter.mean",
    "network_shared_down_jitter_min": "network.shared.down.jitter.min",
    "network_shared_down_jitter_mu": "network.shared.down.jitter.mu",
    "network_shared_down_jitter_n": "network.shared.down.jitter.n",
    "network_shared_down_jitter_of": "network.shared.down.jitter.of",
    "network_shared_down_jitter_p": "network.shared.down.jitter.p",
    "network_shared_down_jitter_parts": "network.shared.down.jitter.parts",
    "network_shared_down_jitter_rate": "network.shared.down.jitter.rate",
    "network_shared_down_jitter_scale": "network.shared.down.jitter.scale",
    "network_shared_down_jitter_shape": "network.shared.down.jitter.shape",
    "network_shared_down_jitter_sigma": "network.shared.down.jitter.sigma",
    "network_shared_down_jitter_value": "network.shared.down.jitter.value",
    "network_shared_down_jitter_values": "network.shared.down.jitter.values",
    "network_shared_down_loss": "network.shared.down.loss",
    "network_shared_down_loss_loss_bad": "network.shared.down.loss.loss-bad",
    "network_shared_down_loss_loss_good": "network.shared.down.loss.loss-good",
    "network_shared_down_loss_model": "network.shared.down.loss.model",
    "network_shared_down_loss_per": "network.shared.down.loss.per",
    "network_shared_down_loss_rate": "network.shared.down.loss.rate",
    "network_shared_down_loss_to_bad": "network.shared.down.loss.to-bad",
    "network_shared_down_loss_to_good": "network.shared.down.loss.to-good",
    "network_shared_down_mtu": "network.shared.down.mtu",
    "network_shared_down_overhead": "network.shared.down.overhead",
    "network_shared_down_path_profile": "network.shared.down.path-profile",
    "network_shared_down_queue": "network.shared.down.queue",
    "network_shared_down_queue_alpha": "network.shared.down.queue.alpha",
    "network_shared_down_queue_beta": "network.shared.down.queue.beta",
    "network_shared_down_queue_burst": "network.shared.down.queue.burst",
    "network_shared_down_queue_discipline": "network.shared.down.queue.discipline",
    "network_shared_down_queue_ecn": "network.shared.down.queue.ecn",
    "network_shared_down_queue_gentle": "network.shared.down.queue.gentle",
    "network_shared_down_queue_interval": "network.shared.down.queue.interval",
    "network_shared_down_queue_limit": "network.shared.down.queue.limit",
    "network_shared_down_queue_max": "network.shared.down.queue.max",
    "network_shared_down_queue_mean_packet": "network.shared.down.queue.mean-packet",
    "network_shared_down_queue_min": "network.shared.down.queue.min",
    "network_shared_down_queue_probability": "network.shared.down.queue.probability",
    "network_shared_down_queue_quantum": "network.shared.down.queue.quantum",
    "network_shared_down_queue_queues": "network.shared.down.queue.queues",
    "network_shared_down_queue_target": "network.shared.down.queue.target",
    "network_shared_down_queue_update": "network.shared.down.queue.update",
    "network_shared_down_queue_weight": "network.shared.down.queue.weight",
    "network_shared_down_rate": "network.shared.down.rate",
    "network_shared_down_reorder": "network.shared.down.reorder",
    "network_shared_down_trace": "network.shared.down.trace",
    "network_shared_down_unreachable": "network.shared.down.unreachable",
    "network_shared_down_unreachable_answer": "network.shared.down.unreachable.answer",
    "network_shared_down_unreachable_from": "network.shared.down.unreachable.from",
    "network_shared_down_unreachable_to": "network.shared.down.unreachable.to",
    "network_shared_rtt": "network.shared.rtt",
    "network_shared_up": "network.shared.up",
    "network_shared_up_corrupt": "network.shared.up.corrupt",
    "network_shared_up_delay": "network.shared.up.delay",
    "network_shared_up_duplicate": "network.shared.up.duplicate",
    "network_shared_up_jitter": "network.shared.up.jitter",
    "network_shared_up_jitter_distribution": "network.shared.up.jitter.distribution",
    "network_shared_up_jitter_exponent": "network.shared.up.jitter.exponent",
    "network_shared_up_jitter_file": "network.shared.up.jitter.file",
    "network_shared_up_jitter_max": "network.shared.up.jitter.max",
    "network_shared_up_jitter_mean": "network.shared.up.jitter.mean",
    "network_shared_up_jitter_min": "network.shared.up.jitter.min",
    "network_shared_up_jitter_mu": "network.shared.up.jitter.mu",
    "network_shared_up_jitter_n": "network.shared.up.jitter.n",
    "network_shared_up_jitter_of": "network.shared.up.jitter.of",
    "network_shared_up_jitter_p": "network.shared.up.jitter.p",
    "network_shared_up_jitter_parts": "network.shared.up.jitter.parts",
    "network_shared_up_jitter_rate": "network.shared.up.jitter.rate",
    "network_shared_up_jitter_scale": "network.shared.up.jitter.scale",
    "network_shared_up_jitter_shape": "network.shared.up.jitter.shape",
    "network_shared_up_jitter_sigma": "network.shared.up.jitter.sigma",
    "network_shared_up_jitter_value": "network.shared.up.jitter.value",
    "network_shared_up_jitter_values": "network.shared.up.jitter.values",
    "network_shared_up_loss": "network.shared.up.loss",
    "network_shared_up_loss_loss_bad": "network.shared.up.loss.loss-bad",
    "network_shared_up_loss_loss_good": "network.shared.up.loss.loss-good",
    "network_shared_up_loss_model": "network.shared.up.loss.model",
    "network_shared_up_loss_per": "network.shared.up.loss.per",
    "network_shared_up_loss_rate": "network.shared.up.loss.rate",
    "network_shared_up_loss_to_bad": "network.shared.up.loss.to-bad",
    "network_shared_up_loss_to_good": "network.shared.up.loss.to-good",
    "network_shared_up_mtu": "network.shared.up.mtu",
    "network_shared_up_overhead": "network.shared.up.overhead",
    "network_shared_up_path_profile": "network.shared.up.path-profile",
    "network_shared_up_queue": "network.shared.up.queue",
    "network_shared_up_queue_alpha": "network.shared.up.queue.alpha",
    "network_shared_up_queue_beta": "network.shared.up.queue.beta",
    "network_shared_up_queue_burst": "network.shared.up.queue.burst",
    "network_shared_up_queue_discipline": "network.shared.up.queue.discipline",
    "network_shared_up_queue_ecn": "network.shared.up.queue.ecn",
    "network_shared_up_queue_gentle": "network.shared.up.queue.gentle",
    "network_shared_up_queue_interval": "network.shared.up.queue.interval",
    "network_shared_up_queue_limit": "network.shared.up.queue.limit",
    "network_shared_up_queue_max": "network.shared.up.queue.max",
    "network_shared_up_queue_mean_packet": "network.shared.up.queue.mean-packet",
    "network_shared_up_queue_min": "network.shared.up.queue.min",
    "network_shared_up_queue_probability": "network.shared.up.queue.probability",
    "network_shared_up_queue_quantum": "network.shared.up.queue.quantum",
    "network_shared_up_queue_queues": "network.shared.up.queue.queues",
    "network_shared_up_queue_target": "network.shared.up.queue.target",
    "network_shared_up_queue_update": "network.shared.up.queue.update",
    "network_shared_up_queue_weight": "network.shared.up.queue.weight",
    "network_shared_up_rate": "network.shared.up.rate",
    "network_shared_up_reorder": "network.shared.up.reorder",
    "network_shared_up_trace": "network.shared.up.trace",
    "network_shared_up_unreachable": "network.shared.up.unreachable",
    "network_shared_up_unreachable_answer": "network.shared.up.unreachable.answer",
    "network_shared_up_unreachable_from": "network.shared.up.unreachable.from",
    "network_shared_up_unreachable_to": "network.shared.up.unreachable.to",
    "network_tcp": "network.tcp",
    "network_tcp_abandon_after": "network.tcp.abandon-after",
    "network_tcp_congestion": "network.tcp.congestion",
    "network_tcp_delayed_ack": "network.tcp.delayed-ack",
    "network_tcp_delayed_ack_delay": "network.tcp.delayed-ack.delay",
    "network_tcp_delayed_ack_heartbeat": "network.tcp.delayed-ack.heartbeat",
    "network_tcp_delayed_ack_quick_segments": "network.tcp.delayed-ack.quick-segments",
    "network_tcp_ecn": "network.tcp.ecn",
    "network_tcp_fin_wait_2": "network.tcp.fin-wait-2",
    "network_tcp_initial_window": "network.tcp.initial-window",
    "network_tcp_limited_transmit": "network.tcp.limited-transmit",
    "network_tcp_mss": "network.tcp.mss",
    "network_tcp_nagle": "network.tcp.nagle",
    "network_tcp_profile": "network.tcp.profile",
    "network_tcp_reassembly_max": "network.tcp.reassembly-max",
    "network_tcp_receive_buffer": "network.tcp.receive-buffer",
    "network_tcp_receive_buffer_initial": "network.tcp.receive-buffer.initial",
    "network_tcp_receive_buffer_max": "network.tcp.receive-buffer.max",
    "network_tcp_recovery": "network.tcp.recovery",
    "network_tcp_rto": "network.tcp.rto",
    "network_tcp_rto_granularity": "network.tcp.rto.granularity",
    "network_tcp_rto_initial": "network.tcp.rto.initial",
    "network_tcp_rto_max": "network.tcp.rto.max",
    "network_tcp_rto_min": "network.tcp.rto.min",
    "network_tcp_sack": "network.tcp.sack",
    "network_tcp_slow_start": "network.tcp.slow-start",
    "network_tcp_syn": "network.tcp.syn",
    "network_tcp_syn_ack": "network.tcp.syn-ack",
    "network_tcp_time_wait": "network.tcp.time-wait",
    "network_tcp_timestamps": "network.tcp.timestamps",
    "network_tcp_window_scaling": "network.tcp.window-scaling",
    "network_topology": "network.topology",
    "network_topology_hosts": "network.topology.hosts",
    "network_topology_links": "network.topology.links",
    "network_topology_routers": "network.topology.routers",
    "network_topology_routing": "network.topology.routing",
    "network_topology_server": "network.topology.server",
    "network_topology_switches": "network.topology.switches",
    "note": "note",
    "origin": "origin",
    "origin_accept_limit": "origin.accept-limit",
    "origin_alt_svc": "origin.alt-svc",
    "origin_backlog": "origin.backlog",
    "origin_bind": "origin.bind",
    "origin_certificate": "origin.certificate",
    "origin_early_data": "origin.early-data",
    "origin_error_rate": "origin.error-rate",
    "origin_hiccup": "origin.hiccup",
    "origin_keep_alive_requests": "origin.keep-alive-requests",
    "origin_keep_alive_timeout": "origin.keep-alive-timeout",
    "origin_key": "origin.key",
    "origin_root": "origin.root",
    "origin_seed": "origin.seed",
    "origin_servers": "origin.servers",
    "origin_service_time": "origin.service-time",
    "origin_site": "origin.site",
    "origin_site_median_object_size": "origin.site.median-object-size",
    "origin_site_objects_per_page": "origin.site.objects-per-page",
    "origin_site_pages": "origin.site.pages",
    "origin_slow_start": "origin.slow-start",
    "origin_slow_tail": "origin.slow-tail",
    "origin_stall": "origin.stall",
    "origin_threads": "origin.threads",
    "origin_tls": "origin.tls",
    "output": "output",
    "output_directory": "output.directory",
    "output_disk_budget": "output.disk-budget",
    "output_report": "output.report",
    "output_samples": "output.samples",
    "plane": "plane",
    "requests": "requests",
    "requests_file": "requests.file",
    "requests_order": "requests.order",
    "requests_request": "requests.request",
    "requests_site": "requests.site",
    "requests_site_seed": "requests.site-seed",
    "run": "run",
    "run_cool_down": "run.cool-down",
    "run_drain": "run.drain",
    "run_duration": "run.duration",
    "run_duration_max": "run.duration-max",
    "run_finish_sessions": "run.finish-sessions",
    "run_part": "run.part",
    "run_requests": "run.requests",
    "run_sessions": "run.sessions",
    "run_set_aside": "run.set-aside",
    "run_start_at": "run.start-at",
    "run_unfinished": "run.unfinished",
    "run_warm_up": "run.warm-up",
    "seed": "seed",
    "server": "server",
    "server_abort_on_overflow": "server.abort-on-overflow",
    "server_command": "server.command",
    "server_congestion": "server.congestion",
    "server_container": "server.container",
    "server_cpu": "server.cpu",
    "server_cpu_of": "server.cpu-of",
    "server_directory": "server.directory",
    "server_environment": "server.environment",
    "server_initial_window": "server.initial-window",
    "server_ipv4": "server.ipv4",
    "server_ipv6": "server.ipv6",
    "server_memory": "server.memory",
    "server_mtu": "server.mtu",
    "server_netns": "server.netns",
    "server_pid": "server.pid",
    "server_port": "server.port",
    "server_processors": "server.processors",
    "server_ready": "server.ready",
    "server_ready_timeout": "server.ready-timeout",
    "server_receive_buffer": "server.receive-buffer",
    "server_receive_processors": "server.receive-processors",
    "server_sack": "server.sack",
    "server_send_buffer": "server.send-buffer",
    "server_settings": "server.settings",
    "server_somaxconn": "server.somaxconn",
    "server_stop_timeout": "server.stop-timeout",
    "server_syn_ack_retries": "server.syn-ack-retries",
    "server_syn_backlog": "server.syn-backlog",
    "server_syn_cookies": "server.syn-cookies",
    "server_timestamps": "server.timestamps",
    "server_user": "server.user",
    "server_window_scaling": "server.window-scaling",
    "session": "session",
    "session_body_limit": "session.body-limit",
    "session_cache": "session.cache",
    "session_clicks": "session.clicks",
    "session_clicks_distribution": "session.clicks.distribution",
    "session_clicks_exponent": "session.clicks.exponent",
    "session_clicks_file": "session.clicks.file",
    "session_clicks_max": "session.clicks.max",
    "session_clicks_mean": "session.clicks.mean",
    "session_clicks_min": "session.clicks.min",
    "session_clicks_mu": "session.clicks.mu",
    "session_clicks_n": "session.clicks.n",
    "session_clicks_of": "session.clicks.of",
    "session_clicks_p": "session.clicks.p",
    "session_clicks_parts": "session.clicks.parts",
    "session_clicks_rate": "session.clicks.rate",
    "session_clicks_scale": "session.clicks.scale",
    "session_clicks_shape": "session.clicks.shape",
    "session_clicks_sigma": "session.clicks.sigma",
    "session_clicks_value": "session.clicks.value",
    "session_clicks_values": "session.clicks.values",
    "session_cookies": "session.cookies",
    "session_data": "session.data",
    "session_entry": "session.entry",
    "session_first": "session.first",
    "session_last": "session.last",
    "session_on_failure": "session.on-failure",
    "session_page_load": "session.page-load",
    "session_path": "session.path",
    "session_redirects": "session.redirects",
    "session_replay": "session.replay",
    "session_replay_fields": "session.replay.fields",
    "session_replay_fields_agent": "session.replay.fields.agent",
    "session_replay_fields_bytes": "session.replay.fields.bytes",
    "session_replay_fields_client": "session.replay.fields.client",
    "session_replay_fields_method": "session.replay.fields.method",
    "session_replay_fields_path": "session.replay.fields.path",
    "session_replay_fields_referrer": "session.replay.fields.referrer",
    "session_replay_fields_request": "session.replay.fields.request",
    "session_replay_fields_status": "session.replay.fields.status",
    "session_replay_fields_time": "session.replay.fields.time",
    "session_replay_fields_transfer": "session.replay.fields.transfer",
    "session_replay_fields_transfer_unit": "session.replay.fields.transfer-unit",
    "session_replay_file": "session.replay.file",
    "session_replay_format": "session.replay.format",
    "session_replay_in_turn": "session.replay.in-turn",
    "session_replay_layout": "session.replay.layout",
    "session_replay_missing_bodies": "session.replay.missing-bodies",
    "session_replay_speed": "session.replay.speed",
    "session_replay_timing": "session.replay.timing",
    "session_set_up": "session.set-up",
    "session_state": "session.state",
    "session_tear_down": "session.tear-down",
    "session_think": "session.think",
    "session_think_distribution": "session.think.distribution",
    "session_think_exponent": "session.think.exponent",
    "session_think_file": "session.think.file",
    "session_think_max": "session.think.max",
    "session_think_mean": "session.think.mean",
    "session_think_min": "session.think.min",
    "session_think_mu": "session.think.mu",
    "session_think_n": "session.think.n",
    "session_think_of": "session.think.of",
    "session_think_p": "session.think.p",
    "session_think_parts": "session.think.parts",
    "session_think_rate": "session.think.rate",
    "session_think_scale": "session.think.scale",
    "session_think_shape": "session.think.shape",
    "session_think_sigma": "session.think.sigma",
    "session_think_value": "session.think.value",
    "session_think_values": "session.think.values",
    "session_transitions": "session.transitions",
    "simulated": "simulated",
    "simulated_backlog": "simulated.backlog",
    "simulated_events": "simulated.events",
    "simulated_events_count": "simulated.events.count",
    "simulated_events_gap": "simulated.events.gap",
    "simulated_events_gap_distribution": "simulated.events.gap.distribution",
    "simulated_events_gap_exponent": "simulated.events.gap.exponent",
    "simulated_events_gap_file": "simulated.events.gap.file",
    "simulated_events_gap_max": "simulated.events.gap.max",
    "simulated_events_gap_mean": "simulated.events.gap.mean",
    "simulated_events_gap_min": "simulated.events.gap.min",
    "simulated_events_gap_mu": "simulated.events.gap.mu",
    "simulated_events_gap_n": "simulated.events.gap.n",
    "simulated_events_gap_of": "simulated.events.gap.of",
    "simulated_events_gap_p": "simulated.events.gap.p",
    "simulated_events_gap_parts": "simulated.events.gap.parts",
    "simulated_events_gap_rate": "simulated.events.gap.rate",
    "simulated_events_gap_scale": "simulated.events.gap.scale",
    "simulated_events_gap_shape": "simulated.events.gap.shape",
    "simulated_events_gap_sigma": "simulated.events.gap.sigma",
    "simulated_events_gap_value": "simulated.events.gap.value",
    "simulated_events_gap_values": "simulated.events.gap.values",
    "simulated_holding": "simulated.holding",
    "simulated_keep_alive_timeout": "simulated.keep-alive-timeout",
    "simulated_linger": "simulated.linger",
    "simulated_reply": "simulated.reply",
    "simulated_reply_size": "simulated.reply-size",
    "simulated_reply_size_distribution": "simulated.reply-size.distribution",
    "simulated_reply_size_exponent": "simulated.reply-size.exponent",
    "simulated_reply_size_file": "simulated.reply-size.file",
    "simulated_reply_size_max": "simulated.reply-size.max",
    "simulated_reply_size_mean": "simulated.reply-size.mean",
    "simulated_reply_size_min": "simulated.reply-size.min",
    "simulated_reply_size_mu": "simulated.reply-size.mu",
    "simulated_reply_size_n": "simulated.reply-size.n",
    "simulated_reply_size_of": "simulated.reply-size.of",
    "simulated_reply_size_p": "simulated.reply-size.p",
    "simulated_reply_size_parts": "simulated.reply-size.parts",
    "simulated_reply_size_rate": "simulated.reply-size.rate",
    "simulated_reply_size_scale": "simulated.reply-size.scale",
    "simulated_reply_size_shape": "simulated.reply-size.shape",
    "simulated_reply_size_sigma": "simulated.reply-size.sigma",
    "simulated_reply_size_value": "simulated.reply-size.value",
    "simulated_reply_size_values": "simulated.reply-size.values",
    "simulated_service_time": "simulated.service-time",
    "simulated_service_time_distribution": "simulated.service-time.distribution",
    "simulated_service_time_exponent": "simulated.service-time.exponent",
    "simulated_service_time_file": "simulated.service-time.file",
    "simulated_service_time_max": "simulated.service-time.max",
    "simulated_service_time_mean": "simulated.service-time.mean",
    "simulated_service_time_min": "simulated.service-time.min",
    "simulated_service_time_mu": "simulated.service-time.mu",
    "simulated_service_time_n": "simulated.service-time.n",
    "simulated_service_time_of": "simulated.service-time.of",
    "simulated_service_time_p": "simulated.service-time.p",
    "simulated_service_time_parts": "simulated.service-time.parts",
    "simulated_service_time_rate": "simulated.service-time.rate",
    "simulated_service_time_scale": "simulated.service-time.scale",
    "simulated_service_time_shape": "simulated.service-time.shape",
    "simulated_service_time_sigma": "simulated.service-time.sigma",
    "simulated_service_time_value": "simulated.service-time.value",
    "simulated_service_time_values": "simulated.service-time.values",
    "simulated_streams": "simulated.streams",
    "simulated_tls": "simulated.tls",
    "simulated_tls_certificates": "simulated.tls.certificates",
    "simulated_tls_early_data": "simulated.tls.early-data",
    "simulated_tls_full_handshake": "simulated.tls.full-handshake",
    "simulated_tls_groups": "simulated.tls.groups",
    "simulated_tls_resumed_handshake": "simulated.tls.resumed-handshake",
    "simulated_tls_tickets": "simulated.tls.tickets",
    "simulated_tls_versions": "simulated.tls.versions",
    "simulated_workers": "simulated.workers",
    "sockets": "sockets",
    "sockets_connect_to": "sockets.connect-to",
    "sockets_processors": "sockets.processors",
    "sockets_sources": "sockets.sources",
    "sockets_workers": "sockets.workers",
    "target": "target",
    "thresholds": "thresholds",
    "tls": "tls",
    "tls_ca": "tls.ca",
    "tls_certificate": "tls.certificate",
    "tls_early_data": "tls.early-data",
    "tls_groups": "tls.groups",
    "tls_key": "tls.key",
    "tls_key_log": "tls.key-log",
    "tls_pins": "tls.pins",
    "tls_resumption": "tls.resumption",
    "tls_server_name": "tls.server-name",
    "tls_verify": "tls.verify",
    "tls_versions": "tls.versions",
    "verdict": "verdict",
    "verdict_arrival_lateness_p99": "verdict.arrival-lateness-p99",
    "verdict_capture_compared": "verdict.capture-compared",
    "verdict_capture_error": "verdict.capture-error",
    "verdict_capture_unmatched": "verdict.capture-unmatched",
    "verdict_crossing_lateness_p99": "verdict.crossing-lateness-p99",
    "verdict_delivery_lateness_p99": "verdict.delivery-lateness-p99",
    "verdict_departure_lateness_p99": "verdict.departure-lateness-p99",
    "verdict_dropped_arrivals": "verdict.dropped-arrivals",
    "verdict_generator_lacked": "verdict.generator-lacked",
    "verdict_host_steal": "verdict.host-steal",
    "verdict_lateness_p99": "verdict.lateness-p99",
    "verdict_littles_law": "verdict.littles-law",
    "verdict_longest_stall": "verdict.longest-stall",
    "verdict_loop_lag_p99": "verdict.loop-lag-p99",
    "verdict_machine_busy": "verdict.machine-busy",
    "verdict_pickup_lateness_p99": "verdict.pickup-lateness-p99",
    "verdict_rate_error": "verdict.rate-error",
    "verdict_response_time_law": "verdict.response-time-law",
    "verdict_server_failing": "verdict.server-failing",
    "verdict_server_held_up": "verdict.server-held-up",
    "verdict_server_silent": "verdict.server-silent",
    "verdict_succeeded": "verdict.succeeded",
    "verdict_throttled": "verdict.throttled",
    "verdict_worker_busy": "verdict.worker-busy",
}

#: Commands that take keys of a scenario.
OF_SCENARIOS = ("run", "sweep", "capacity")
