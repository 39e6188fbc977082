-- Of the items right in the baseline, how many stay right under each condition?
-- n: items right in the baseline, without error on either side. ci: Wilson; ci_cluster: bootstrap, where a cluster has
-- several items. gained: share of baseline-wrong items right under the condition. n_error: items left out for an error
-- in baseline or trial; n_missing: items without a record of both yet. within_noise: the paired interval of
-- R - retention_aa (replicate 1 of the baseline) includes 0; null without replicates.
-- Dose and detours are pooled over R's denominator; length_ratio is the mean over items of completion tokens relative to
-- the item's baseline. accuracy, coverage and shares without `gained` are of all trials of the cell, as in view accuracy.
SELECT
    cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting),
    numbers.* EXCLUDE (cell_id),
    condition.accuracy,
    baseline.accuracy AS baseline_accuracy,
    condition.coverage,
    condition.truncated_share,
    condition.truncated_but_parsed_share
FROM cells
JOIN _retention AS numbers USING (cell_id)
JOIN _accuracy AS condition USING (cell_id)
LEFT JOIN (
    SELECT cells.baseline_id, accuracy FROM _accuracy JOIN cells USING (cell_id) WHERE is_baseline
) AS baseline USING (baseline_id)
ORDER BY model, quantization, dtype, benchmark, taboo_rank, condition, sample_seed
