-- Do two perturbations together cost more than the sum of each alone, and does their order matter?
-- One row per model, benchmark and stack of two (first, then second), with both members alone under the same seed: the
-- same draws. interaction = drop - drop_first - drop_second in percentage points, on the n items scored in all four;
-- super_additive: its interval is above 0. interaction_log_odds: the same of ln((k + 1/2) / (n - k + 1/2)), which knows
-- neither floor nor ceiling. asymmetry = drop - drop_reversed, on the n_asymmetry items scored in both orders; null
-- without the reversed stack. ci, p, mde: bootstrap over clusters of items; q: Benjamini-Hochberg over all rows. paper:
-- the paper's figure (view paper_brittleness).
WITH alone AS MATERIALIZED (
    SELECT _perturbed.*, perturbations, perturbation_seed FROM _perturbed JOIN cells USING (cell_id)
),
stacks AS (
    SELECT
        ab.cell_id, ab.cell, ab.clusters,
        a.perturbation AS first,
        b.perturbation AS second,
        ab.common & a.common & b.common AS common,
        ab.clean_correct, ab.correct, a.correct AS correct_first, b.correct AS correct_second,
        CASE WHEN a.perturbation <> b.perturbation THEN ab.common & ba.common END AS common_reversed,
        CASE WHEN a.perturbation <> b.perturbation THEN ba.correct END AS correct_reversed
    FROM alone AS ab
    JOIN alone AS a ON a.clean_id = ab.clean_id AND a.perturbation_seed = ab.perturbation_seed
        AND a.perturbations = ab.perturbations[1:1]
    JOIN alone AS b ON b.clean_id = ab.clean_id AND b.perturbation_seed = ab.perturbation_seed
        AND b.perturbations = ab.perturbations[2:2]
    LEFT JOIN alone AS ba ON ba.clean_id = ab.clean_id AND ba.perturbation_seed = ab.perturbation_seed
        AND ba.perturbations = [ab.perturbations[2], ab.perturbations[1]]
    WHERE len(ab.perturbations) = 2
),
counted AS (
    SELECT
        *,
        bit_count(common) AS n,
        bit_count(clean_correct & common) AS k_clean,
        bit_count(correct & common) AS k,
        bit_count(correct_first & common) AS k_first,
        bit_count(correct_second & common) AS k_second,
        coalesce(bit_count(common_reversed), 0) AS n_asymmetry,
        bit_count(correct & common_reversed) AS k_forward,
        bit_count(correct_reversed & common_reversed) AS k_reversed,
        [clean_correct::BLOB, correct::BLOB, correct_first::BLOB, correct_second::BLOB] AS four
    FROM stacks
),
compared AS MATERIALIZED (
    SELECT
        * EXCLUDE (clusters, common, clean_correct, correct, correct_first, correct_second, common_reversed,
                   correct_reversed, four),
        CASE WHEN n > 0 THEN bootstrap_contrast(
            'compounding', cell, clusters, common::BLOB, four, [-1, -1, 1, 1], false
        ) END AS b,
        CASE WHEN n > 0 THEN bootstrap_contrast(
            'compounding log_odds', cell, clusters, common::BLOB, four, [-1, -1, 1, 1], true
        ) END AS logs,
        CASE WHEN n_asymmetry > 0 THEN bootstrap_contrast(
            'compounding asymmetry', cell, clusters, common_reversed::BLOB,
            [correct_reversed::BLOB, correct::BLOB], [1, -1], false
        ) END AS turned
    FROM counted
),
q_values AS (
    SELECT
        unnest(list(cell ORDER BY cell)) AS cell,
        unnest(benjamini_hochberg(list(b.p ORDER BY cell))) AS q
    FROM compared
    WHERE n > 0
)
SELECT
    cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting),
    first,
    second,
    100 * (k_first + k_second - k_clean - k) / nullif(compared.n, 0) AS interaction,
    100 * b.low AS ci_low,
    100 * b.high AS ci_high,
    compared.n,
    b.low > 0 AS super_additive,
    CAST(b.low > 0 AS INTEGER) AS super_additive_int,
    100 * (k_clean - k) / nullif(compared.n, 0) AS drop,
    100 * (k_clean - k_first) / nullif(compared.n, 0) AS drop_first,
    100 * (k_clean - k_second) / nullif(compared.n, 0) AS drop_second,
    k_clean / nullif(compared.n, 0) AS clean_accuracy,
    b.p,
    q,
    100 * b.mde AS mde,
    CASE WHEN compared.n > 0 THEN
        ln((k_first + 0.5) / (compared.n - k_first + 0.5)) + ln((k_second + 0.5) / (compared.n - k_second + 0.5))
        - ln((k_clean + 0.5) / (compared.n - k_clean + 0.5)) - ln((k + 0.5) / (compared.n - k + 0.5))
    END AS interaction_log_odds,
    logs.low AS interaction_log_odds_ci_low,
    logs.high AS interaction_log_odds_ci_high,
    100 * (k_reversed - k_forward) / nullif(n_asymmetry, 0) AS asymmetry,
    100 * turned.low AS asymmetry_ci_low,
    100 * turned.high AS asymmetry_ci_high,
    100 * turned.mde AS asymmetry_mde,
    n_asymmetry,
    figure AS paper
FROM compared
JOIN cells USING (cell_id)
LEFT JOIN q_values ON q_values.cell = compared.cell
LEFT JOIN paper_brittleness AS paper
    ON paper.kind = 'drop' AND paper.model = cells.model AND paper.benchmark = cells.benchmark
    AND paper.perturbation = array_to_string(list_transform(cells.perturbations, lambda p: p.name), '→')
ORDER BY model, quantization, dtype, cells.benchmark, prompt_style, taboo_rank, first, second,
    perturbation_seed, sample_seed
