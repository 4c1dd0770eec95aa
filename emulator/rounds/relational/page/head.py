"""What stands above the verbs on the page of queries (docs/kafka_queries.md)."""

PAGE_HEAD = """# The Kafka round as queries

What `emulator run --engine relational` does in a round, verb after verb: made by `emulator explain-round
kafka`; `emulator explain-round kafka --verb fetch` prints a part of it. A verb is a function that takes the
round's tables and gives them back. It makes queries of them step by step as one does with DataFrames (`join`,
`where`, `select`, `with_columns`, `group_by`), of expressions in Spark's SQL, as in `selectExpr`. Nothing is
worked out until a line says `settled`, which is `localCheckpoint`.

What to look for:

| what | how | verb |
|---|---|---|
| the fetch: followers joined with their leaders | `requests.join(leaders, ...)` | [request_fetch](#request_fetch-step-4) |
| where an epoch ends: a window over a log's epochs | `lead(start_offset)` | [epoch_ends](#what-several-of-them-use) |
| what that is asked for: whether logs part | `answer = 'diverging'` | [answer_fetches](#answer_fetches-step-4) |
| the high watermark: the least of log ends | `.group_by(...)` | [advance_high_watermark](#advance_high_watermark-step-6) |
| an election: of a partition's replicas the first that may lead | `over("min_by(broker, ...)")` | [elect](#elect-step-2) |
| the ISR: leaders drop who lags | `in_isr` | [shrink_and_expand_isr](#shrink_and_expand_isr-step-5) |
| and the controller whose broker is gone | `in_isr` | [fence](#fence-step-2) |
| how much a follower gets: batches in order, as many as fit a fetch | `in_bins` | [choose_batches](#choose_batches-step-7) |
| a fault: rows of brokers, joined with their replicas | `inputs.brokers` | [begin_round](#begin_round-before-the-first-verb) |

[One round of one partition](#one-round-of-one-partition) has the rows of the first four.

Tables that stay between two rounds; offsets are exclusive ends, rounds count from 0:

| table | a row is |
|---|---|
| `partitions` | a partition (`pid`): who leads it, in which epoch, and what is counted |
| `replicas` | its copy on a broker (`pid`, `broker`): ends of the log, what it believes, what the leader knows of it |
| `leader_epochs` | an epoch that a replica knows its log to have (its cache), from which offset on, up to the next row's |
| `own_logs` | what a log has, where its cache may say otherwise: before KIP-320, or beyond its first leader's end |
| `batches` | like batches in a row that a leader appended, whoever has them: a record is its epoch and offset |
| `segments`, `tiers`, `remote_segments`, `remote_epochs` | closed segments, remote storage: only where a run needs them |

What comes from outside (`now.inputs`), each row for the rounds `from_round` to `to_round` (exclusive), or of
a `command_round`:

| table | a row is |
|---|---|
| `brokers` | how a broker is (`offline`, `fenced`, ...), by which `cause`; `fetches_a_round`, `fetch_max_bytes`, `disk_bytes` |
| `settings` | a topic's configuration, its times in rounds: `lag_rounds` is `replica.lag.time.max.ms` |
| `workload` | a batch that clients send in each round: `records`, `record_bytes`, acks as two flags |
| `links` | from `sender` to `receiver`: `is_cut`, or slow (`link_bytes` a round), or far (`link_us`) |
| `stale`, `deaths` | replicas that hear nothing new; brokers that are killed, and when in the round |
| `reassignments`, `deletions`, `elections`, `news` | commands; what controllers held before, for late news |

Within a round a row of `now.replicas` has, beside its own columns, those of its partition, its topic's
settings and what the faults say of its broker (`begin_round`, below). So what the replicas of a partition say
together is a window over `pid`: `over("count_if(in_isr)")`, the size of the ISR, is in each of their rows,
and so is `of_leader("leo")`, a value of the leader's row. What one verb leaves to the next without being a
column of replicas is a table: `now.fetches`, a row for each request of a follower, with its `answer`;
`now.chunks` and `now.taken`, the data on its way; `now.closed`, segments that it closed. `now.writing(...)`
keeps rows for the end of the run.

Words, for who knows Spark and not Kafka:

| in the code | what it is |
|---|---|
| `position` | a replica's place in its partition's list; null: it is not on it (any more, or yet) |
| `leo`, log end offset | where the replica's log ends: the offset of its next record |
| `hw`, high watermark | up to where the leader knows all members of the ISR to have the log: what is below is committed |
| ISR, `in_isr` | the replicas that keep up, of which the controller elects; `in_elr`: those that left while it was too small |
| controller, `leader`, `leader_epoch` | who decides who leads, and its decisions, numbered |
| T, `client_leader`, `client_epoch` | whom clients take for the leader, and with which epoch it was elected |
| `client_works`, `confirms` | T runs and knows that it leads; and what it decides of the ISR holds at once |
| `believed_leader`, `believed_epoch` | what the replica itself takes for true: it may be late |
| `leads` | it thinks that it leads, in `believed_epoch`; several may, one of them is T |
| `remote_leo`, `caught_up_round` | what T has noted of a follower at its fetches: its LEO, and when it was level last |
| `known_in_isr`, `join_pends`, `shrink_pends` | the ISR as T knew it last; what T decided and could not tell the controller yet |
| `owes_from` | what T appended from there on had no answer yet when its epoch began |
| `asked_in_vain` | the controller will refuse that: it has changed the partition since, or the joiner has restarted |
| `is_known`, `in_first_isr`, `in_second_isr` | the ISR that T goes by in this round; with who joins; then without who leaves |
| `source` | whom a follower fetches from: the leader that it believes in |
| `floor_epoch`, `end_offset` | of an epoch that is looked up: the largest up to it that the log has, and where that ends |
| `waits` | a fetch waits for data (`replica.fetch.wait.max.ms` is not 0) |
| `allowance`, `credit_bytes` | what a slow disk or link lets through in this round, and what it left of that before |
| `flushed`, `hw_checkpoint` | what a power loss leaves of the log, and a restart of the high watermark |
| `segment_base`, `segment_size` | the file that the log is appended to; a chunk that does not fit starts another one |
| `offline`, `paused`, `isolated` | how the broker is: dead, frozen, cut off from all others; `running`: not dead, not frozen |
| `island` | the rack with which the broker is cut off, down or not, if nothing but rack_isolation cuts it off; null: it is not |
| `fenced`, `returning` | the controller has given the broker up; in this round it does, and takes it back |
| `deaf` | cut off from the controller: offline, paused, isolated, or its metadata is stale |
| `untold` | deaf, or was until now: it does not hear in time that it leads |

What a verb alone uses stands behind it, what several use at the end of the page; names in capitals are SQL.
Of the columns in one `with_columns` all see the values before.

Where the table below says *settled*, all tables that changed are worked out and cut off from what led to them
(in Spark `localCheckpoint`; Kafka's own checkpoints are `write_checkpoints`). A round makes some 150 columns,
each of others, by dozens of joins: as one plan it would take long to analyze, and longer in every round. So it
is cut where many tables need what was made so far: what leaders appended before followers fetch, requests
before they are noted, the ISR before the high watermark, what was cut before anything is appended. Some verbs
settle a table of their own that they use more than once. Spark works them out (with `--master`, `--remote` or
`--conf`, and for more than a million replicas), or DuckDB in this process, which plans such queries in a
hundredth of the time. Both have the same text of a rule, and give the same tables.

Calm rounds are those in which the inputs give a controller nothing to do: no fault, setting or command begins
or ends in them or the two before.

The rules are those of [kafka_rounds.md](kafka_rounds.md), with Kafka's older generations, and of
[tiered_rounds.md](tiered_rounds.md) as far as retention and KIP-405's scenarios 1 to 3 need them (leaders
copy, replicas delete what is copied, a follower starts from remote metadata). What only some runs have is
left out of a round's plan elsewhere; those verbs stand behind the others. Mutants, ledgers, groups,
consumers, shared bandwidth, leaps, and of tiered storage expiry, outages, disabling, unclean elections and
the policies of later KIPs are not here: each is refused by name. `emulator check DIR --sample N` plays some
partitions of a finished run once more by these rounds and compares every cell of outcomes, events, final
state and trace; scenarios that have any of these it leaves out, by name.
"""
