-- Does each curve over levels of fragmentation have a valley?
-- One row per curve of view valley, on the same n items. u_shaped: at some level between 0 and 1 both F(0) - F(p) and
-- F(1) - F(p) have a lower bound above 0; the bounds hold together at 95% (max-T bootstrap over all such levels and
-- both differences). valley: U-shaped in both absence and needle, all else alike. copying: U-shaped in f1, but not in
-- f1_nospace: lines were named without their spaces. depth = F(0) - lowest, recovery = F(1) - lowest, location: p of
-- the lowest; biased upward, as the lowest is so by chance too. *_cross_fitted: the lowest found on one half of the
-- documents, values from the other, mean of 8 halvings both ways round. entropy_peak: p at which the mean entropy of
-- the tokens is greatest; entropy_fixed_peak: of a fixed number of tokens; peak_before_minimum: share of resamples of
-- documents in which that is below the p of the lowest F. The last three on the n_tokenized items whose texts were
-- tokenized at every level.
WITH trials AS MATERIALIZED (FROM _curve_trials),
curves AS (
    SELECT
        curve,
        any_value(setting) AS both_tasks,
        min(cell_id) AS cell_id,
        any_value(item_group) AS item_group,
        any_value(fragmentation) AS fragmentation,
        any_value(perturbation_seed) AS perturbation_seed,
        any_value(with_lines) AS with_lines,
        any_value(n_levels) AS n_levels,
        list_transform(list_sort(list(DISTINCT {'level': level, 'place': place})), lambda one: one.place) AS places,
        count(DISTINCT item_id) FILTER (counts) AS n,
        count(DISTINCT item_id) FILTER (n_scored > 0 AND NOT counts) AS n_dropped
    FROM trials
    GROUP BY curve
),
clusters AS (
    SELECT
        curve,
        level,
        cluster_id,
        CAST(sum(numerator) AS DOUBLE) AS numerator,
        CAST(sum(numerator_nospace) AS DOUBLE) AS numerator_nospace,
        CAST(sum(denominator) AS DOUBLE) AS denominator
    FROM trials
    WHERE counts
    GROUP BY curve, level, cluster_id
),
shapes AS MATERIALIZED (
    SELECT
        curve,
        valley_shape(curve, any_value(places), list(cluster_id), list(level), list(numerator), list(denominator),
                     list(numerator_nospace)) AS shape
    FROM clusters
    JOIN curves USING (curve)
    GROUP BY curve
),
tokenized_items AS (
    SELECT trials.*, t.entropy, t.entropy_fixed
    FROM trials
    JOIN _tokenization AS t
        ON t.tokenizer_hash = trials.tokenizer_hash AND t.benchmark = trials.benchmark AND t.item_id = trials.item_id
        AND t.split IS NOT DISTINCT FROM trials.split
        AND t.perturbations IS NOT DISTINCT FROM trials.stack
        AND t.perturbation_seed IS NOT DISTINCT FROM trials.stack_seed
    WHERE counts AND t.entropy IS NOT NULL AND t.entropy_fixed IS NOT NULL
    QUALIFY count(*) OVER (PARTITION BY curve, trials.item_id) = n_levels
),
tokenized_clusters AS (
    SELECT
        curve,
        level,
        cluster_id,
        CAST(count(*) AS DOUBLE) AS n,
        CAST(sum(numerator) AS DOUBLE) AS numerator,
        CAST(sum(denominator) AS DOUBLE) AS denominator,
        sum(entropy) AS entropy,
        sum(entropy_fixed) AS entropy_fixed
    FROM tokenized_items
    GROUP BY curve, level, cluster_id
),
peaks AS MATERIALIZED (
    SELECT
        curve,
        sum(tokenized_clusters.n) / any_value(n_levels) AS n_tokenized,
        entropy_peak(curve, any_value(places), list(cluster_id), list(level), list(numerator), list(denominator),
                     list(entropy), list(tokenized_clusters.n)) AS plain,
        entropy_peak(curve, any_value(places), list(cluster_id), list(level), list(numerator), list(denominator),
                     list(entropy_fixed), list(tokenized_clusters.n)) AS fixed
    FROM tokenized_clusters
    JOIN curves USING (curve)
    GROUP BY curve
),
named AS (
    SELECT
        cells.* EXCLUDE (cell_id, baseline_id, is_baseline, cell, setting, condition, perturbations,
                         perturbation_seed, fragment_p),
        curves.* EXCLUDE (cell_id, curve, places),
        shape,
        shape.u_shaped AS u_shaped,
        CASE WHEN with_lines THEN shape.u_shaped AND NOT shape.another_u_shaped END AS copying,
        coalesce(n_tokenized, 0) AS n_tokenized,
        plain,
        fixed
    FROM curves
    JOIN cells USING (cell_id)
    LEFT JOIN shapes USING (curve)
    LEFT JOIN peaks USING (curve)
),
compared AS (
    SELECT
        *,
        CASE
            WHEN benchmark IN ('absence', 'needle')
                AND count(u_shaped) FILTER (benchmark = 'absence') OVER tasks = 1
                AND count(u_shaped) FILTER (benchmark = 'needle') OVER tasks = 1
            THEN bool_and(u_shaped) FILTER (benchmark IN ('absence', 'needle')) OVER tasks
        END AS valley
    FROM named
    WINDOW tasks AS (PARTITION BY both_tasks)
)
SELECT
    * EXCLUDE (both_tasks, with_lines, shape, u_shaped, copying, valley, plain, fixed, n, n_dropped, n_levels,
               n_tokenized),
    CASE WHEN with_lines THEN 'f1' ELSE 'accuracy' END AS measure,
    u_shaped,
    CAST(u_shaped AS INTEGER) AS u_shaped_int,
    valley,
    CAST(valley AS INTEGER) AS valley_int,
    copying,
    CAST(copying AS INTEGER) AS copying_int,
    shape.cross_fitted.depth AS depth_cross_fitted,
    shape.cross_fitted.recovery AS recovery_cross_fitted,
    shape.cross_fitted.location AS location_cross_fitted,
    shape.plain.depth AS depth,
    shape.plain.recovery AS recovery,
    shape.plain.location AS location,
    plain.place AS entropy_peak,
    plain.before_minimum AS peak_before_minimum,
    fixed.place AS entropy_fixed_peak,
    fixed.before_minimum AS peak_before_minimum_fixed,
    n,
    n_dropped,
    n_tokenized,
    n_levels,
    nullif(concat_ws('; ',
        CASE WHEN n = 0 THEN 'no item scored at every level' ELSE shape.reason END,
        CASE WHEN n > 0 AND n_tokenized = 0 THEN 'no text tokenized at every level' END,
        CASE WHEN plain.reason IS DISTINCT FROM shape.reason THEN plain.reason END
    ), '') AS reason
FROM compared
ORDER BY model, quantization, dtype, benchmark, item_group, prompt_style, n_shots, taboo_rank, fragmentation,
    perturbation_seed, sample_seed
