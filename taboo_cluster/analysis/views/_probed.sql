-- The latest probe of each trial that was not made again since, beside what the record says (replicate 0).
SELECT
    r.cell_id, r.baseline_id, r.is_baseline, r.item_id, r.cluster_id, r.correct,
    p.* EXCLUDE (trial_id, attempt, run_id, model, model_revision, quantization, dtype)
FROM probed AS p
JOIN recorded AS r USING (trial_id, attempt)
WHERE r.replicate = 0
QUALIFY row_number() OVER (PARTITION BY trial_id ORDER BY probed_at DESC, epsilon, top_k) = 1
