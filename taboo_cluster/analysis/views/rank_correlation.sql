-- Does one perturbation reorder the models?
-- One row per benchmark, stack and seed against the clean prompt, on the n items scored for all n_models in both.
-- spearman (average ranks) and kendall (tau-b) with bootstrap intervals over clusters of items. flip_rate: of the
-- n_pairs pairs not tied on clean, the share whose order reverses (a pair that becomes tied does not); order_changed:
-- any does; flip_significant: any does with exact McNemar below 0.05 on both sides. Beside each its A/A value, the mean
-- over clean replicates 0 and 1 with shuffled labels: what no effect looks like. paper: Spearman of the paper
-- (paper_brittleness).
WITH flips AS (
    SELECT
        rivals,
        variant_id,
        count(*) FILTER (clean_gap > 0) AS n_pairs,
        count(*) FILTER (flipped) AS n_flips,
        count(*) FILTER (p_clean < 0.05 AND p_perturbed < 0.05) AS n_flips_significant
    FROM _flips
    GROUP BY rivals, variant_id
),
replicated AS (
    SELECT
        a.rivals,
        a.setting,
        concat_ws(' ', a.model, a.model_revision, a.quantization, a.dtype, a.engine) AS name,
        a.scored & b.scored AS scored,
        a.correct AS first,
        b.correct AS again
    FROM _variants AS a
    JOIN _variants AS b USING (cell_id)
    WHERE a.clean AND a.replicate = 0 AND b.replicate = 1 AND bit_count(a.scored & b.scored) > 0
),
repeated AS (
    SELECT
        rivals,
        any_value(setting) AS setting,
        list(bit_count(first & again & common) ORDER BY name) AS right_twice,
        list(bit_count(xor(first, again) & common) ORDER BY name) AS discordant
    FROM (SELECT *, bit_and(scored) OVER (PARTITION BY rivals) AS common FROM replicated)
    GROUP BY rivals
),
again AS MATERIALIZED (
    SELECT rivals, shuffled_ranks('rank_correlation', setting, right_twice, discordant) AS aa
    FROM repeated
),
named AS (
    SELECT
        rivals, variant_id,
        any_value(cell_id) AS cell_id,
        any_value(perturbation) AS perturbation,
        any_value(family) AS family,
        any_value(n) AS n,
        any_value(n_models) AS n_models,
        min(k_clean) = max(k_clean) OR min(k) = max(k) AS constant
    FROM _rivals
    WHERE NOT clean
    GROUP BY rivals, variant_id
)
SELECT
    cells.benchmark, cells.chance, split, prompt_style, n_shots, condition, perturbations, perturbation_seed,
    taboo_rank, taboo_trigger, taboo_word_start, taboo_trigger_params, temperature, top_p, sample_seed,
    named.perturbation,
    named.family,
    spearman,
    CASE WHEN spearman IS NOT NULL THEN ci.spearman_low END AS ci_low,
    CASE WHEN spearman IS NOT NULL THEN ci.spearman_high END AS ci_high,
    aa.spearman AS spearman_aa,
    kendall,
    CASE WHEN kendall IS NOT NULL THEN ci.kendall_low END AS kendall_ci_low,
    CASE WHEN kendall IS NOT NULL THEN ci.kendall_high END AS kendall_ci_high,
    aa.kendall AS kendall_aa,
    named.n,
    n_models,
    n_flips / nullif(n_pairs, 0) AS flip_rate,
    aa.flip_rate AS flip_rate_aa,
    coalesce(n_pairs, 0) AS n_pairs,
    coalesce(n_flips, 0) AS n_flips,
    n_flips > 0 AS order_changed,
    CAST(n_flips > 0 AS INTEGER) AS order_changed_int,
    aa.order_changed AS order_changed_aa,
    n_flips_significant > 0 AS flip_significant,
    CAST(n_flips_significant > 0 AS INTEGER) AS flip_significant_int,
    ci.dropped AS n_dropped,
    figure AS paper,
    nullif(concat_ws('; ',
        CASE WHEN named.n = 0 THEN 'no item is scored for all models' END,
        CASE WHEN named.n > 0 AND n_models < 3 THEN 'fewer than three models' END,
        CASE WHEN named.n > 0 AND n_models > 2 AND constant THEN 'all models are tied' END,
        CASE WHEN aa IS NULL THEN 'no replicate of the clean prompt, so no A/A value' END
    ), '') AS reason
FROM named
JOIN cells USING (cell_id)
LEFT JOIN _orders USING (rivals, variant_id)
LEFT JOIN flips USING (rivals, variant_id)
LEFT JOIN again USING (rivals)
LEFT JOIN paper_brittleness AS paper ON paper.kind = 'spearman' AND paper.family = named.family
ORDER BY cells.benchmark, prompt_style, n_shots, taboo_rank, sample_seed, named.family, named.perturbation,
    perturbation_seed
