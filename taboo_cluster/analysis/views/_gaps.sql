-- The numbers of every comparison of two cells' retention (view _compared): second minus first.
-- Both R over the n items scored for both cells and their baselines, each R on what its own baseline got right; ci, p,
-- mde: bootstrap over clusters of items, all four counts recomputed (n_dropped resamples had a zero denominator).
-- newcombe: hybrid score interval, conservative. gap_matched: on the n_matched items right in both baselines, with its
-- paired bootstrap and exact McNemar. q: Benjamini-Hochberg over all comparisons of the kind. selection: gap and
-- gap_matched differ in sign. within_noise: the interval of gap - (the same gap of the baselines' replicate 1) includes 0.
WITH pairs AS MATERIALIZED (
    SELECT cell_id, benchmark, item_id, cluster_id, gold, question_hash, has_baseline, scored,
           baseline_correct, correct, again_correct
    FROM _pairs
),
compared AS MATERIALIZED (FROM _compared),
items AS (
    SELECT
        first_cell,
        second_cell,
        a.cluster_id,
        a.scored AND b.scored AS scored,
        a.has_baseline AND b.has_baseline AS recorded,
        a.baseline_correct AS in_1, a.correct AS right_1, a.again_correct AS again_1,
        b.baseline_correct AS in_2, b.correct AS right_2, b.again_correct AS again_2
    FROM compared
    JOIN pairs AS a ON a.cell_id = first_cell
    JOIN pairs AS b ON b.cell_id = second_cell AND b.item_id = a.item_id
    WHERE CASE
        WHEN a.gold <> b.gold OR a.question_hash <> b.question_hash
        THEN CAST(error(format(
            'item {} of {} has another question or gold answer for {} than for {}',
            a.item_id, a.benchmark, compared.first_name, compared.second_name
        )) AS BOOLEAN)
        ELSE true
    END
),
clusters AS (
    SELECT
        first_cell,
        second_cell,
        cluster_id,
        count(*) FILTER (recorded) AS n_recorded,
        count(*) FILTER (recorded AND NOT scored) AS n_error,
        count(*) FILTER (scored) AS n,
        count(*) FILTER (scored AND in_1) AS n_1,
        count(*) FILTER (scored AND in_1 AND right_1) AS k_1,
        count(*) FILTER (scored AND in_2) AS n_2,
        count(*) FILTER (scored AND in_2 AND right_2) AS k_2,
        count(*) FILTER (scored AND in_1 AND in_2) AS n_matched,
        count(*) FILTER (scored AND in_1 AND in_2 AND right_1) AS k_1_matched,
        count(*) FILTER (scored AND in_1 AND in_2 AND right_2) AS k_2_matched,
        count(*) FILTER (scored AND in_1 AND in_2 AND right_1 AND NOT right_2) AS only_1,
        count(*) FILTER (scored AND in_1 AND in_2 AND right_2 AND NOT right_1) AS only_2,
        -- for within_noise: items with an A/A replicate on both sides
        count(*) FILTER (again AND in_1) AS n_1_noise,
        count(*) FILTER (again AND in_1 AND right_1) - count(*) FILTER (again AND in_1 AND again_1) AS k_1_noise,
        count(*) FILTER (again AND in_2) AS n_2_noise,
        count(*) FILTER (again AND in_2 AND right_2) - count(*) FILTER (again AND in_2 AND again_2) AS k_2_noise
    FROM (SELECT *, scored AND again_1 IS NOT NULL AND again_2 IS NOT NULL AS again FROM items)
    GROUP BY first_cell, second_cell, cluster_id
),
sums AS MATERIALIZED (
    SELECT
        first_cell,
        second_cell,
        CAST(sum(n_recorded) AS BIGINT) AS n_recorded,
        CAST(sum(n_error) AS BIGINT) AS n_error,
        CAST(sum(n) AS BIGINT) AS n,
        CAST(sum(n_1) AS BIGINT) AS n_1, CAST(sum(k_1) AS BIGINT) AS k_1,
        CAST(sum(n_2) AS BIGINT) AS n_2, CAST(sum(k_2) AS BIGINT) AS k_2,
        CAST(sum(n_matched) AS BIGINT) AS n_matched,
        CAST(sum(k_1_matched) AS BIGINT) AS k_1_matched, CAST(sum(k_2_matched) AS BIGINT) AS k_2_matched,
        CAST(sum(only_1) AS BIGINT) AS only_1, CAST(sum(only_2) AS BIGINT) AS only_2,
        bootstrap_gap(any_value(comparison), any_value(cell), histogram([k_2, n_2, k_1, n_1]) FILTER (n > 0)) AS b,
        bootstrap_ratio(
            concat(any_value(comparison), ' matched'),
            any_value(cell),
            histogram([k_2_matched - k_1_matched, n_matched]) FILTER (n_matched > 0)
        ) AS matched,
        bootstrap_gap(
            concat(any_value(comparison), ' within_noise'),
            any_value(cell),
            histogram([k_2_noise, n_2_noise, k_1_noise, n_1_noise]) FILTER (n_1_noise > 0 OR n_2_noise > 0)
        ) AS noise
    FROM clusters
    JOIN compared USING (first_cell, second_cell)
    GROUP BY first_cell, second_cell
),
gaps AS MATERIALIZED (
    SELECT
        *,
        k_1 / nullif(n_1, 0) AS retention_1,
        k_2 / nullif(n_2, 0) AS retention_2,
        k_2 / nullif(n_2, 0) - k_1 / nullif(n_1, 0) AS gap,
        (k_2_matched - k_1_matched) / nullif(n_matched, 0) AS gap_matched,
        newcombe(k_2, n_2, k_1, n_1) AS score_interval,
        CASE WHEN n_matched > 0 THEN mcnemar(only_1, only_2) END AS p_mcnemar
    FROM compared
    LEFT JOIN sums USING (first_cell, second_cell)
),
q_gap AS (
    SELECT
        unnest(list(cell ORDER BY cell)) AS cell,
        unnest(benjamini_hochberg(list(b.p ORDER BY cell))) AS q
    FROM gaps
    WHERE gap IS NOT NULL AND b.p IS NOT NULL
    GROUP BY kind
),
q_matched AS (
    SELECT
        unnest(list(cell ORDER BY cell)) AS cell,
        unnest(benjamini_hochberg(list(p_mcnemar ORDER BY cell))) AS q_mcnemar
    FROM gaps
    WHERE p_mcnemar IS NOT NULL
    GROUP BY kind
)
SELECT
    kind,
    first_cell,
    second_cell,
    gap,
    CASE WHEN gap IS NOT NULL THEN b.low END AS ci_low,
    CASE WHEN gap IS NOT NULL THEN b.high END AS ci_high,
    coalesce(gaps.n, 0) AS n,
    retention_1, coalesce(n_1, 0) AS n_1,
    retention_2, coalesce(n_2, 0) AS n_2,
    CASE WHEN gap IS NOT NULL THEN b.p END AS p,
    q,
    CASE WHEN gap IS NOT NULL THEN b.mde END AS mde,
    b.dropped AS n_dropped,
    score_interval.low AS newcombe_low,
    score_interval.high AS newcombe_high,
    gap_matched,
    matched.low AS gap_matched_ci_low,
    matched.high AS gap_matched_ci_high,
    coalesce(n_matched, 0) AS n_matched,
    p_mcnemar,
    q_mcnemar,
    matched.mde AS mde_matched,
    sign(gap) <> sign(gap_matched) AS selection,
    CAST(sign(gap) <> sign(gap_matched) AS INTEGER) AS selection_int,
    noise.low <= 0 AND noise.high >= 0 AS within_noise,
    CAST(noise.low <= 0 AND noise.high >= 0 AS INTEGER) AS within_noise_int,
    coalesce(gaps.n_error, 0) AS n_error,
    greatest(least(items_1.n_items, items_2.n_items) - coalesce(n_recorded, 0), 0) AS n_missing
FROM gaps
JOIN _items AS items_1 ON items_1.baseline_id = first_baseline
JOIN _items AS items_2 ON items_2.baseline_id = second_baseline
LEFT JOIN q_gap USING (cell)
LEFT JOIN q_matched USING (cell)
