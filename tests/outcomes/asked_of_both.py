"""Queries in Spark's dialect: what DuckDB answers as Spark does, what it leaves to Spark, and what neither answers."""

from __future__ import annotations

from pathlib import Path

SAME = tuple(line for line in (Path(__file__).parent / "data" / "asked_of_both.sql").read_text("utf-8").splitlines()[1:])
"""Queries whose answers have the same bytes."""

ONLY_SPARK = (
    "SHOW VIEWS",
    "DESCRIBE outcomes",
    "EXPLAIN SELECT 1",
    "TABLE lost",
    "SELECT 1.5 * acked AS d FROM outcomes",
    "SELECT hash(topic) AS h FROM outcomes",
    "SELECT acked + 1 > 2 FROM outcomes",
    "SELECT approx_count_distinct(topic) AS n FROM outcomes",
    "SELECT date_trunc('hour', started_at) AS t FROM runs",
    "SELECT topic RLIKE 'o' AS r FROM outcomes",
    "SELECT CAST(1e10 AS STRING) AS s",
    "SELECT 1 / (acked - acked) AS q FROM outcomes",
    "SELECT replicas[9] AS r FROM partitions",
    "SELECT * FROM outcomes JOIN events USING (topic)",
    "SELECT CAST('1.5' AS INT) AS i",
    "SELECT str_to_map(topic, '.', ':') AS m FROM outcomes",
    "SELECT * FORM outcomes",
)
"""What DuckDB would answer otherwise, or refuse with other words: a value, a type, a column's name."""

DOES_MORE = (
    ("DROP TABLE outcomes", 'cannot begin with "DROP"'),
    ("CREATE TABLE t AS SELECT 1", 'cannot begin with "CREATE"'),
    ("CREATE OR REPLACE TEMPORARY VIEW lost AS SELECT 1", 'cannot begin with "CREATE"'),
    ("INSERT OVERWRITE DIRECTORY '{out}' SELECT 1", 'cannot begin with "INSERT"'),
    ("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", "INSERT writes"),
    ("FROM outcomes INSERT INTO t SELECT *", "INSERT writes"),
    ("COPY outcomes TO '{out}'", 'cannot begin with "COPY"'),
    ("ATTACH '{out}' AS other", 'cannot begin with "ATTACH"'),
    ("INSTALL httpfs", 'cannot begin with "INSTALL"'),
    ("LOAD httpfs", 'cannot begin with "LOAD"'),
    ("PRAGMA database_list", 'cannot begin with "PRAGMA"'),
    ("ADD JAR '{out}'", 'cannot begin with "ADD JAR"'),
    ("CACHE TABLE outcomes", 'cannot begin with "CACHE"'),
    ("CALL pragma_version()", 'cannot begin with "CALL"'),
    ("EXECUTE IMMEDIATE 'DROP TABLE t'", 'cannot begin with "EXECUTE"'),
    ("DELETE FROM outcomes", 'cannot begin with "DELETE"'),
    ("SELECT 1; DROP TABLE outcomes", "2 statements"),
    ("SELECT * FROM '{secret}'", "is no table of the run"),
    ("SELECT * FROM `{secret}`", "is no table of the run"),
    ("SELECT * FROM csv.`{secret}`", "is no table of the run"),
    ("SELECT * FROM parquet.`{secret}`", "is no table of the run"),
    ("DESCRIBE text.`{secret}`", "is no table of the run"),
    ("SELECT (SELECT max(value) FROM text.`{secret}`) AS x", "is no table of the run"),
    ("SELECT * FROM read_parquet('{secret}')", "is no table of the run"),
    ("SELECT * FROM read_csv('http://127.0.0.1:9/x')", "is no table of the run"),
    ("SELECT * FROM information_schema.tables", "is no table of the run"),
    ("SELECT TRANSFORM (topic) USING 'cat' AS (t) FROM outcomes", "TRANSFORM runs a program"),
    ("SELECT reflect('java.lang.System', 'getenv') AS r", "reflect calls Java"),
    ("SELECT `java_method`('java.lang.System', 'getenv') AS r", "java_method calls Java"),
)
"""Queries that do more than read the run, and what is said of them."""
