-- How many items does a model get right whatever the wording, and how often do two wordings agree?
-- One row per model and benchmark, on the n items scored in the clean prompt and under every variant (n_variants, the
-- clean prompt included). worst_case: right under every variant; best_case: right under one at least. consistency: mean
-- over pairs of variants of the share of items on which both are right or both wrong. ci: Wilson, for items in clusters
-- and for consistency the bootstrap over clusters. worst_case falls and best_case rises with n_variants without any
-- effect.
WITH together AS (
    SELECT
        clean_id,
        any_value(cell_id) FILTER (clean) AS cell_id,
        any_value(cell) FILTER (clean) AS cell,
        any_value(task) AS task,
        any_value(clusters) AS clusters,
        any_value(n_clusters < n_items) AS clustered,
        count(*) AS n_variants,
        bit_and(scored) AS common,
        bit_and(correct) AS always,
        bit_or(correct) AS ever,
        bit_or(correct) FILTER (clean) AS clean_correct,
        list(correct::BLOB ORDER BY clean DESC, variant_id) AS corrects
    FROM _variants
    WHERE replicate = 0
    GROUP BY clean_id
    HAVING bool_or(clean)
),
counted AS MATERIALIZED (
    SELECT
        *,
        bit_count(common) AS n,
        bit_count(always & common) AS k_worst,
        bit_count(ever & common) AS k_best,
        bit_count(clean_correct & common) AS k_clean,
        wilson(bit_count(always & common), bit_count(common)) AS ci,
        CASE WHEN bit_count(common) > 0 AND clustered THEN bootstrap_contrast(
            'worst_case', cell, clusters, common::BLOB, [always::BLOB], [1], false
        ) END AS b,
        CASE WHEN bit_count(common) > 0 THEN brittleness(
            [clusters], [common::BLOB], [corrects], [1], list_transform(corrects, lambda c: 'any')
        ).v_prompt END AS v_prompt,
        CASE WHEN bit_count(common) > 0 THEN bootstrap_pi(
            'worst_case consistency', cell, [task], [clusters], [common::BLOB], [corrects], [1]
        ) END AS v
    FROM together
)
SELECT
    cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting, condition, perturbations, perturbation_seed,
                     fragment_p),
    k_worst / nullif(n, 0) AS worst_case,
    CASE WHEN clustered THEN b.low ELSE ci.low END AS ci_low,
    CASE WHEN clustered THEN b.high ELSE ci.high END AS ci_high,
    n,
    n_variants,
    k_clean / nullif(n, 0) AS clean_accuracy,
    k_best / nullif(n, 0) AS best_case,
    -- Two variants differ on an item in 2 J / (J - 1) times its variance over variants.
    1 - 2 * n_variants / nullif(n_variants - 1, 0) * v_prompt AS consistency,
    1 - 2 * n_variants / nullif(n_variants - 1, 0) * v.prompt_high AS consistency_ci_low,
    1 - 2 * n_variants / nullif(n_variants - 1, 0) * v.prompt_low AS consistency_ci_high,
    _items.n_items - n AS n_incomplete,
    CASE WHEN n = 0 THEN 'no item is scored under every variant' END AS reason
FROM counted
JOIN cells USING (cell_id)
JOIN _items USING (baseline_id)
ORDER BY model, quantization, dtype, benchmark, prompt_style, taboo_rank, sample_seed
