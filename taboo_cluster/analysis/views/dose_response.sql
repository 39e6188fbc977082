-- How does retention fall with the dose? One point per cell (greedy), one curve per model, benchmark and kind of taboo.
-- Every curve starts at its rank-0 point: R = 1 at 0 bits, by definition. dose_bits: bits per intervention, pooled over
-- the trials in R's denominator; bits_per_token: per generated token. The fitted curves are in view dose_curve.
WITH points AS (
    SELECT
        cells.* EXCLUDE (cell_id, is_baseline, cell, setting),
        numbers.* EXCLUDE (cell_id),
        truncated_share,
        _paper.retention AS paper
    FROM cells
    JOIN _retention AS numbers USING (cell_id)
    LEFT JOIN _paper USING (cell_id)
    JOIN (SELECT cell_id, truncated_share FROM _accuracy) USING (cell_id)
    WHERE taboo_rank > 0 AND temperature = 0
),
curves AS (
    SELECT DISTINCT ON (
        baseline_id, perturbations, perturbation_seed, fragment_p, taboo_trigger, taboo_word_start, taboo_trigger_params
    ) *
    FROM points
),
origins AS (
    SELECT
        curves.* REPLACE (
            0 AS taboo_rank,
            'baseline' AS condition,
            1.0::DOUBLE AS retention,
            0.0::DOUBLE AS dose_bits,
            0.0::DOUBLE AS bits_per_token,
            0.0::DOUBLE AS interventions_per_trial,
            0.0::DOUBLE AS interventions_per_word,
            baseline.n_correct AS n,
            baseline.n_error AS n_error,
            baseline.n_missing AS n_missing,
            baseline.truncated_share AS truncated_share,
            1.0::DOUBLE AS length_ratio,
            NULL::DOUBLE AS ci_low,
            NULL::DOUBLE AS ci_high,
            NULL::DOUBLE AS ci_low_cluster,
            NULL::DOUBLE AS ci_high_cluster,
            NULL::BOOLEAN AS within_noise,
            NULL::INTEGER AS within_noise_int,
            NULL::VARCHAR AS paper
        )
    FROM curves
    JOIN (
        SELECT baseline_id, n_correct, n_error, n_missing, truncated_share
        FROM _accuracy JOIN cells USING (cell_id) WHERE is_baseline
    ) AS baseline USING (baseline_id)
)
SELECT
    model, model_revision, model_family, size_b, aligned, stage, pair, quantization, dtype, engine,
    benchmark, split, prompt_style, n_shots, condition, perturbations, perturbation_seed, fragment_p,
    taboo_trigger, taboo_word_start, taboo_trigger_params, taboo_rank,
    dose_bits, bits_per_token, interventions_per_trial, interventions_per_word,
    retention, ci_low, ci_high, ci_low_cluster, ci_high_cluster, n, n_error, n_missing,
    within_noise, within_noise_int, length_ratio, truncated_share, paper
FROM (FROM origins UNION ALL BY NAME FROM points)
ORDER BY model, quantization, dtype, benchmark, taboo_trigger, taboo_word_start, taboo_rank
