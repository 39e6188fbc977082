-- How much does the worst perturbation of each family cost, and how far do accuracies spread?
-- One row per model, benchmark and family, on the n items scored in the clean prompt and under all n_perturbations (K)
-- variants (a stack and a seed are one). drop = clean accuracy - lowest, range = highest - lowest, the clean prompt
-- included; in percentage points. Both grow with K without any effect: drop_aa, range_aa are their means over clean
-- replicates with shuffled labels, drop_aa_high the 95% quantile, within_noise: drop is no larger. drop_cross_fitted:
-- the worst one chosen on one half of the clusters and measured on the other, mean of 8 halvings both ways round.
-- drop_relative = 1 - lowest / clean; drop_adjusted, lowest_adjusted: with (accuracy - chance) / (1 - chance).
-- drop_changed, retention_changed: all n_changed texts of the family that really changed, pooled. Family names of a
-- stack are joined by arrows.
WITH variants AS MATERIALIZED (FROM _families),
worst AS (
    SELECT
        clean_id,
        family,
        min(cell_id) AS cell_id,
        any_value(n) AS n,
        any_value(k_clean) AS k_clean,
        any_value(n_perturbations) AS n_perturbations,
        min(k) AS lowest,
        max(k) AS highest,
        arg_min(perturbation, (k, perturbation, variant_id)) AS worst_perturbation,
        CAST(sum(bit_count(common & changed)) AS BIGINT) AS n_changed,
        CAST(sum(bit_count(common & changed & correct)) AS BIGINT) AS k_changed,
        CAST(sum(bit_count(common & changed & clean_correct)) AS BIGINT) AS k_clean_changed,
        CAST(sum(bit_count(common & changed & clean_correct & correct)) AS BIGINT) AS k_retained,
        any_value(bit_count(common & again_scored)) AS n_aa,
        any_value(bit_count(xor(clean_correct, again_correct) & common & again_scored)) AS n_churn,
        min(least(n_recorded, n_clean)) AS n_recorded
    FROM variants
    GROUP BY clean_id, family
),
halved AS (
    SELECT clean_id, family, way, side, variant_id, perturbation,
        bit_count(correct & common & chosen) AS k_chosen,
        bit_count(common & chosen) AS n_chosen,
        bit_count((clean_correct & common & ~chosen)) - bit_count(correct & common & ~chosen) AS lost,
        bit_count(common & ~chosen) AS n_other
    FROM (
        SELECT *, CASE WHEN side = 1 THEN halves[way] ELSE ~halves[way] END AS chosen
        FROM variants, range(1, 9) AS ways (way), (VALUES (1), (2)) AS sides (side)
    )
),
crossed AS (
    SELECT clean_id, family, way, side,
        arg_min(lost, (k_chosen, perturbation, variant_id)) / any_value(n_other) AS drop
    FROM halved
    WHERE n_chosen > 0 AND n_other > 0
    GROUP BY clean_id, family, way, side
),
cross_fitted AS (
    SELECT clean_id, family, avg(drop) AS drop FROM crossed GROUP BY clean_id, family
),
compared AS MATERIALIZED (
    SELECT *, CASE WHEN n > 0 AND n_aa > 0 THEN null_drop(n_churn, n_aa, n_perturbations) END AS aa,
        wilson(k_retained, k_clean_changed) AS changed_ci
    FROM worst
)
SELECT
    cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting, condition, perturbations, perturbation_seed,
                     fragment_p),
    family,
    100 * (k_clean - lowest) / nullif(n, 0) AS drop,
    100 * (greatest(k_clean, highest) - least(k_clean, lowest)) / nullif(n, 0) AS range,
    n_perturbations,
    n,
    k_clean / nullif(n, 0) AS clean_accuracy,
    lowest / nullif(n, 0) AS lowest_accuracy,
    CASE WHEN n > 0 THEN worst_perturbation END AS worst_perturbation,
    100 * aa.drop AS drop_aa,
    100 * aa.drop_high AS drop_aa_high,
    100 * aa.range AS range_aa,
    (k_clean - lowest) / nullif(n, 0) <= aa.drop_high + 1e-12 AS within_noise,
    CAST((k_clean - lowest) / nullif(n, 0) <= aa.drop_high + 1e-12 AS INTEGER) AS within_noise_int,
    100 * cross_fitted.drop AS drop_cross_fitted,
    1 - lowest / nullif(k_clean, 0) AS drop_relative,
    (lowest / nullif(n, 0) - chance) / (1 - chance) AS lowest_adjusted,
    100 * (k_clean - lowest) / nullif(n, 0) / (1 - chance) AS drop_adjusted,
    100 * (k_clean_changed - k_changed) / nullif(n_changed, 0) AS drop_changed,
    k_retained / nullif(k_clean_changed, 0) AS retention_changed,
    changed_ci.low AS retention_changed_ci_low,
    changed_ci.high AS retention_changed_ci_high,
    k_clean_changed AS n_retention_changed,
    n_changed,
    n * n_perturbations - n_changed AS n_unchanged,
    n_recorded - n AS n_error,
    greatest(n_items - n_recorded, 0) AS n_missing,
    nullif(concat_ws('; ',
        CASE WHEN n = 0 THEN 'no item scored in the clean prompt and every perturbation' END,
        CASE WHEN n > 0 AND aa IS NULL THEN 'no replicate of the clean prompt, so no noise floor' END,
        CASE WHEN n > 0 AND n_changed = 0 THEN 'no text was changed' END
    ), '') AS reason
FROM compared
JOIN cells USING (cell_id)
JOIN _items USING (baseline_id)
LEFT JOIN cross_fitted USING (clean_id, family)
ORDER BY model, quantization, dtype, benchmark, prompt_style, taboo_rank, family, sample_seed
