-- The latest probe of each trial that was not made again since, beside what the record says (replicate 0); with the
-- settings of the latest launch that probed, so that none are mixed.
WITH asked AS (
    SELECT
        CAST(config ->> '$.stability.epsilon' AS DOUBLE) AS epsilon,
        CAST(config ->> '$.stability.top_k' AS INTEGER) AS top_k
    FROM launches
    WHERE config ->> '$.stability.probe' = 'true'
    ORDER BY started_at DESC, launch_id DESC
    LIMIT 1
)
SELECT
    r.cell_id, r.baseline_id, r.is_baseline, r.item_id, r.cluster_id, r.correct,
    p.* EXCLUDE (trial_id, attempt, run_id, model, model_revision, quantization, dtype)
FROM probed AS p
JOIN recorded AS r
    ON r.trial_id = p.trial_id AND r.attempt = p.attempt AND r.run_id IS NOT DISTINCT FROM p.run_id
LEFT JOIN asked ON true
WHERE r.replicate = 0 AND (asked.epsilon IS NULL
    OR (p.epsilon = asked.epsilon AND p.top_k IS NOT DISTINCT FROM asked.top_k))
QUALIFY row_number() OVER (PARTITION BY p.trial_id ORDER BY p.probed_at DESC, p.epsilon, p.top_k) = 1
