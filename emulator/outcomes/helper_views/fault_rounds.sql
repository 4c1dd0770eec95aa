-- Every round of every fault, for each broker that it is about: all of its rack, or of the cluster, where it names none.
SELECT f.* EXCEPT (broker), b.broker, round
FROM faults f
JOIN scenarios s
  ON s.scenario_id = f.scenario_id AND f.from_round < least(coalesce(f.to_round, s.rounds), s.rounds)
JOIN brokers b
  ON b.scenario_id = f.scenario_id AND b.broker = coalesce(f.broker, b.broker)
    AND coalesce(b.rack = f.rack, f.rack IS NULL)
LATERAL VIEW explode(sequence(f.from_round, least(coalesce(f.to_round, s.rounds), s.rounds) - 1)) AS round
