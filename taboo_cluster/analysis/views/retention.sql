-- Of the items right in the baseline, how many stay right under each condition?
-- n: items right in the baseline, without error on either side. ci: Wilson; ci_cluster: bootstrap, where a cluster has
-- several items. gained: share of baseline-wrong items right under the condition. n_error: items left out for an error
-- in baseline or trial; n_missing: items without a record of both yet. within_noise: the paired interval of
-- R - retention_aa (replicate 1 of the baseline) includes 0; null without replicates. mde: 2.80 bootstrap standard
-- errors of R, the least difference that n items show with 80% power.
-- Dose and detours are pooled over R's denominator; length_ratio is the mean over items of completion tokens relative to
-- the item's baseline; interventions_per_word counts words by UAX #29. baseline_entropy_word_start: next-token entropy
-- of the baseline where a word begins, in bits. paper: the retention in view paper_figures, paper_accuracy its accuracy.
-- accuracy, coverage and shares without `gained` are of all trials of the cell, as in view accuracy.
SELECT
    cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting),
    numbers.* EXCLUDE (cell_id),
    condition.accuracy,
    baseline.accuracy AS baseline_accuracy,
    condition.coverage,
    condition.truncated_share,
    condition.truncated_but_parsed_share,
    condition.entropy_mean,
    baseline.entropy_mean AS baseline_entropy_mean,
    baseline.entropy_word_start AS baseline_entropy_word_start,
    _paper.retention AS paper,
    _paper.accuracy AS paper_accuracy
FROM cells
JOIN _retention AS numbers USING (cell_id)
JOIN _accuracy AS condition USING (cell_id)
LEFT JOIN (
    SELECT cells.baseline_id, accuracy, entropy_mean, entropy_word_start
    FROM _accuracy JOIN cells USING (cell_id) WHERE is_baseline
) AS baseline USING (baseline_id)
LEFT JOIN _paper USING (cell_id)
ORDER BY model, quantization, dtype, benchmark, taboo_rank, condition, sample_seed
