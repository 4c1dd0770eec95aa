"""The records that quorums' rounds read: rules, settings, servers, links and the elector over time, workload."""

from __future__ import annotations

from typing import NamedTuple

from emulator.rounds.records import Record, Rows, constant


class Rules(Record):
    """The guards that mutants lack; the numbers are the steps of docs/quorum_rounds.md."""

    own_term_commits: int = constant("5: an entry of its own term commits, with all before it; else any that A servers have")
    compare_logs: int = constant("2: votes, and the elector, look at who has the more complete log")
    one_vote: int = constant("2: a server votes once a term")
    keep_vote: int = constant("1: a server that is back knows its vote")
    check_previous: int = constant("4: the entry before must be of the term that the leader says")
    refuse_older_term: int = constant("4: a leader of an older term is refused")
    both_majorities: int = constant("2, 5, Raft: a joint configuration needs both majorities; else that of the new members")
    wait_for_change: int = constant("3, Raft, KRaft: a change begins when the last one is committed; else at once")
    own_term_first: int = constant(
        "3, Raft, KRaft: one at a time, a change begins when an entry of the leader's own term is committed"
    )
    leases_expire: int = constant("2, PacificA: a primary that lacks a lease, and reaches no manager, is none any more")
    check_version: int = constant("2, PacificA: the manager takes proposals of the version in force only")
    all_prepared: int = constant("5, PacificA: all replicas of the configuration have it; else the primary")
    quorum_of_changes: int = constant("2, VR: a new primary has the DOVIEWCHANGE of a quorum")
    recover_first: int = constant("3, VR: who is back takes part with what it was told only; else at once, with nothing")
    quorum_of_answers: int = constant("3, VR: of a quorum, the primary of its latest view is believed; else any primary")
    beyond_epoch_start: int = constant("5, KRaft: a high watermark at the start of the leader's epoch is none yet (KAFKA-12619)")
    current_epoch_first: int = constant("3, Zab: of histories the epoch last taken decides, then the last zxid; else that alone")
    acks_of_new_leader: int = constant("4, Zab: a quorum has to have the initial history before its leader is established")
    cut_history: int = constant("4, Zab: a follower's history becomes the leader's; else what it has already stays")
    same_content: int = constant("3, HDFS: copies of a segment are the same by what is in them; else by their ends alone")
    accepted_counts: int = constant("3, HDFS: a recovery that was accepted counts as much as a writer of that epoch")
    finalize_first: int = constant("4, HDFS: a majority has, and closes, all of a segment before the next one starts")
    catch_up_first: int = constant("4, PacificA: a candidate joins with all that is committed")


class ScenarioRow(Record):
    """What all groups of a scenario have in common."""

    rules: int = constant("place of its protocol's rules")
    leaps: int = constant("1: quiet rounds are leapt over")
    draw_key: int = constant("what its seed comes to as a key of draws")
    first_cut: int = constant("place of its first link cut")
    cuts: int = constant("so many")
    first_slow: int = constant("place of its first slow link")
    slow: int = constant("so many")


class ServerSpan(Record):
    """What the faults say of a server from a round on. A server's last one is at FOREVER."""

    from_round: int = constant("its first round")
    status: int = constant("bits")
    cause: int = constant("fault_id of the strongest fault in force on it, else of the last that was, NO_FAULT")
    island: int = constant("number of the rack with which it is isolated, if nothing else isolates it, NO_ISLAND")


class ElectorSpan(Record):
    """The elector from a round on. The last one is at FOREVER."""

    from_round: int = constant("its first round")
    up: int = constant("1: it is there")


class LinkCut(Record):
    """Messages from one server to another don't get through in [from_round, to_round)."""

    from_place: int = constant("place of who sends among the scenario's brokers")
    to_place: int = constant("of who does not get it")
    from_round: int = constant("first round")
    to_round: int = constant("end")


class SlowLink(Record):
    """A request from one server to another with its answer takes longer in [from_round, to_round)."""

    from_place: int = constant("place of who asks among the scenario's brokers")
    to_place: int = constant("of who answers")
    from_round: int = constant("first round")
    to_round: int = constant("end")
    rounds: int = constant("rounds that it takes")


class Settings(Record):
    """Settings of a group."""

    acks: int = constant("A: servers that must have an entry, the leader among them")
    compared: int = constant("V: logs that an election compares")
    timeout_rounds: int = constant("election.timeout.ms; of PacificA the grace period")
    lease_rounds: int = constant("lease.period.ms")
    jitter_rounds: int = constant("election.jitter.ms")
    pre_vote: int = constant("pre.vote")
    check_quorum: int = constant("check.quorum")
    max_entries: int = constant("max.entries.per.append, NO_LIMIT")
    round_ms: int = constant("milliseconds of a round")
    flush_ms: int = constant("1: every round's end is on disk; else of rounds in which so many ms are due; NEVER_FLUSHED")
    fsync_rounds: int = constant("fsync.ms: rounds until what was written is on disk; 0 where no write waits for it")
    records_limit: int = constant("records.per.fsync: records that a leader's disk takes in a round, NO_LIMIT")
    delay_rounds: int = constant("delay.ms: rounds that a request with its answer takes where no link is slow")
    delay_percent: int = constant("delay.jitter.percent: up to so much of a delay, or in the mean, is drawn on top of it")
    delay_shape: int = constant("delay.distribution: UNIFORM or GEOMETRIC")
    roll_rounds: int = constant("log.roll.period.ms")
    check_rounds: int = constant("ha.health-monitor.check-interval.ms")
    fence_rounds: int = constant("ha.failover-controller.graceful-fence.rpc-timeout.ms")
    connect_rounds: int = constant("ipc.client.connect.timeout")
    rpc_rounds: int = constant("ipc.client.rpc-timeout.ms, 0: none")
    write_rounds: int = constant("dfs.qjournal.write-txns.timeout.ms")
    one_at_a_time: int = constant("members.change: 1: one server at a time; 0: by a joint configuration")


class WantedSpan(Record):
    """The members that a group is asked to have from a round on. A group's last one is at FOREVER."""

    from_round: int = constant("its first round")
    members: int = constant("mask of its servers")
    hands_over: int = constant("1: in its first round its leader is asked to hand over to the first server")


class WorkloadSpan(Record):
    """What clients send in each round from one on. A group's last one is at FOREVER."""

    from_round: int = constant("its first round")
    records: int = constant("records a round")


class Inputs(NamedTuple):
    """What rounds read of a block's scenarios."""

    scenarios: Rows[ScenarioRow]
    rules: Rows[Rules]
    server_spans: Rows[ServerSpan]
    elector_spans: Rows[ElectorSpan]
    cuts: Rows[LinkCut]
    slow_links: Rows[SlowLink]
    settings: Rows[Settings]
    workload: Rows[WorkloadSpan]
    wanted: Rows[WantedSpan]
