-- How fast did each worker go? seconds: from its first request to the end of its last one.
WITH ends AS (
    SELECT *, epoch(started_at) AS starts, epoch(started_at) + coalesce(latency_s, 0) AS ends FROM recorded
),
sums AS (
    SELECT
        run_id, launch_id, worker_id, model, quantization, dtype, engine,
        count(*) AS n,
        count(*) FILTER (error_type IS NOT NULL) AS n_error,
        CAST(sum(completion_tokens) AS BIGINT) AS completion_tokens,
        min(started_at) AS started_at,
        max(ends) - min(starts) AS seconds,
        quantile_cont(latency_s, 0.5) AS latency_p50_s,
        quantile_cont(latency_s, 0.95) AS latency_p95_s
    FROM ends
    GROUP BY ALL
)
SELECT
    sums.*,
    n / nullif(seconds, 0) AS trials_per_s,
    completion_tokens / nullif(seconds, 0) AS tokens_per_s,
    host,
    gpu_names,
    load_s
FROM sums
LEFT JOIN (SELECT worker_id, last(host) AS host, last(gpu_names) AS gpu_names, last(load_s) AS load_s
           FROM workers GROUP BY worker_id) USING (worker_id)
ORDER BY run_id, started_at, worker_id
