-- How much of the drop does reasoning before the answer (prompt_style cot) take away?
-- One row per model, benchmark, stack and seed that were run in both styles, and one over all of them (perturbation
-- null, n_perturbations: the mean drop), on the n items scored in both styles, clean and perturbed, each style against
-- its own clean prompt. cot_relief = 1 - drop_cot / drop_direct; null where drop_direct's interval includes 0. drops
-- and their intervals in percentage points; ci: paired bootstrap over clusters of items. error_direct, error_cot: 1 -
-- clean accuracy.
WITH styled AS (
    SELECT
        _perturbed.*,
        cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting, chance, sample_seed, condition,
                         perturbations, perturbation_seed, fragment_p),
        cells.chance AS chance_of_benchmark,
        CAST(ROW(_perturbed.model_id, benchmark, split, n_shots, taboo_rank, taboo_trigger, taboo_word_start,
                 taboo_trigger_params, temperature, top_p, _perturbed.sample_seed) AS VARCHAR) AS subject
    FROM _perturbed
    JOIN cells USING (cell_id)
),
pairs AS (
    SELECT
        subject,
        d.cell_id, d.cell, d.clusters, d.variant_id, d.perturbation, d.family,
        d.common & c.common AS common,
        d.clean_correct AS clean_direct, c.clean_correct AS clean_cot,
        d.correct AS direct, c.correct AS cot
    FROM styled AS d
    JOIN styled AS c USING (subject, variant_id)
    WHERE d.prompt_style = 'direct' AND c.prompt_style = 'cot'
),
together AS (
    SELECT
        subject,
        variant_id,
        min(cell_id) AS cell_id,
        min(cell) AS cell,
        any_value(clusters) AS clusters,
        CASE WHEN variant_id IS NOT NULL THEN any_value(perturbation) END AS perturbation,
        CASE WHEN variant_id IS NOT NULL THEN any_value(family) END AS family,
        count(*) AS n_perturbations,
        bit_and(common) AS common,
        any_value(clean_direct) AS clean_direct,
        any_value(clean_cot) AS clean_cot,
        list(direct ORDER BY family, perturbation, cell_id) AS direct,
        list(cot ORDER BY family, perturbation, cell_id) AS cot
    FROM pairs
    GROUP BY GROUPING SETS ((subject, variant_id), (subject))
    HAVING variant_id IS NOT NULL OR count(*) > 1
),
counted AS (
    SELECT
        *,
        bit_count(common) AS n,
        -- Summed over the perturbations, as the contrasts are.
        CAST(n_perturbations * bit_count(clean_direct & common)
            - list_sum(list_transform(direct, lambda b: bit_count(b & common))) AS BIGINT) AS lost_direct,
        CAST(n_perturbations * bit_count(clean_cot & common)
            - list_sum(list_transform(cot, lambda b: bit_count(b & common))) AS BIGINT) AS lost_cot,
        list_concat(
            [clean_direct::BLOB, clean_cot::BLOB],
            list_transform(direct, lambda b: b::BLOB), list_transform(cot, lambda b: b::BLOB)
        ) AS correct,
        list_concat([n_perturbations, 0], list_transform(direct, lambda b: -1), list_transform(cot, lambda b: 0))
            AS of_direct,
        list_concat([0, n_perturbations], list_transform(direct, lambda b: 0), list_transform(cot, lambda b: -1))
            AS of_cot
    FROM together
),
compared AS MATERIALIZED (
    SELECT
        subject, variant_id, cell_id, perturbation, family, n_perturbations, n, lost_direct, lost_cot,
        bit_count(clean_direct & common) AS k_direct,
        bit_count(clean_cot & common) AS k_cot,
        CASE WHEN n > 0 THEN bootstrap_contrast(
            'cot_relief direct', cell, clusters, common::BLOB, correct, of_direct, false
        ) END AS b_direct,
        CASE WHEN n > 0 THEN bootstrap_contrast(
            'cot_relief cot', cell, clusters, common::BLOB, correct, of_cot, false
        ) END AS b_cot,
        CASE WHEN n > 0 THEN bootstrap_relief(
            'cot_relief', cell, clusters, common::BLOB, correct, of_cot, of_direct
        ) END AS b
    FROM counted
)
SELECT
    cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting, prompt_style, condition, perturbations,
                     perturbation_seed, fragment_p),
    perturbation,
    family,
    CASE WHEN variant_id IS NOT NULL THEN perturbation_seed END AS perturbation_seed,
    CASE WHEN b_direct.low > 0 OR b_direct.high < 0 THEN 1 - lost_cot / lost_direct END AS cot_relief,
    CASE WHEN b_direct.low > 0 OR b_direct.high < 0 THEN b.low END AS ci_low,
    CASE WHEN b_direct.low > 0 OR b_direct.high < 0 THEN b.high END AS ci_high,
    n,
    100 * lost_direct / nullif(n * n_perturbations, 0) AS drop_direct,
    100 * b_direct.low / n_perturbations AS drop_direct_ci_low,
    100 * b_direct.high / n_perturbations AS drop_direct_ci_high,
    100 * lost_cot / nullif(n * n_perturbations, 0) AS drop_cot,
    100 * b_cot.low / n_perturbations AS drop_cot_ci_low,
    100 * b_cot.high / n_perturbations AS drop_cot_ci_high,
    1 - k_direct / nullif(n, 0) AS error_direct,
    1 - k_cot / nullif(n, 0) AS error_cot,
    n_perturbations,
    b.dropped AS n_dropped,
    CASE
        WHEN n = 0 THEN 'no item is scored in both styles'
        WHEN b_direct.low <= 0 AND b_direct.high >= 0 THEN 'no drop without reasoning: its interval includes 0'
    END AS reason
FROM compared
JOIN cells USING (cell_id)
ORDER BY model, quantization, dtype, benchmark, n_shots, taboo_rank, sample_seed, variant_id IS NULL,
    family, perturbation
