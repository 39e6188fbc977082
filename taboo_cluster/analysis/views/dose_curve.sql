-- What share is retained at 1, 2 and 4 bits, whatever the rank? One row per model, benchmark and kind of taboo (greedy).
-- A falling logistic curve through (0 bits, 1) and the cells of the ranks, each weighted by its n, and an isotonic one
-- that is straight between cells: R(x) = (1 + exp(-steepness midpoint)) / (1 + exp(steepness (x - midpoint))).
-- Dose: bits per intervention, pooled over R's denominator; per generated token for trigger `sparse`. Read off from 0 to
-- the greatest dose (below dose_min on the word of (0, 1) alone), null beyond; half_dose: where the logistic curve is at
-- 1/2; residual: root mean square from it. ci: every curve refitted in 2,000 resamples of clusters of items, doses
-- recomputed (n_dropped had a rank without denominator or dose). n: items in some rank's denominator; n_points: ranks.
WITH cells_of_curves AS (
    SELECT
        *,
        hash(baseline_id, stack_hash(perturbations, perturbation_seed), fragment_p, taboo_trigger, taboo_word_start,
             taboo_trigger_params) AS curve_id
    FROM cells
    WHERE taboo_rank > 0 AND temperature = 0
),
kept AS MATERIALIZED (
    SELECT
        curve_id, taboo_rank, item_id, cluster_id, correct, surprisal_total,
        CASE WHEN taboo_trigger = 'sparse' THEN completion_tokens ELSE interventions END AS steps
    FROM _pairs
    JOIN cells_of_curves USING (cell_id)
    WHERE scored AND baseline_correct
),
clusters AS (
    SELECT
        curve_id, taboo_rank, cluster_id,
        count(*) FILTER (correct) AS k,
        count(*) AS n,
        CAST(coalesce(sum(surprisal_total), 0) AS DOUBLE) AS bits,
        CAST(coalesce(sum(steps), 0) AS DOUBLE) AS steps
    FROM kept
    GROUP BY curve_id, taboo_rank, cluster_id
),
named AS (
    SELECT curve_id, min(cell) AS cell, any_value(COLUMNS(* EXCLUDE (curve_id, cell)))
    FROM cells_of_curves
    GROUP BY curve_id
),
curves AS MATERIALIZED (
    SELECT
        curve_id,
        dose_curve(any_value(cell), list(taboo_rank), list(cluster_id), list(k), list(n), list(bits), list(steps)) AS c
    FROM clusters
    JOIN (SELECT curve_id, cell FROM named) USING (curve_id)
    GROUP BY curve_id
),
items AS (
    SELECT curve_id, count(DISTINCT item_id) AS n FROM kept GROUP BY curve_id
)
SELECT
    model, model_revision, model_family, size_b, aligned, stage, pair, quantization, dtype, engine,
    benchmark, split, prompt_style, n_shots, perturbations, perturbation_seed, fragment_p,
    taboo_trigger, taboo_word_start, taboo_trigger_params,
    c.logistic[1].value AS retention_at_1_bit,
    c.logistic[1].low AS retention_at_1_bit_ci_low,
    c.logistic[1].high AS retention_at_1_bit_ci_high,
    c.logistic[2].value AS retention_at_2_bits,
    c.logistic[2].low AS retention_at_2_bits_ci_low,
    c.logistic[2].high AS retention_at_2_bits_ci_high,
    c.logistic[3].value AS retention_at_4_bits,
    c.logistic[3].low AS retention_at_4_bits_ci_low,
    c.logistic[3].high AS retention_at_4_bits_ci_high,
    c.isotonic[1].value AS isotonic_at_1_bit,
    c.isotonic[1].low AS isotonic_at_1_bit_ci_low,
    c.isotonic[1].high AS isotonic_at_1_bit_ci_high,
    c.isotonic[2].value AS isotonic_at_2_bits,
    c.isotonic[2].low AS isotonic_at_2_bits_ci_low,
    c.isotonic[2].high AS isotonic_at_2_bits_ci_high,
    c.isotonic[3].value AS isotonic_at_4_bits,
    c.isotonic[3].low AS isotonic_at_4_bits_ci_low,
    c.isotonic[3].high AS isotonic_at_4_bits_ci_high,
    c.half_dose.value AS half_dose,
    c.half_dose.low AS half_dose_ci_low,
    c.half_dose.high AS half_dose_ci_high,
    c.steepness,
    c.midpoint,
    c.residual,
    c.dose_min,
    c.dose_max,
    coalesce(n, 0) AS n,
    coalesce(c.n_points, 0) AS n_points,
    c.dropped AS n_dropped,
    CASE WHEN c IS NULL THEN 'no item right in the baseline' ELSE c.reason END AS reason
FROM named
LEFT JOIN curves USING (curve_id)
LEFT JOIN items USING (curve_id)
ORDER BY model, quantization, dtype, benchmark, taboo_trigger, taboo_word_start, taboo_trigger_params
