-- The trials (replicate 0) on each curve over levels of fragmentation. with_lines: lines of documents are asked for;
-- then each domain (item_group) has a curve of its own. place: p, for fragment_regular_k the mean measured rate;
-- level: 1, 2 ... in the order of places, the clean text first. counts: the item is scored at all n_levels of the
-- curve; only such items count. numerator / denominator, pooled over items: F1 where lines are asked for, else
-- accuracy.
WITH trials AS (
    SELECT
        curves.*, benchmark, split, item_group, item_id, cluster_id, correct, lines, error_type,
        word_fragmentation_rate, tokenizer_hash,
        stack_name(curves.condition, perturbations) AS stack,
        recorded.perturbation_seed AS stack_seed,
        bool_or(lines IS NOT NULL OR error_type IS NOT DISTINCT FROM 'document_skipped')
            OVER (PARTITION BY benchmark, split) AS with_lines
    FROM recorded
    JOIN _curves AS curves USING (cell_id)
    WHERE replicate = 0
),
told_apart AS (
    SELECT
        * REPLACE (
            CASE WHEN with_lines THEN item_group END AS item_group,
            CAST(ROW(curve, CASE WHEN with_lines THEN item_group END) AS VARCHAR) AS curve,
            CAST(ROW(setting, CASE WHEN with_lines THEN item_group END) AS VARCHAR) AS setting
        ),
        correct IS NOT NULL AND (lines IS NOT NULL OR NOT with_lines) AS scored
    FROM trials
),
placed AS (
    SELECT
        * REPLACE (
            coalesce(place, avg(word_fragmentation_rate) OVER (PARTITION BY curve, condition)) AS place
        )
    FROM told_apart
),
levels AS (
    SELECT
        *,
        dense_rank() OVER (PARTITION BY curve ORDER BY place, clean DESC, condition) AS level,
        count(*) FILTER (scored) OVER (PARTITION BY curve, item_id) AS n_scored
    FROM placed
    WHERE place IS NOT NULL
),
counted AS (
    SELECT *, max(level) OVER (PARTITION BY curve) AS n_levels FROM levels
)
SELECT
    *,
    n_scored = n_levels AS counts,
    CASE WHEN with_lines THEN 2 * lines.hits ELSE CAST(correct AS INTEGER) END AS numerator,
    CASE WHEN with_lines THEN 2 * lines.hits_nospace ELSE CAST(correct AS INTEGER) END AS numerator_nospace,
    CASE WHEN with_lines THEN lines.named + lines.targets ELSE 1 END AS denominator
FROM counted
