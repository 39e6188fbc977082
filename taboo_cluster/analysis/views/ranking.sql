-- In what order do the models stand, clean and under each perturbation?
-- One row per benchmark, stack and seed (none: the clean prompt) and model, on the n items scored for all n_models
-- there and in the clean prompt. Tied models share the better place. ci: bootstrap over clusters of items, the same for
-- all models. moved: places lost (above 0) or won against clean_place.
SELECT
    cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting),
    perturbation,
    family,
    CASE WHEN n > 0 THEN rank() OVER best END AS place,
    ci.rank_low[list_position(names, name)] AS ci_low,
    ci.rank_high[list_position(names, name)] AS ci_high,
    CASE WHEN n > 0 THEN rank() OVER best_clean END AS clean_place,
    CASE WHEN n > 0 THEN rank() OVER best - rank() OVER best_clean END AS moved,
    k / nullif(n, 0) AS accuracy,
    k_clean / nullif(n, 0) AS clean_accuracy,
    n,
    n_models
FROM _rivals
JOIN cells USING (cell_id)
LEFT JOIN _orders USING (rivals, variant_id)
WINDOW best AS (PARTITION BY rivals, variant_id ORDER BY k DESC),
    best_clean AS (PARTITION BY rivals, variant_id ORDER BY k_clean DESC)
ORDER BY benchmark, prompt_style, n_shots, taboo_rank, sample_seed, perturbation NULLS FIRST,
    perturbation_seed, place, model
