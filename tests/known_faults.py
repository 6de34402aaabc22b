"""
What became of each known fault of systems like this one: 80, numbered as in the project's list of them.

An entry is a test that replays the fault against its guard (`tests/x/test_y.py::test_name`), the `issue N` that will
bring the guard, `later: WHAT` for a guard that no open issue brings yet, or `not applicable: REASON`. A fault with
several sides has several entries.
"""

from collections.abc import Mapping

SERVING = "tests/trials/test_serving.py"
SUPERVISOR = "tests/trials/test_supervisor.py"
RUN = "tests/trials/test_run.py"
PORTS = "tests/trials/test_ports.py"
GENERATOR = "tests/trials/load/test_generator.py"
GUARDS = "tests/trials/load/test_guards.py"
LOAD = "tests/faults/test_load_faults.py"
MEASURE = "tests/trials/load/test_measure.py"
METRICS = "tests/trials/load/test_metrics.py"
GATE = "tests/evals/test_gate.py"
JUDGE = "tests/evals/test_judge.py"
ASKED = "tests/trials/test_asked.py"
DOCTOR = "tests/autotune/test_doctor.py"
SERVED = "tests/trials/launchers/test_served.py"
ANOTHER_PROTOCOL = (
    "tests/evals/test_protocol.py::test_any_other_difference_is_another_protocol",
    f"{GATE}::test_answers_under_another_protocol_are_not_compared",
)
PROPOSE = "tests/autotune/search/test_propose.py"
SAMPLERS = "tests/contracts/test_samplers.py"
ENDINGS = "tests/faults/test_endings.py::test_an_engine_has_its_whole_grace_and_is_gone"
KILLED_DRIVER = "tests/faults/test_deaths.py::test_a_driver_that_is_killed_takes_its_engine_along_and_the_study_goes_on"
CAMPAIGN = "tests/faults/test_kill_campaign.py::test_a_driver_may_be_killed_at_any_moment"
CHOSEN_TWICE = f"{DOCTOR}::test_gpus_that_are_chosen_twice_are_unfit"
IGNORED = (
    "tests/faults/test_ignored.py::test_a_flag_that_the_engine_ignores_is_told_of_in_the_trial_and_in_the_evidence"
)
CRASH = f"{RUN}::test_a_crash_under_load_is_told_by_its_exit_and_not_by_the_broken_stream"
GPU_MEMORY = "later: the leased GPUs' memory is waited for, and a GPU that keeps it is quarantined"
PACKING = "later: several engines on one node, with blocks of ports and compile caches of their own"

PROCESSES: Mapping[int, tuple[str, ...]] = {
    1: (f"{SUPERVISOR}::test_a_daemon_that_the_engine_leaves_behind_is_killed", GPU_MEMORY),
    2: (f"{SERVING}::test_however_its_owner_ends_an_engine_drains_and_leaves_nothing", GPU_MEMORY),
    3: (GPU_MEMORY,),
    4: (ENDINGS,),
    5: (f"{RUN}::test_an_engine_whose_every_stream_stalls_is_stuck_at_once",),
    6: (
        ENDINGS,
        "tests/trials/launchers/test_container.py::test_an_engine_has_an_init_above_it_that_reaps_and_its_whole_grace",
        f"{SERVED}::test_however_its_owner_ends_a_container_drains_and_is_removed",
        GPU_MEMORY,
    ),
    7: (GPU_MEMORY,),
    8: (GPU_MEMORY,),
    9: (f"{SUPERVISOR}::test_a_daemon_that_the_engine_leaves_behind_is_killed",),
    10: (KILLED_DRIVER,),
}

PORTS_AND_DEVICES: Mapping[int, tuple[str, ...]] = {
    11: (f"{PORTS}::test_leases_held_at_once_are_disjoint", PACKING),
    12: (f"{SERVING}::test_a_stranger_on_the_port_is_the_worlds_fault_and_named", PACKING),
    13: (f"{PORTS}::test_a_lease_outlives_its_block_in_a_child_that_holds_it",),
    14: (PACKING,),
    15: (PACKING,),
    16: (PACKING,),
    17: (
        f"{SERVING}::test_an_engine_that_never_listens_is_stuck",
        f"{SERVING}::test_an_engine_that_says_nothing_more_is_stuck_long_before_its_deadline",
        f"{SERVING}::test_an_engine_that_is_building_something_may_be_silent_until_its_deadline",
    ),
    18: (CHOSEN_TWICE,),
    19: (CHOSEN_TWICE, "later: Ray on a cluster of GPUs"),
    20: (CHOSEN_TWICE, f"{DOCTOR}::test_a_space_that_chooses_gpus_after_the_environment_did_is_unfit"),
    21: ("later: which GPUs an engine gets is a lease, checked from inside",),
}

READINESS: Mapping[int, tuple[str, ...]] = {
    22: (f"{SERVING}::test_a_healthy_engine_that_answers_no_completion_is_stuck",),
    23: (f"{LOAD}::test_a_stream_that_never_goes_on_is_not_waited_for_while_others_do",),
    24: (f"{GENERATOR}::test_a_stall_of_every_stream_ends_the_run_before_its_requests_are_out_of_time",),
    25: (f"{GENERATOR}::test_requests_longer_than_the_stall_are_none_while_tokens_come",),
    26: ("tests/faults/test_stale_server.py::test_a_stale_server_with_the_right_model_is_not_measured",),
    27: ("tests/trials/load/test_client.py::test_the_environments_proxies_are_not_asked",),
    28: (
        f"{LOAD}::test_garbage_faster_than_any_engine_is_no_measurement_even_without_a_gate",
        f"{LOAD}::test_answers_that_are_cut_under_load_are_wrong",
        f"{LOAD}::test_a_server_that_counts_fewer_tokens_than_it_tells_is_wrong",
    ),
    29: (CRASH,),
    30: (f"{SERVING}::test_an_engine_that_never_listens_is_stuck", f"{METRICS}::test_no_value_has_no_spread"),
}

BENCHMARKS: Mapping[int, tuple[str, ...]] = {
    31: (
        f"{LOAD}::test_a_server_that_has_cached_what_no_two_requests_share_is_wrong",
        f"{MEASURE}::test_no_content_comes_twice_and_every_warm_up_has_the_same_lengths",
    ),
    32: (
        "tests/trials/load/test_workload.py::test_no_two_of_5120_prompts_share_a_prefix_worth_caching",
        f"{GUARDS}::test_prompts_from_the_cache_that_should_be_new_void_a_run",
    ),
    33: (
        f"{MEASURE}::test_a_warm_up_is_over_when_two_runs_in_a_row_differ_by_no_more_than_windows_do",
        f"{MEASURE}::test_it_warms_up_until_two_runs_in_a_row_built_nothing",
    ),
    34: (
        f"{METRICS}::test_a_whole_run_is_counted_as_inferencex_counts_it",
        "tests/autotune/evidence/test_document.py::test_the_evidence_says_where_and_with_what_it_was_made",
    ),
    35: (
        f"{GENERATOR}::test_a_run_follows_a_run_on_the_same_processes",
        f"{GENERATOR}::test_an_error_ends_the_run_long_before_its_last_session",
        f"{MEASURE}::test_a_point_that_takes_too_long_ends_at_its_deadline",
    ),
    36: (
        "tests/benchmarks/test_load_generator.py::test_every_client_has_a_row_beside_the_compiled_one",
        f"{GUARDS}::test_one_wrong_answer_voids_a_run",
    ),
    37: (
        "tests/trials/load/test_windows.py::test_the_rate_in_the_windows_is_the_true_rate",
        f"{LOAD}::test_twenty_tokens_a_chunk_have_a_time_per_token_and_no_time_between_tokens",
    ),
    38: (
        "tests/search_spaces/test_space.py::test_a_phase_without_a_deadline_of_its_own_gets_what_its_requests_may_take",
    ),
    39: (
        f"{MEASURE}::test_an_engine_that_never_gets_steady_is_measured_and_flagged",
        f"{LOAD}::test_a_burst_of_429_voids_a_run_which_is_measured_once_more",
    ),
    40: ("not applicable: a wish for sweeps over lengths and concurrency, not a fault",),
    41: (
        "tests/autotune/test_confirm.py::test_a_win_is_the_only_result_that_moves_the_recipe",
        "tests/autotune/evidence/test_document.py::test_without_a_win_the_recipe_is_the_baseline",
    ),
}

SEARCH: Mapping[int, tuple[str, ...]] = {
    42: ("tests/autotune/test_folder.py::test_two_drivers_never_share_a_study",),
    43: (f"{SAMPLERS}::test_a_value_that_always_crashes_is_proposed_less_often_than_when_told_as_fail",),
    44: (f"{PROPOSE}::test_a_space_of_four_configs_is_exhausted_after_four",),
    45: (f"{PROPOSE}::test_a_repeat_is_told_the_outcome_that_is_stored",),
    46: (KILLED_DRIVER,),
    47: (f"{PROPOSE}::test_after_repeats_in_a_row_the_nearest_config_that_was_not_measured_is_taken", "issue 8"),
    48: (
        "tests/autotune/test_study.py::test_a_study_that_keeps_losing_its_trials_stops_and_says_how_to_go_on",
        f"{RUN}::test_a_measured_trial_keeps_its_raw_data",
    ),
    49: ("tests/autotune/search/test_search.py::test_after_a_replay_the_search_goes_on_with_fresh_proposals",),
    50: (
        "tests/e2e/test_study.py::test_a_finished_study_resumes_to_the_same_evidence_without_another_launch",
        "tests/faults/test_disks.py::test_an_index_that_may_not_grow_is_said_and_made_anew_when_it_may",
    ),
    51: (f"{PROPOSE}::test_configs_that_come_to_one_recipe_are_one_config",),
    52: (CAMPAIGN,),
    53: (CAMPAIGN,),
    54: (
        "tests/faults/test_engines.py::test_what_is_a_configs_own_fault_is_run_once",
        f"{SAMPLERS}::test_an_infeasible_trial_is_complete_at_the_worst_value_measured",
    ),
    55: (f"{SAMPLERS}::test_an_infeasible_trial_is_complete_at_the_worst_value_measured",),
}

MEMORY: Mapping[int, tuple[str, ...]] = {
    56: (CRASH, "later: what a GPU engine that runs out of memory under load says; provoked twice, not seen"),
    57: (
        "tests/trials/test_vllm.py::test_a_captured_failure_has_its_kind_and_the_engines_own_words",
        "tests/search_spaces/test_memory.py::test_what_ran_out_of_memory_is_refused_by_what_it_was_short_of",
        f"{SAMPLERS}::test_a_value_that_always_crashes_is_proposed_less_often_than_when_told_as_fail",
        f"{ASKED}::test_a_variable_that_an_engine_says_it_does_not_know_is_named_once",
    ),
    58: (CRASH, f"{RUN}::test_a_context_that_cuts_the_longest_answer_is_noticed_before_any_load"),
    59: (CRASH,),
    60: (
        "tests/autotune/test_diff.py::test_a_missing_log_level_and_a_gigabyte_per_rank_are_found",
        "tests/search_spaces/test_shipped.py::test_the_ranks_share_the_cache_in_host_memory",
    ),
}

ACCURACY: Mapping[int, tuple[str, ...]] = {
    61: (f"{JUDGE}::test_garbled_answers_fail_though_every_request_succeeds",),
    62: (f"{RUN}::test_a_config_below_the_gate_is_measured_and_fails",),
    63: ANOTHER_PROTOCOL,
    64: ANOTHER_PROTOCOL,
    65: ANOTHER_PROTOCOL,
    66: (f"{JUDGE}::test_no_more_requests_are_in_flight_than_the_gate_says",),
    67: (
        "tests/evals/test_harness.py::test_the_identity_names_everything_that_makes_results_comparable",
        *ANOTHER_PROTOCOL,
    ),
    68: (f"{JUDGE}::test_the_right_number_in_the_wrong_form_fails_the_strict_filter",),
    69: (
        f"{JUDGE}::test_working_cut_by_the_cap_is_invalid_and_asked_no_further",
        f"{LOAD}::test_answers_that_are_cut_before_the_gate_make_its_verdict_invalid",
    ),
    70: ("tests/faults/test_budgets.py::test_a_budget_beyond_the_context_ends_in_seconds_with_the_engines_words",),
    71: (
        f"{GATE}::test_gsm8k_at_090_needs_1188_of_1319",
        "tests/search_spaces/test_gate.py::test_a_threshold_left_out_is_the_models_or_the_default",
    ),
}

CONFIGURATION: Mapping[int, tuple[str, ...]] = {
    72: (f"{ASKED}::test_a_variable_that_an_engine_does_not_read_any_more_is_seen_by_what_runs",),
    73: (f"{ASKED}::test_a_variable_that_an_engine_says_it_does_not_know_is_named_once", IGNORED),
    74: (
        f"{ASKED}::test_an_option_that_the_default_engine_does_not_follow_is_named",
        "later: a variable of a kernel library, as aiter's, of which no log speaks",
    ),
    75: (f"{RUN}::test_concurrencies_that_are_served_differently_have_a_launch_each",),
    76: (
        f"{SERVED}::test_what_would_run_is_the_image_with_its_id_and_its_digest",
        f"{SERVED}::test_an_image_that_is_not_here_is_the_worlds_fault",
        f"{DOCTOR}::test_an_image_that_is_gone_is_found_before_a_study_begins",
    ),
}

ENVIRONMENT: Mapping[int, tuple[str, ...]] = {
    77: (
        "tests/autotune/test_doctor.py::test_a_foreign_owner_of_our_packages_and_a_library_that_is_too_old_are_unfit",
        "later: the doctor on every worker of a cluster",
    ),
    78: ("not applicable: no orchestrator is assumed; a study is a process on a machine",),
    79: ("tests/autotune/test_stop.py::test_another_process_with_the_drivers_pid_is_left_alone",),
    80: (f"{RUN}::test_an_engine_that_does_not_start_says_why",),
}

KNOWN_FAULTS: Mapping[int, tuple[str, ...]] = {
    **PROCESSES,
    **PORTS_AND_DEVICES,
    **READINESS,
    **BENCHMARKS,
    **SEARCH,
    **MEMORY,
    **ACCURACY,
    **CONFIGURATION,
    **ENVIRONMENT,
}
