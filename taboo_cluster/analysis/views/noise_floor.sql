-- How much changes when nothing does? Each replicate against replicate 0 of the same cell, over n items scored in both.
-- churn: share whose correctness differs. retention_aa: share of what replicate 0 got right that the replicate gets
-- right. net_change: accuracy of the replicate minus that of replicate 0, with its paired bootstrap interval.
-- pi_aa: prompt share of variance with the two replicates taken as n_variants = 2 variants. flip_rate_aa: share of the
-- n_model_pairs pairs of models not tied in replicate 0 whose order reverses, on the items scored for all models.
WITH twice AS MATERIALIZED (
    SELECT cell_id, r.replicate, r.item_id, r.cluster_id, o.correct AS first, r.correct AS again
    FROM recorded AS r
    JOIN (SELECT cell_id, item_id, correct, gold, question_hash FROM recorded WHERE replicate = 0) AS o
        USING (cell_id, item_id)
    WHERE r.replicate > 0
        AND CASE
            WHEN r.gold <> o.gold OR r.question_hash <> o.question_hash
            THEN CAST(error(format(
                'item {} of {} has another question or gold answer in replicate {} than in replicate 0',
                r.item_id, r.benchmark, r.replicate
            )) AS BOOLEAN)
            ELSE true
        END
),
clusters AS (
    SELECT
        cell_id, replicate, cluster_id,
        count(*) AS n,
        count(*) FILTER (first) AS n_first,
        count(*) FILTER (first AND again) AS n_both,
        count(*) FILTER (again AND NOT first) AS n_gained,
        count(*) FILTER (first AND NOT again) AS n_lost
    FROM twice
    WHERE first IS NOT NULL AND again IS NOT NULL
    GROUP BY cell_id, replicate, cluster_id
),
sums AS MATERIALIZED (
    SELECT
        cell_id,
        replicate,
        CAST(sum(n) AS BIGINT) AS n,
        CAST(sum(n_first) AS BIGINT) AS n_first,
        CAST(sum(n_both) AS BIGINT) AS n_both,
        CAST(sum(n_gained) AS BIGINT) AS n_gained,
        CAST(sum(n_lost) AS BIGINT) AS n_lost,
        bootstrap_ratio('noise_floor', concat(any_value(cell), ' replicate ', replicate), histogram([n_gained - n_lost, n]))
            AS net
    FROM clusters
    JOIN cells USING (cell_id)
    GROUP BY cell_id, replicate
),
variance AS (
    SELECT
        cell_id,
        replicate,
        var_pop((CAST(first AS INTEGER) + CAST(again AS INTEGER)) / 2) AS v_item,
        avg(CASE WHEN first <> again THEN 0.25::DOUBLE ELSE 0.0::DOUBLE END) AS v_prompt
    FROM twice
    WHERE first IS NOT NULL AND again IS NOT NULL
    GROUP BY cell_id, replicate
),
seen AS (
    SELECT cell_id, replicate, count(*) FILTER (first IS NULL OR again IS NULL) AS n_error, count(*) AS n_recorded
    FROM twice
    GROUP BY cell_id, replicate
),
by_item AS (
    SELECT setting, replicate, item_id, cell_id, CAST(first AS INTEGER) AS first, CAST(again AS INTEGER) AS again
    FROM twice
    JOIN cells USING (cell_id)
    WHERE first IS NOT NULL AND again IS NOT NULL
),
models AS (
    SELECT setting, replicate, count(DISTINCT cell_id) AS n_models FROM by_item GROUP BY setting, replicate
),
common AS (
    -- items scored for every model of the benchmark and condition
    SELECT setting, replicate, item_id
    FROM by_item
    JOIN models USING (setting, replicate)
    GROUP BY setting, replicate, item_id
    HAVING count(*) = any_value(n_models)
),
right_answers AS (
    SELECT setting, replicate, cell_id, sum(first) AS first, sum(again) AS again
    FROM by_item
    JOIN common USING (setting, replicate, item_id)
    GROUP BY setting, replicate, cell_id
),
flips AS (
    SELECT
        setting,
        replicate,
        count(*) FILTER (a.first <> b.first) AS n_model_pairs,
        count(*) FILTER (sign(a.first - b.first) * sign(a.again - b.again) = -1) AS n_flips
    FROM right_answers AS a
    JOIN right_answers AS b USING (setting, replicate)
    WHERE a.cell_id < b.cell_id
    GROUP BY setting, replicate
),
scored AS MATERIALIZED (
    SELECT *, wilson(n_gained + n_lost, n) AS churn_ci, wilson(n_both, n_first) AS aa_ci FROM sums
)
SELECT
    cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting),
    replicate,
    (n_gained + n_lost) / nullif(n, 0) AS churn,
    churn_ci.low AS ci_low,
    churn_ci.high AS ci_high,
    coalesce(n, 0) AS n,
    n_both / nullif(n_first, 0) AS retention_aa,
    aa_ci.low AS retention_aa_ci_low,
    aa_ci.high AS retention_aa_ci_high,
    coalesce(n_first, 0) AS n_retention_aa,
    n_gained,
    n_lost,
    (n_gained - n_lost) / nullif(n, 0) AS net_change,
    net.low AS net_change_ci_low,
    net.high AS net_change_ci_high,
    net.mde AS net_change_mde,
    v_prompt / nullif(v_item + v_prompt, 0) AS pi_aa,
    2 AS n_variants,
    n_flips / nullif(n_model_pairs, 0) AS flip_rate_aa,
    coalesce(n_model_pairs, 0) AS n_model_pairs,
    n_error,
    greatest(n_items - n_recorded, 0) AS n_missing
FROM cells
JOIN seen USING (cell_id)
JOIN _items USING (baseline_id)
LEFT JOIN scored USING (cell_id, replicate)
LEFT JOIN variance USING (cell_id, replicate)
LEFT JOIN flips USING (setting, replicate)
ORDER BY model, quantization, dtype, benchmark, taboo_rank, condition, replicate
