-- Each item of each baseline with its quadrant; see stability_quadrants.
WITH variants AS (
    SELECT
        r.baseline_id,
        r.item_id,
        r.cluster_id,
        avg(CAST(r.correct AS INTEGER)) AS accuracy,
        count(r.correct) AS n_variants,
        bool_or(r.correct) FILTER (r.is_baseline) AS clean
    FROM recorded AS r
    WHERE r.replicate = 0 AND coalesce(r.taboo_rank, 0) = 0 AND coalesce(r.temperature, 0) = 0
        AND r.baseline_id IN (SELECT baseline_id FROM _probed)
    GROUP BY r.baseline_id, r.item_id, r.cluster_id
),
bounds AS (
    SELECT baseline_id, item_id, tcb_answer
    FROM _probed
    WHERE is_baseline
),
placed AS (
    SELECT *, median(tcb_answer) OVER (PARTITION BY baseline_id) AS middle
    FROM variants
    LEFT JOIN bounds USING (baseline_id, item_id)
)
SELECT
    *,
    CASE
        WHEN tcb_answer IS NULL OR accuracy IS NULL THEN 'unknown'
        WHEN accuracy >= 0.5 AND tcb_answer >= middle THEN 'robust'
        WHEN accuracy >= 0.5 THEN 'fragile'
        WHEN tcb_answer >= middle THEN 'stubborn'
        ELSE 'uncertain'
    END AS quadrant
FROM placed
