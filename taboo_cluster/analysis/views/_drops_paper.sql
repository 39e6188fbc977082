-- The numbers of view drops_paper, by model_id and comparison.
WITH families AS (
    SELECT
        model_id,
        comparison,
        family,
        any_value(pooled) AS pooled,
        min(cell_id) AS cell_id,
        100 * max(lost) AS drop,
        100 * (greatest(max(lost), 0) - least(min(lost), 0)) AS range,
        100 * any_value(worst_drop) AS drop_worst_mean,
        count(*) AS n_perturbations,
        1 AS n_families,
        any_value(clean_accuracy) AS clean_accuracy,
        min(accuracy) AS lowest_accuracy,
        arg_min(perturbation, (-lost, perturbation, variant_id)) AS worst_perturbation,
        any_value(n_benchmarks) AS n_benchmarks,
        any_value(n) AS n
    FROM (
        SELECT *, max(n_benchmarks) OVER (PARTITION BY model_id, comparison, family) AS most FROM _averages
    )
    WHERE n_benchmarks = most
    GROUP BY model_id, comparison, family
)
FROM families
UNION ALL BY NAME
SELECT
    model_id,
    comparison,
    'mean of families' AS family,
    any_value(pooled) AS pooled,
    min(cell_id) AS cell_id,
    avg(drop) AS drop,
    avg(range) AS range,
    avg(drop_worst_mean) AS drop_worst_mean,
    CAST(sum(n_perturbations) AS BIGINT) AS n_perturbations,
    count(*) AS n_families,
    min(n_benchmarks) AS n_benchmarks,
    min(n) AS n
FROM families
WHERE family <> 'identity' AND NOT contains(family, '→')
GROUP BY model_id, comparison
