-- How does each model do when nothing is done to it, and did its answers have room?
-- entropy_word_start: next-token entropy, in bits, at the steps whose token begins a word; a mean over trials.
-- longest_baseline_tokens: of the baselines that stopped by themselves; max_tokens_low: max_tokens is under twice that.
WITH lengths AS (
    SELECT
        cell_id,
        max(completion_tokens) FILTER (finish_reason = 'stop') AS longest_baseline_tokens,
        min(max_tokens) AS max_tokens
    FROM recorded
    WHERE is_baseline AND replicate = 0 AND correct IS NOT NULL
    GROUP BY cell_id
)
SELECT
    cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting, taboo_rank, taboo_trigger, taboo_word_start,
                     taboo_trigger_params, perturbations, perturbation_seed, fragment_p, temperature, top_p, sample_seed),
    numbers.* EXCLUDE (cell_id),
    longest_baseline_tokens,
    max_tokens,
    max_tokens < 2 * longest_baseline_tokens AS max_tokens_low,
    CAST(max_tokens < 2 * longest_baseline_tokens AS INTEGER) AS max_tokens_low_int
FROM cells
JOIN _accuracy AS numbers USING (cell_id)
LEFT JOIN lengths USING (cell_id)
WHERE is_baseline
ORDER BY model, quantization, dtype, benchmark
