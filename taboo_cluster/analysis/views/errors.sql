-- Which errors, how many, where? All replicates; share: of the n_trials recorded of the same model, benchmark, condition.
WITH trials AS (
    SELECT cell_id, count(*) AS n_trials FROM recorded GROUP BY cell_id
),
failed AS (
    SELECT
        cell_id,
        error_type,
        count(*) AS n,
        max(attempt) AS attempts,
        min(error) AS example,
        min(started_at) AS first_at,
        max(started_at) AS last_at
    FROM recorded
    WHERE error_type IS NOT NULL
    GROUP BY cell_id, error_type
)
SELECT
    model, model_revision, quantization, dtype, engine, benchmark, split, condition, error_type,
    n, n_trials, n / n_trials AS share, attempts, example, first_at, last_at
FROM failed
JOIN trials USING (cell_id)
JOIN cells USING (cell_id)
ORDER BY model, quantization, dtype, benchmark, taboo_rank, condition, error_type
