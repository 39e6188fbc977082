-- The numbers of view retention, by cell_id.
WITH pairs AS MATERIALIZED (
    -- `kept`: in R's denominator.
    SELECT *, coalesce(scored AND baseline_correct, false) AS kept FROM _pairs
),
sums AS (
    SELECT
        cell_id,
        baseline_id,
        count(*) FILTER (kept) AS n,
        count(*) FILTER (kept AND correct) AS n_retained,
        count(*) FILTER (scored AND NOT baseline_correct) AS n_baseline_wrong,
        count(*) FILTER (scored AND NOT baseline_correct AND correct) AS n_gained,
        count(*) FILTER (scored) AS n_scored,
        count(*) FILTER (has_baseline AND NOT scored) AS n_error,
        count(*) FILTER (has_baseline) AS n_recorded,
        avg(completion_tokens / nullif(baseline_tokens, 0)) FILTER (scored) AS length_ratio,
        sum(surprisal_total) FILTER (kept) AS bits,
        sum(interventions) FILTER (kept) AS interventions,
        sum(completion_tokens) FILTER (kept) AS tokens,
        sum(interventions) FILTER (kept AND completion_words IS NOT NULL) AS interventions_beside_words,
        sum(completion_words) FILTER (kept) AS words,
        sum(skipped_steps) FILTER (kept) AS skipped_steps,
        sum(tie_steps) FILTER (kept) AS tie_steps,
        sum(glued) FILTER (kept) AS glued,
        count(*) FILTER (kept AND stopped_by_detour) AS n_stopped_by_detour,
        count(*) FILTER (kept AND taboo_leak) AS n_taboo_leak,
        max(baseline_tokens) FILTER (baseline_correct IS NOT NULL AND baseline_finish_reason = 'stop')
            AS longest_baseline_tokens,
        min(max_tokens) AS max_tokens
    FROM pairs
    GROUP BY cell_id, baseline_id
),
clusters AS (
    SELECT
        cell_id,
        cluster_id,
        count(*) AS n,
        count(*) FILTER (correct) AS n_retained,
        count(again_correct) AS n_again,
        count(*) FILTER (again_correct) AS n_again_retained,
        count(*) FILTER (correct AND again_correct IS NOT NULL) AS n_retained_beside_again
    FROM pairs
    WHERE kept
    GROUP BY cell_id, cluster_id
),
boot AS MATERIALIZED (
    SELECT
        cell_id,
        count(*) AS n_clusters,
        sum(n_again_retained) / nullif(sum(n_again), 0) AS retention_aa,
        bootstrap_ratio('retention', any_value(cell), histogram([n_retained, n])) AS b,
        -- R - R_AA, paired: both numerators over the same items.
        bootstrap_ratio(
            'retention within_noise',
            any_value(cell),
            histogram([n_retained_beside_again - n_again_retained, n_again]) FILTER (n_again > 0)
        ) AS noise
    FROM clusters
    JOIN cells USING (cell_id)
    GROUP BY cell_id
),
scored AS MATERIALIZED (SELECT *, wilson(n_retained, n) AS ci FROM sums)
SELECT
    scored.cell_id,
    n_retained / nullif(n, 0) AS retention,
    ci.low AS ci_low,
    ci.high AS ci_high,
    CASE WHEN n_clusters < n THEN b.low END AS ci_low_cluster,
    CASE WHEN n_clusters < n THEN b.high END AS ci_high_cluster,
    n,
    n_retained,
    n_gained / nullif(n_baseline_wrong, 0) AS gained,
    n_gained,
    n_baseline_wrong,
    n_scored,
    n_error,
    greatest(n_items - n_recorded, 0) AS n_missing,
    b.mde,
    retention_aa,
    noise.low <= 0 AND noise.high >= 0 AS within_noise,
    CAST(noise.low <= 0 AND noise.high >= 0 AS INTEGER) AS within_noise_int,
    bits / nullif(interventions, 0) AS dose_bits,
    bits / nullif(tokens, 0) AS bits_per_token,
    interventions / nullif(n, 0) AS interventions_per_trial,
    interventions_beside_words / nullif(words, 0) AS interventions_per_word,
    length_ratio,
    CAST(skipped_steps AS BIGINT) AS skipped_steps,
    tie_steps / nullif(interventions, 0) AS tie_share,
    glued / nullif(interventions, 0) AS glued_share,
    n_stopped_by_detour / nullif(n, 0) AS stopped_by_detour_share,
    n_taboo_leak / nullif(n, 0) AS taboo_leak_share,
    longest_baseline_tokens,
    max_tokens,
    max_tokens < 2 * longest_baseline_tokens AS max_tokens_low,
    CAST(max_tokens < 2 * longest_baseline_tokens AS INTEGER) AS max_tokens_low_int
FROM scored
JOIN _items USING (baseline_id)
LEFT JOIN boot USING (cell_id)
