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
LOOP = "tests/trials/load/test_closed_loop.py"
METRICS = "tests/trials/load/test_metrics.py"
GATE = "tests/evals/test_gate.py"
JUDGE = "tests/evals/test_judge.py"
PROPOSE = "tests/autotune/search/test_propose.py"
SAMPLERS = "tests/contracts/test_samplers.py"
ENDINGS = "tests/faults/test_endings.py::test_an_engine_has_its_whole_grace_and_is_gone"
KILLED_DRIVER = "tests/faults/test_deaths.py::test_a_driver_that_is_killed_takes_its_engine_along_and_the_study_goes_on"
CAMPAIGN = "tests/faults/test_kill_campaign.py::test_a_driver_may_be_killed_at_any_moment"
CRASH = f"{RUN}::test_a_crash_under_load_is_told_by_its_exit_and_not_by_the_broken_stream"
GPU_MEMORY = "later: the leased GPUs' memory is waited for, and a GPU that keeps it is quarantined"
PACKING = "later: several engines on one node, with blocks of ports and compile caches of their own"

PROCESSES: Mapping[int, tuple[str, ...]] = {
    1: (f"{SUPERVISOR}::test_a_daemon_that_the_engine_leaves_behind_is_killed", GPU_MEMORY),
    2: (f"{SERVING}::test_however_its_owner_ends_an_engine_drains_and_leaves_nothing", GPU_MEMORY),
    3: (GPU_MEMORY,),
    4: (ENDINGS,),
    5: (f"{RUN}::test_an_engine_whose_every_stream_stalls_is_stuck_at_once",),
    6: (ENDINGS, "issue 6"),
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
    17: (f"{SERVING}::test_an_engine_that_never_listens_is_stuck",),
    18: ("issue 6",),
    19: ("issue 6", "later: Ray on a cluster of GPUs"),
    20: ("issue 6",),
    21: ("later: which GPUs an engine gets is a lease, checked from inside",),
}

READINESS: Mapping[int, tuple[str, ...]] = {
    22: (f"{SERVING}::test_a_healthy_engine_that_answers_no_completion_is_stuck",),
    23: (f"{RUN}::test_an_engine_that_hangs_under_load_is_stuck",),
    24: (f"{LOOP}::test_a_stall_of_every_stream_ends_the_loop_before_its_requests_are_out_of_time",),
    25: (f"{LOOP}::test_requests_longer_than_the_stall_are_none_while_tokens_come",),
    26: ("tests/faults/test_stale_server.py::test_a_stale_server_with_the_right_model_is_not_measured",),
    27: ("tests/trials/load/test_client.py::test_the_environments_proxies_are_not_asked",),
    28: (f"{RUN}::test_an_answer_cut_short_under_load_is_wrong", "issue 5"),
    29: (CRASH,),
    30: (f"{SERVING}::test_an_engine_that_never_listens_is_stuck", f"{METRICS}::test_no_value_has_no_spread"),
}

BENCHMARKS: Mapping[int, tuple[str, ...]] = {
    31: (f"{LOOP}::test_every_request_ends_well_and_no_prompt_comes_twice", "issue 5"),
    32: ("tests/trials/load/test_workload.py::test_no_two_prompts_share_a_prefix_worth_caching", "issue 5"),
    33: (f"{LOOP}::test_windows_follow_the_warm_up_and_do_not_overlap", "issue 5"),
    34: ("issue 5",),
    35: (f"{LOOP}::test_an_error_ends_the_loop_long_before_its_window", "issue 5"),
    36: ("issue 5",),
    37: (f"{METRICS}::test_the_rate_of_slots_that_take_unequally_long_is_unbiased", "issue 5"),
    38: (
        "tests/search_spaces/test_space.py::test_a_phase_without_a_deadline_of_its_own_gets_what_its_requests_may_take",
    ),
    39: ("issue 5",),
    40: ("not applicable: a wish for sweeps over lengths and concurrency, not a fault",),
    41: ("tests/autotune/test_confirm.py::test_a_win_is_the_only_result_that_moves_the_recipe", "issue 7"),
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
    56: (CRASH, "issue 4"),
    57: ("issue 6",),
    58: (CRASH, f"{RUN}::test_a_context_that_cuts_the_longest_answer_is_noticed_before_any_load"),
    59: (CRASH,),
    60: ("issue 6",),
}

ACCURACY: Mapping[int, tuple[str, ...]] = {
    61: (f"{JUDGE}::test_garbled_answers_fail_though_every_request_succeeds",),
    62: (f"{RUN}::test_a_config_below_the_gate_is_measured_and_fails",),
    63: ("issue 5",),
    64: ("issue 5",),
    65: ("issue 5",),
    66: (f"{JUDGE}::test_no_more_requests_are_in_flight_than_the_gate_says",),
    67: ("tests/evals/test_harness.py::test_the_identity_names_everything_that_makes_results_comparable", "issue 5"),
    68: (f"{JUDGE}::test_the_right_number_in_the_wrong_form_fails_the_strict_filter",),
    69: (f"{JUDGE}::test_working_cut_by_the_cap_is_invalid",),
    70: (f"{RUN}::test_a_context_for_the_load_but_not_for_the_gate_is_noticed_before_any_load", "issue 5"),
    71: (f"{GATE}::test_gsm8k_at_090_needs_1188_of_1319", "issue 6"),
}

CONFIGURATION: Mapping[int, tuple[str, ...]] = {
    72: ("issue 6",),
    73: ("issue 6",),
    74: ("issue 6",),
    75: (f"{RUN}::test_concurrencies_that_are_served_differently_have_a_launch_each",),
    76: ("issue 6",),
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
