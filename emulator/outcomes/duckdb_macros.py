"""Functions of Spark as DuckDB's macros, where DuckDB has none of the same rules.

What Spark refuses (a division by zero) or writes otherwise (a very large double) ends with an error here too, and Spark is asked.
"""

_WHOLE = "('TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT')"
_LISTS = "('VARCHAR[]', 'INTEGER[]', 'BIGINT[]')"

MACROS = (
    # Fails when it is worked out; error() would be more than a value, which ORDER BY does not take.
    "spark_fail(words) AS CAST(words AS INTEGER)",
    "spark_fail_text(words) AS CAST(spark_fail(words) AS VARCHAR)",
    "spark_list(x) AS coalesce(x, [])",
    # ANSI mode: nothing is divided by zero, and / is of doubles.
    "spark_divide(a, b) AS CASE WHEN b = 0 THEN spark_fail('division by zero') ELSE CAST(a AS DOUBLE) / CAST(b AS DOUBLE) END",
    "spark_div(a, b) AS CASE WHEN b = 0 THEN spark_fail('division by zero') ELSE CAST(a // b AS BIGINT) END",
    "spark_mod(a, b) AS CASE WHEN b = 0 THEN spark_fail('division by zero') ELSE a % b END",
    # Half up of the digits that a double is written with, not of its exact value: 2.675 becomes 2.68.
    "spark_round_double(x, n) AS CASE"
    " WHEN abs(x) < 1e7 THEN CAST(round(CAST(CAST(x AS VARCHAR) AS DECIMAL(38, 30)), n) AS VARCHAR)"
    " WHEN abs(x) < 1e18 THEN CAST(round(CAST(CAST(x AS VARCHAR) AS DECIMAL(38, 18)), n) AS VARCHAR)"
    " ELSE CAST(x AS VARCHAR) END",
    "spark_round(x, n) AS cast_to_type("
    "CASE WHEN typeof(x) = 'DOUBLE' THEN spark_round_double(CAST(x AS DOUBLE), n) ELSE CAST(x AS VARCHAR) END, x)",
    f"spark_trunc(x) AS CASE WHEN typeof(x) = 'DOUBLE' THEN CAST(trunc(CAST(x AS DOUBLE)) AS BIGINT)"
    f" WHEN typeof(x) IN {_WHOLE} OR typeof(x) = 'BOOLEAN' THEN CAST(x AS BIGINT) ELSE spark_fail('a cast') END",
    f"spark_ceil(x) AS CASE WHEN typeof(x) IN {_WHOLE} THEN CAST(x AS BIGINT) ELSE CAST(ceil(CAST(x AS DOUBLE)) AS BIGINT) END",
    f"spark_floor(x) AS CASE WHEN typeof(x) IN {_WHOLE} THEN CAST(x AS BIGINT) ELSE CAST(floor(CAST(x AS DOUBLE)) AS BIGINT) END",
    "spark_is_plain(x) AS x = 0 OR abs(x) >= 0.001 AND abs(x) < 1e7",
    f"spark_text(x) AS CASE WHEN x IS NULL THEN NULL"
    f" WHEN typeof(x) IN {_WHOLE} OR typeof(x) IN ('VARCHAR', 'BOOLEAN') THEN CAST(x AS VARCHAR)"
    " WHEN typeof(x) = 'DOUBLE' AND spark_is_plain(TRY_CAST(x AS DOUBLE)) THEN CAST(x AS VARCHAR)"
    " ELSE spark_fail_text('a value that Spark writes otherwise') END",
    # Lists; `i` is a place in one, from 0 in Spark, from 1 in DuckDB.
    "spark_at(l, i) AS CASE WHEN i >= 0 AND i < len(l) THEN l[i + 1]"
    " WHEN l IS NOT NULL AND i IS NOT NULL THEN error('beyond the end of a list') END",
    "spark_element_at(l, i) AS CASE WHEN i != 0 AND abs(i) <= len(l) THEN l[i]"
    " WHEN l IS NOT NULL AND i IS NOT NULL THEN error('beyond the end of a list') END",
    "spark_try_element_at(l, i) AS CASE WHEN i = 0 THEN error('no place in a list') ELSE l[i] END",
    "spark_get(l, i) AS CASE WHEN i >= 0 THEN l[i + 1] END",
    "spark_contains(l, x) AS CASE WHEN l IS NOT NULL AND x IS NOT NULL THEN list_contains(l, x) END",
    "spark_position(l, x) AS CASE WHEN l IS NOT NULL AND x IS NOT NULL THEN coalesce(list_position(l, x), 0) END",
    "spark_except(a, b) AS CASE WHEN b IS NOT NULL THEN"
    " list_filter(a, lambda e_, i_: list_position(a, e_) = i_ AND NOT list_contains(b, e_)) END",
    "spark_intersect(a, b) AS CASE WHEN b IS NOT NULL THEN"
    " list_filter(a, lambda e_, i_: list_position(a, e_) = i_ AND list_contains(b, e_)) END",
    f"spark_join(l, s) AS CASE WHEN typeof(l) IN {_LISTS} THEN array_to_string(l, s) ELSE spark_fail_text('other lists') END",
    "spark_sequence(a, b) AS CASE WHEN a <= b THEN generate_series(a, b) ELSE generate_series(a, b, -1) END",
    "spark_str_to_map(t, p, s) AS map_from_entries(list_transform(string_split(CAST(t AS VARCHAR), p), lambda e_:"
    " {'key': split_part(e_, s, 1), 'value': CASE WHEN contains(e_, s) THEN substr(e_, instr(e_, s) + length(s)) END}))",
    "spark_map_json(m) AS CASE WHEN typeof(m) = 'MAP(VARCHAR, VARCHAR)' THEN CAST(to_json(m) AS VARCHAR)"
    " ELSE spark_fail_text('JSON of another type') END",
)
