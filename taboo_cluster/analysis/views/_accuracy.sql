-- The numbers of view accuracy, by cell_id.
WITH sums AS (
    SELECT
        cell_id,
        baseline_id,
        count(correct) AS n,
        count(*) FILTER (correct) AS n_correct,
        count(*) FILTER (parse_ok AND correct IS NOT NULL) AS n_answered,
        count(*) FILTER (correct IS NULL) AS n_error,
        count(*) AS n_recorded,
        count(*) FILTER (outcome = 'truncated') AS n_truncated,
        count(*) FILTER (finish_reason = 'length' AND parse_ok AND correct IS NOT NULL) AS n_truncated_but_parsed,
        count(*) FILTER (outcome = 'no_response') AS n_no_response,
        count(*) FILTER (outcome = 'refused') AS n_refused,
        count(*) FILTER (outcome = 'invalid_format') AS n_invalid_format,
        avg(score) AS score,
        avg(completion_tokens) FILTER (correct IS NOT NULL) AS completion_tokens_mean,
        avg(entropy_mean) AS entropy_mean,
        avg(entropy_word_start) AS entropy_word_start
    FROM recorded
    WHERE replicate = 0
    GROUP BY cell_id, baseline_id
),
clusters AS (
    SELECT cell_id, cluster_id, count(*) FILTER (correct) AS n_correct, count(*) AS n
    FROM recorded
    WHERE replicate = 0 AND correct IS NOT NULL
    GROUP BY cell_id, cluster_id
),
boot AS MATERIALIZED (
    SELECT cell_id, count(*) AS n_clusters, bootstrap_ratio('accuracy', any_value(cell), histogram([n_correct, n])) AS b
    FROM clusters
    JOIN cells USING (cell_id)
    GROUP BY cell_id
),
scored AS MATERIALIZED (SELECT *, wilson(n_correct, n) AS ci FROM sums)
SELECT
    cell_id,
    n_correct / nullif(n, 0) AS accuracy,
    ci.low AS ci_low,
    ci.high AS ci_high,
    CASE WHEN n_clusters < n THEN b.low END AS ci_low_cluster,
    CASE WHEN n_clusters < n THEN b.high END AS ci_high_cluster,
    n,
    n_correct,
    n_correct / nullif(n_answered, 0) AS accuracy_answered,
    n_answered,
    n_answered / nullif(n, 0) AS coverage,
    score,
    n_error,
    greatest(n_items - n_recorded, 0) AS n_missing,
    n_truncated / nullif(n, 0) AS truncated_share,
    n_truncated_but_parsed / nullif(n, 0) AS truncated_but_parsed_share,
    n_no_response / nullif(n, 0) AS no_response_share,
    n_refused / nullif(n, 0) AS refused_share,
    n_invalid_format / nullif(n, 0) AS invalid_format_share,
    completion_tokens_mean,
    entropy_mean,
    entropy_word_start
FROM scored
JOIN _items USING (baseline_id)
LEFT JOIN boot USING (cell_id)
