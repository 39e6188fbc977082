-- How much does each perturbation cost? One row per model, benchmark, stack and seed, on the n items scored in both.
-- drop = clean accuracy - accuracy, in percentage points (negative: the perturbation helps); ci, p, mde: paired
-- bootstrap over clusters of items; p_mcnemar: exact; q: Benjamini-Hochberg over all rows. n_flips: items whose
-- correctness differs. drop_relative = 1 - accuracy / clean accuracy. drop_adjusted: with accuracy_adjusted = (accuracy
-- - chance) / (1 - chance). Texts that the stack left as they were carry the clean answer; drop_changed and
-- retention_changed use the n_changed others alone: retention of the n_retention_changed right in the clean prompt,
-- with Wilson's interval. within_noise: the interval of accuracy - (replicate 1 of the clean prompt) includes 0; null
-- without replicates.
WITH counted AS MATERIALIZED (
    SELECT
        *,
        bit_count(common) AS n,
        bit_count(correct & common) AS k,
        bit_count(clean_correct & common) AS k_clean,
        bit_count(clean_correct & ~correct & common) AS n_broken,
        bit_count(correct & ~clean_correct & common) AS n_mended,
        bit_count(common & changed) AS n_changed,
        bit_count(common & changed & correct) AS k_changed,
        bit_count(common & changed & clean_correct) AS k_clean_changed,
        bit_count(common & changed & clean_correct & correct) AS k_retained
    FROM _perturbed
),
compared AS MATERIALIZED (
    SELECT
        * EXCLUDE (correct, clean_correct, changed, again_scored, again_correct, common, clusters, halves),
        CASE WHEN n > 0 THEN mcnemar(n_broken, n_mended) END AS p_mcnemar,
        wilson(k_retained, k_clean_changed) AS changed_ci,
        CASE WHEN n > 0 THEN bootstrap_contrast(
            'perturbed', cell, clusters, common::BLOB, [clean_correct::BLOB, correct::BLOB], [1, -1], false
        ) END AS b,
        CASE WHEN bit_count(common & again_scored) > 0 THEN bootstrap_contrast(
            'perturbed within_noise', cell, clusters, (common & again_scored)::BLOB,
            [again_correct::BLOB, correct::BLOB], [1, -1], false
        ) END AS noise
    FROM counted
),
q_values AS (
    SELECT
        unnest(list(cell ORDER BY cell)) AS cell,
        unnest(benjamini_hochberg(list(b.p ORDER BY cell))) AS q
    FROM compared
    WHERE n > 0
),
q_mcnemar AS (
    SELECT
        unnest(list(cell ORDER BY cell)) AS cell,
        unnest(benjamini_hochberg(list(p_mcnemar ORDER BY cell))) AS q_mcnemar
    FROM compared
    WHERE n > 0
)
SELECT
    cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting),
    perturbation,
    family,
    100 * (k_clean - k) / nullif(n, 0) AS drop,
    100 * b.low AS ci_low,
    100 * b.high AS ci_high,
    n,
    k_clean / nullif(n, 0) AS clean_accuracy,
    k / nullif(n, 0) AS accuracy,
    n_broken + n_mended AS n_flips,
    n_broken,
    n_mended,
    b.p,
    q,
    p_mcnemar,
    q_mcnemar,
    100 * b.mde AS mde,
    noise.low <= 0 AND noise.high >= 0 AS within_noise,
    CAST(noise.low <= 0 AND noise.high >= 0 AS INTEGER) AS within_noise_int,
    100 * (k_clean_changed - k_changed) / nullif(n_changed, 0) AS drop_changed,
    k_retained / nullif(k_clean_changed, 0) AS retention_changed,
    changed_ci.low AS retention_changed_ci_low,
    changed_ci.high AS retention_changed_ci_high,
    k_clean_changed AS n_retention_changed,
    n_changed,
    n - n_changed AS n_unchanged,
    1 - k / nullif(k_clean, 0) AS drop_relative,
    (k / nullif(n, 0) - cells.chance) / (1 - cells.chance) AS accuracy_adjusted,
    100 * (k_clean - k) / nullif(n, 0) / (1 - cells.chance) AS drop_adjusted,
    least(n_recorded, n_clean) - n AS n_error,
    greatest(n_items - least(n_recorded, n_clean), 0) AS n_missing
FROM compared
JOIN cells USING (cell_id)
JOIN _items USING (baseline_id)
LEFT JOIN q_values ON q_values.cell = compared.cell
LEFT JOIN q_mcnemar ON q_mcnemar.cell = compared.cell
ORDER BY model, quantization, dtype, benchmark, prompt_style, taboo_rank, family, perturbation, perturbation_seed,
    sample_seed
