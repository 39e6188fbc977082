-- Which pairs of models change places under which perturbation?
-- One row per benchmark, stack, seed and pair of models, the first one ahead in the clean prompt; on the n items scored
-- for all models there and in the clean prompt. clean_difference, difference: accuracy of the first minus the second;
-- mde: the least difference found with 80% power, 2.80 standard errors (the bootstrap's over items, in closed form).
-- flipped: the strict order reverses; a pair tied on one side is not flipped. flip_significant: p_clean and p_perturbed
-- (exact McNemar, given where the order reverses) are both below 0.05. q: Benjamini-Hochberg over all rows of the
-- larger p, pairs that keep their order counting as 1.
WITH flips AS MATERIALIZED (
    SELECT *, row_number() OVER (ORDER BY rivals, variant_id, first_cell, second_cell) AS row FROM _flips
),
q_values AS (
    SELECT
        unnest(list(row ORDER BY row)) AS row,
        unnest(benjamini_hochberg(list(coalesce(greatest(p_clean, p_perturbed), 1) ORDER BY row))) AS q
    FROM flips
    WHERE clean_gap > 0
)
SELECT
    a.benchmark, a.chance, a.split, a.prompt_style, a.n_shots, a.condition, a.perturbations, a.perturbation_seed,
    a.taboo_rank, a.taboo_trigger, a.taboo_word_start, a.taboo_trigger_params, a.temperature, a.top_p, a.sample_seed,
    a.model AS model_first, b.model AS model_second,
    a.quantization AS quantization_first, b.quantization AS quantization_second,
    a.dtype AS dtype_first, b.dtype AS dtype_second,
    clean_gap / n AS clean_difference,
    gap / n AS difference,
    2.80 * sqrt(greatest((only_first + only_second) / n - (gap / n) ** 2, 0) / n) AS mde,
    n,
    flipped,
    CAST(flipped AS INTEGER) AS flipped_int,
    p_clean,
    p_perturbed,
    coalesce(p_clean < 0.05 AND p_perturbed < 0.05, false) AS flip_significant,
    CAST(coalesce(p_clean < 0.05 AND p_perturbed < 0.05, false) AS INTEGER) AS flip_significant_int,
    q
FROM flips
JOIN cells AS a ON a.cell_id = first_cell
JOIN cells AS b ON b.cell_id = second_cell
LEFT JOIN q_values USING (row)
ORDER BY a.benchmark, a.prompt_style, a.n_shots, a.taboo_rank, a.sample_seed, a.condition, a.perturbation_seed, q,
    model_first, model_second
