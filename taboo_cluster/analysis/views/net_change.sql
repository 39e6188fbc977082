-- How much does each condition change the accuracy, item by item?
-- net_change = accuracy under the condition minus that of the baseline, on the n items scored in both: what is mended
-- (wrong -> right) less what is broken (right -> wrong). ci, p, mde: paired bootstrap over clusters of items; p_mcnemar:
-- exact. q: Benjamini-Hochberg over all rows. within_noise: the paired interval of condition - (replicate 1 of the
-- baseline), over the items with both, includes 0; null without replicates.
WITH clusters AS (
    SELECT
        cell_id,
        baseline_id,
        cluster_id,
        count(*) FILTER (has_baseline) AS n_recorded,
        count(*) FILTER (has_baseline AND NOT scored) AS n_error,
        count(*) FILTER (scored) AS n,
        count(*) FILTER (scored AND baseline_correct) AS n_right,
        count(*) FILTER (scored AND baseline_correct AND NOT correct) AS n_broken,
        count(*) FILTER (scored AND correct AND NOT baseline_correct) AS n_mended,
        count(*) FILTER (scored AND again_correct IS NOT NULL) AS n_noise,
        count(*) FILTER (scored AND again_correct IS NOT NULL AND correct)
            - count(*) FILTER (scored AND again_correct) AS k_noise
    FROM _pairs
    GROUP BY cell_id, baseline_id, cluster_id
),
sums AS MATERIALIZED (
    SELECT
        cell_id,
        any_value(clusters.baseline_id) AS baseline_id,
        any_value(cell) AS cell,
        CAST(sum(n_recorded) AS BIGINT) AS n_recorded,
        CAST(sum(n_error) AS BIGINT) AS n_error,
        CAST(sum(n) AS BIGINT) AS n,
        CAST(sum(n_right) AS BIGINT) AS n_right,
        CAST(sum(n_broken) AS BIGINT) AS n_broken,
        CAST(sum(n_mended) AS BIGINT) AS n_mended,
        bootstrap_ratio('net_change', any_value(cell), histogram([n_mended - n_broken, n]) FILTER (n > 0)) AS b,
        bootstrap_ratio(
            'net_change within_noise', any_value(cell), histogram([k_noise, n_noise]) FILTER (n_noise > 0)
        ) AS noise
    FROM clusters
    JOIN cells USING (cell_id)
    GROUP BY cell_id
),
changes AS MATERIALIZED (
    SELECT *, CASE WHEN n > 0 THEN mcnemar(n_broken, n_mended) END AS p_mcnemar FROM sums
),
q_values AS (
    SELECT
        unnest(list(cell ORDER BY cell)) AS cell,
        unnest(benjamini_hochberg(list(b.p ORDER BY cell))) AS q,
        unnest(benjamini_hochberg(list(p_mcnemar ORDER BY cell))) AS q_mcnemar
    FROM changes
    WHERE n > 0
)
SELECT
    cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting),
    (n_mended - n_broken) / nullif(n, 0) AS net_change,
    b.low AS ci_low,
    b.high AS ci_high,
    n,
    n_right / nullif(n, 0) AS baseline_accuracy,
    (n_right - n_broken + n_mended) / nullif(n, 0) AS accuracy,
    n_broken,
    n_mended,
    b.p,
    q,
    p_mcnemar,
    q_mcnemar,
    b.mde,
    noise.low <= 0 AND noise.high >= 0 AS within_noise,
    CAST(noise.low <= 0 AND noise.high >= 0 AS INTEGER) AS within_noise_int,
    n_error,
    greatest(n_items - n_recorded, 0) AS n_missing
FROM changes
JOIN cells USING (cell_id)
JOIN _items ON _items.baseline_id = changes.baseline_id
LEFT JOIN q_values ON q_values.cell = changes.cell
ORDER BY model, quantization, dtype, benchmark, taboo_rank, condition, sample_seed
