-- How often is each model right in each condition?
-- Replicate 0; every outcome but error counts. accuracy is over all n trials, accuracy_answered over those with a
-- parsed answer (coverage = n_answered / n). ci: Wilson; ci_cluster: bootstrap, where a cluster has several items.
-- n_missing: items recorded of this model and benchmark in some condition, but not yet in this one. chance: accuracy of
-- guessing. entropy_mean, entropy_word_start: means over trials of the next-token entropy before masking, in bits, over
-- all steps and over those whose nominal token begins a word. paper: the accuracy in view paper_figures.
SELECT
    cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting),
    numbers.* EXCLUDE (cell_id),
    _paper.accuracy AS paper
FROM cells
JOIN _accuracy AS numbers USING (cell_id)
LEFT JOIN _paper USING (cell_id)
ORDER BY model, quantization, dtype, benchmark, taboo_rank, condition, sample_seed
