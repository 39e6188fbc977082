-- How well is found what was asked for, at each level of fragmentation?
-- One row per model, benchmark, domain, kind of fragmentation (with its seed) and level. Replicate 0. fragment_p: p; 0
-- is the clean text, for fragment_regular_k the mean measured rate. value: F1 where lines of documents are asked for
-- (an item is a document, item_group its domain), else accuracy; ci: bootstrap over documents, the same ones at every
-- level, pooled again. Only the n items scored at every level of the curve count; n_dropped: scored at some level, but
-- not at all. f1 = 2 TP / (2 TP + FP + FN) pooled over documents (null at 0/0), precision and recall alike; f1_doc:
-- mean over documents of each one's (1 where nothing is to be named and nothing is). f1_nospace: white space left out
-- on both sides. f1_absencebench: by that benchmark's substring rule, for comparison only. n_cut: documents cut to fit
-- the model, at every level alike; kept_share: of all lines; n_skipped: documents of which too little would have
-- fitted. n_missing: items of the curve not yet recorded at this level.
WITH trials AS MATERIALIZED (FROM _curve_trials),
items AS (
    SELECT
        curve,
        count(DISTINCT item_id) AS n_items,
        count(DISTINCT item_id) FILTER (n_scored > 0 AND NOT counts) AS n_dropped
    FROM trials
    GROUP BY curve
),
points AS (
    SELECT
        curve,
        level,
        min(cell_id) AS cell_id,
        any_value(item_group) AS item_group,
        any_value(fragmentation) AS fragmentation,
        any_value(perturbation_seed) AS perturbation_seed,
        any_value(place) AS place,
        any_value(with_lines) AS with_lines,
        CASE WHEN any_value(clean) THEN 0 ELSE avg(word_fragmentation_rate) FILTER (counts) END
            AS word_fragmentation_rate,
        count(*) FILTER (counts) AS n,
        count(*) FILTER (counts AND correct) AS n_correct,
        count(*) FILTER (NOT scored) AS n_error,
        count(*) AS n_recorded,
        count(*) FILTER (error_type = 'document_skipped') AS n_skipped,
        count(*) FILTER (counts AND lines.kept < lines.total) AS n_cut,
        sum(lines.kept) FILTER (counts) AS kept,
        sum(lines.total) FILTER (counts) AS total,
        CAST(sum(numerator) FILTER (counts) AS DOUBLE) / nullif(sum(denominator) FILTER (counts), 0) AS value,
        sum(lines.targets) FILTER (counts) AS targets,
        sum(lines.named) FILTER (counts) AS named,
        sum(lines.hits) FILTER (counts) AS hits,
        sum(lines.hits_nospace) FILTER (counts) AS hits_nospace,
        sum(lines.hits_absencebench) FILTER (counts) AS hits_absencebench,
        sum(lines.named_absencebench) FILTER (counts) AS named_absencebench,
        avg(CASE WHEN denominator = 0 THEN 1 ELSE numerator / denominator END) FILTER (counts AND with_lines) AS f1_doc
    FROM trials
    GROUP BY curve, level
),
clusters AS (
    SELECT
        curve,
        level,
        cluster_id,
        CAST(sum(numerator) AS DOUBLE) AS numerator,
        CAST(sum(denominator) AS DOUBLE) AS denominator
    FROM trials
    WHERE counts
    GROUP BY curve, level, cluster_id
),
boot AS MATERIALIZED (
    SELECT
        curve,
        count(DISTINCT cluster_id) AS n_clusters,
        level_intervals('valley', curve, list(cluster_id), list(level), list(numerator), list(denominator)) AS ci
    FROM clusters
    GROUP BY curve
)
SELECT
    cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting, perturbation_seed, fragment_p),
    item_group,
    fragmentation,
    points.perturbation_seed,
    place AS fragment_p,
    word_fragmentation_rate,
    CASE WHEN with_lines THEN 'f1' ELSE 'accuracy' END AS measure,
    value,
    ci[level].low AS ci_low,
    ci[level].high AS ci_high,
    n,
    CASE WHEN with_lines THEN value END AS f1,
    f1_doc,
    2 * hits_nospace / nullif(named + targets, 0) AS f1_nospace,
    2 * hits_absencebench / nullif(named_absencebench + targets, 0) AS f1_absencebench,
    hits / nullif(named, 0) AS precision,
    hits / nullif(targets, 0) AS recall,
    CAST(targets AS BIGINT) AS n_targets,
    n_correct / nullif(n, 0) AS accuracy,
    n_dropped,
    n_cut,
    kept / nullif(total, 0) AS kept_share,
    n_skipped,
    n_error,
    n_items - n_recorded AS n_missing,
    CASE
        WHEN n = 0 THEN 'no item scored at every level'
        WHEN value IS NULL THEN 'no line named and none to be named'
        WHEN n_clusters = 1 THEN 'no interval: fewer than two documents'
    END AS reason
FROM points
JOIN cells USING (cell_id)
JOIN items USING (curve)
LEFT JOIN boot USING (curve)
ORDER BY model, quantization, dtype, benchmark, item_group, prompt_style, n_shots, taboo_rank, fragmentation,
    points.perturbation_seed, sample_seed, fragment_p, level
