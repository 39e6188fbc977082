-- Accuracies averaged over benchmarks, which weigh the same: one row per model, family and variant, beside those of the
-- clean prompt. lost: their difference, averaged as such, so that it is exactly 0 for the identity. Used are the
-- benchmarks on which the family is scored for every model of the comparison.
WITH variants AS MATERIALIZED (
    SELECT
        cell_id, model_id, comparison, pooled, family, variant_id, perturbation, task, n,
        k / n AS accuracy,
        k_clean / n AS clean_accuracy,
        (k_clean - k) / n AS lost,
        max((k_clean - k) / n) OVER (PARTITION BY model_id, comparison, family, task) AS worst_drop
    FROM _families
    WHERE n > 0
),
models AS (
    SELECT comparison, family, count(DISTINCT model_id) AS n_models FROM variants GROUP BY comparison, family
),
used AS (
    SELECT comparison, family, task
    FROM variants
    JOIN models USING (comparison, family)
    GROUP BY comparison, family, task
    HAVING count(DISTINCT model_id) = any_value(n_models)
)
SELECT
    model_id, comparison, family, variant_id,
    any_value(pooled) AS pooled,
    min(cell_id) AS cell_id,
    any_value(perturbation) AS perturbation,
    avg(accuracy) AS accuracy,
    avg(clean_accuracy) AS clean_accuracy,
    avg(lost) AS lost,
    avg(worst_drop) AS worst_drop,
    count(*) AS n_benchmarks,
    CAST(sum(n) AS BIGINT) AS n
FROM variants
JOIN used USING (comparison, family, task)
GROUP BY model_id, comparison, family, variant_id
