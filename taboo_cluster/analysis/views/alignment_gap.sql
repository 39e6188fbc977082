-- Does the aligned model of a pair retain more than its base model?
-- gap = R(aligned) - R(base), both over the n items scored for both models in baseline and condition; kind `alignment`
-- is the last aligned stage against the first unaligned one, `stage` two consecutive stages (base, sft, dpo, instruct).
-- ci, p, mde: bootstrap over clusters of items, all four counts recomputed (n_dropped resamples had a zero denominator).
-- newcombe: hybrid score interval, conservative. gap_matched: on the n_matched items right in both baselines, with its
-- paired bootstrap and exact McNemar. q: Benjamini-Hochberg over all comparisons of the kind. selection: gap and
-- gap_matched differ in sign. within_noise: the interval of gap - (the same gap of the baselines' replicate 1) includes 0.
-- entropy_word_start: of the baselines, in bits (does alignment sharpen the choice of a word?). paper: the paper's gap.
WITH seen AS MATERIALIZED (
    SELECT cell_id, cells.*, truncated_share, paper.exact_retention
    FROM cells
    JOIN _accuracy USING (cell_id)
    LEFT JOIN _paper AS paper USING (cell_id)
),
baselines AS MATERIALIZED (
    SELECT cells.baseline_id, entropy_word_start FROM cells JOIN _accuracy USING (cell_id) WHERE is_baseline
)
SELECT
    b.pair, kind,
    a.model AS model_base, b.model AS model_aligned,
    a.model_revision AS revision_base, b.model_revision AS revision_aligned,
    a.stage AS stage_base, b.stage AS stage_aligned,
    b.model_family, b.size_b, b.quantization, b.dtype, b.engine, b.benchmark, b.chance, b.split, b.prompt_style,
    b.n_shots,
    b.condition, b.perturbations, b.perturbation_seed, b.fragment_p,
    b.taboo_rank, b.taboo_trigger, b.taboo_word_start, b.taboo_trigger_params, b.temperature, b.top_p, b.sample_seed,
    gaps.* EXCLUDE (kind, first_cell, second_cell, retention_1, n_1, retention_2, n_2),
    retention_1 AS retention_base, n_1 AS n_base,
    retention_2 AS retention_aligned, n_2 AS n_aligned,
    a.truncated_share AS truncated_share_base,
    b.truncated_share AS truncated_share_aligned,
    base.entropy_word_start AS entropy_word_start_base,
    aligned.entropy_word_start AS entropy_word_start_aligned,
    format('{:.2g}', b.exact_retention - a.exact_retention) AS paper
FROM _gaps AS gaps
JOIN seen AS a ON a.cell_id = first_cell
JOIN seen AS b ON b.cell_id = second_cell
LEFT JOIN baselines AS base ON base.baseline_id = a.baseline_id
LEFT JOIN baselines AS aligned ON aligned.baseline_id = b.baseline_id
WHERE kind IN ('alignment', 'stage')
ORDER BY b.pair, kind, b.quantization, b.dtype, b.benchmark, b.taboo_rank, b.condition, b.sample_seed, b.stage
