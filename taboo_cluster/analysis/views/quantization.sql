-- How much of a model's retention does lower precision change?
-- Pairs cells of one model that differ in quantization or dtype alone: each against one without quantization, the more
-- precise dtype where neither has any. difference = R(quantized) - R(reference), over the n items scored in both; each R
-- is on what its own precision's baseline got right, since a quantized model has another baseline. ci, p, mde: bootstrap
-- over clusters of items, all four counts recomputed. newcombe: hybrid score interval, conservative. difference_matched,
-- p_mcnemar (exact): on the n_matched items right in both baselines. q: Benjamini-Hochberg over all rows. selection: the
-- two differences differ in sign. within_noise: the interval of difference - (the same of replicate 1) includes 0.
WITH seen AS MATERIALIZED (
    SELECT cell_id, cells.*, accuracy, truncated_share
    FROM cells
    JOIN _accuracy USING (cell_id)
),
baselines AS MATERIALIZED (SELECT baseline_id, accuracy FROM seen WHERE is_baseline)
SELECT
    b.model, b.model_revision, b.model_family, b.size_b, b.aligned, b.stage, b.engine,
    b.benchmark, b.chance, b.split, b.prompt_style, b.n_shots, b.condition,
    b.perturbations, b.perturbation_seed, b.fragment_p,
    b.taboo_rank, b.taboo_trigger, b.taboo_word_start, b.taboo_trigger_params, b.temperature, b.top_p, b.sample_seed,
    a.quantization AS quantization_reference, a.dtype AS dtype_reference, b.quantization, b.dtype,
    gap AS difference,
    gaps.* EXCLUDE (
        kind, first_cell, second_cell, gap, gap_matched, gap_matched_ci_low, gap_matched_ci_high,
        retention_1, n_1, retention_2, n_2
    ),
    gap_matched AS difference_matched,
    gap_matched_ci_low AS difference_matched_ci_low,
    gap_matched_ci_high AS difference_matched_ci_high,
    retention_1 AS retention_reference, n_1 AS n_reference,
    retention_2 AS retention_quantized, n_2 AS n_quantized,
    reference.accuracy AS baseline_accuracy_reference,
    quantized.accuracy AS baseline_accuracy_quantized,
    a.truncated_share AS truncated_share_reference,
    b.truncated_share AS truncated_share_quantized
FROM _gaps AS gaps
JOIN seen AS a ON a.cell_id = first_cell
JOIN seen AS b ON b.cell_id = second_cell
LEFT JOIN baselines AS reference ON reference.baseline_id = a.baseline_id
LEFT JOIN baselines AS quantized ON quantized.baseline_id = b.baseline_id
WHERE kind = 'quantization'
ORDER BY b.model, b.benchmark, quantization_reference, dtype_reference, b.quantization, b.dtype, b.taboo_rank,
    b.condition, b.sample_seed
