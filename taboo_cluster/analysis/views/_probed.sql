-- The latest probe of each trial that was not made again since, beside what the record says (replicate 0).
SELECT
    r.cell_id, r.baseline_id, r.is_baseline, r.item_id, r.cluster_id, r.correct,
    p.* EXCLUDE (trial_id, attempt, run_id, model, model_revision, quantization, dtype)
FROM probed AS p
JOIN recorded AS r
    ON r.trial_id = p.trial_id AND r.attempt = p.attempt AND r.run_id IS NOT DISTINCT FROM p.run_id
WHERE r.replicate = 0
QUALIFY row_number() OVER (PARTITION BY p.trial_id ORDER BY p.probed_at DESC, p.epsilon, p.top_k) = 1
