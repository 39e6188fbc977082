-- The form of the paper's Table 2: accuracy averaged over benchmarks first, then drop and range per family.
-- Benchmarks weigh the same; used are those on which the family is scored for every model (n_benchmarks; n: their
-- items). drop = mean clean accuracy - the lowest mean accuracy of n_perturbations (K) variants, range = highest -
-- lowest, the clean prompt included; percentage points. drop_worst_mean: mean of each benchmark's own worst drop,
-- another and larger number. Family `mean of families`: plain means over the n_families of single perturbations,
-- identity left out. paper_drop, paper_range: of the same model and family, over its own six benchmarks (view
-- paper_brittleness).
SELECT
    cells.model, model_revision, model_family, size_b, aligned, stage, quantization, dtype, engine, prompt_style, n_shots,
    taboo_rank, taboo_trigger, taboo_word_start, taboo_trigger_params, temperature, top_p, cells.sample_seed,
    rows.* EXCLUDE (model_id, comparison, pooled, cell_id),
    drops.figure AS paper_drop,
    ranges.figure AS paper_range
FROM _drops_paper AS rows
JOIN cells USING (cell_id)
LEFT JOIN paper_brittleness AS drops
    ON drops.kind = 'drop' AND drops.model = cells.model AND drops.family = rows.family AND drops.perturbation IS NULL
    AND drops.benchmark IS NULL
LEFT JOIN paper_brittleness AS ranges
    ON ranges.kind = 'range' AND ranges.model = cells.model AND ranges.family = rows.family
ORDER BY cells.model, quantization, dtype, prompt_style, n_shots, taboo_rank, sample_seed, rows.family = 'mean of families',
    rows.family
