-- The numbers of Pi, by model (kind `model`, summed over benchmarks) and by benchmark (kind `benchmark`, over models).
WITH tables AS (
    SELECT
        *,
        CASE kind WHEN 'model' THEN CAST(model_id AS VARCHAR) ELSE task END AS key,
        CASE kind WHEN 'model' THEN for_models ELSE for_benchmarks END AS used
    FROM _tables, (VALUES ('model'), ('benchmark')) AS kinds (kind)
),
together AS (
    SELECT
        kind,
        key,
        pooled,
        min(cell_id) AS cell_id,
        any_value(n_variants) AS n_variants,
        count(*) FILTER (used) AS n_tables,
        min(n_draws) FILTER (used) AS n_draws,
        coalesce(CAST(sum(n) FILTER (used) AS BIGINT), 0) AS n,
        CAST(coalesce(sum(n_incomplete) FILTER (used), sum(n_incomplete)) AS BIGINT) AS n_incomplete,
        max(n) AS most,
        bool_and(again_common IS NOT NULL) FILTER (used) AS again,
        list(task ORDER BY task, model_id) FILTER (used) AS tasks,
        list(clusters ORDER BY task, model_id) FILTER (used) AS clusters,
        list(common ORDER BY task, model_id) FILTER (used) AS commons,
        list(correct ORDER BY task, model_id) FILTER (used) AS corrects,
        list(n_draws ORDER BY task, model_id) FILTER (used) AS draws,
        any_value(families) FILTER (used) AS families,
        list(again_common ORDER BY task, model_id) FILTER (used) AS again_commons,
        list(again_correct ORDER BY task, model_id) FILTER (used) AS again_corrects,
        list(1 ORDER BY task, model_id) FILTER (used) AS again_draws
    FROM tables
    GROUP BY kind, key, pooled
),
computed AS MATERIALIZED (
    SELECT
        *,
        brittleness(clusters, commons, corrects, draws, families) AS b,
        bootstrap_pi(
            concat('brittleness_by_', kind), pooled, tasks, clusters, commons, corrects, draws
        ) AS ci,
        CASE WHEN again
             THEN brittleness(clusters, again_commons, again_corrects, again_draws, ['clean', 'clean']) END AS aa
    FROM together
)
SELECT
    kind,
    key,
    pooled,
    cell_id,
    b.pi AS pi,
    ci.low AS ci_low,
    ci.high AS ci_high,
    n,
    n_tables,
    n_variants,
    n_draws,
    b.v,
    b.v_item,
    b.v_prompt,
    b.v_sampling,
    b.v_shift,
    b.v_flip,
    n_draws = 1 AS v_prompt_is_upper_bound,
    CAST(n_draws = 1 AS INTEGER) AS v_prompt_is_upper_bound_int,
    (n_variants - 1) / n_variants AS pi_of_noise,
    b.pi_unbiased,
    ci.unbiased_low AS pi_unbiased_ci_low,
    ci.unbiased_high AS pi_unbiased_ci_high,
    b.truncated,
    CAST(b.truncated AS INTEGER) AS truncated_int,
    b.pi_corrected,
    b.v_prompt_corrected,
    aa.pi AS pi_aa,
    aa.pi_unbiased AS pi_unbiased_aa,
    b.pi_without_clean,
    b.pi_equal_families,
    n_incomplete,
    CASE
        WHEN n > 0 AND b.pi IS NULL THEN 'no variance: every answer is right, or every one wrong'
        WHEN n > 0 THEN NULL
        WHEN most = 0 THEN 'no item is scored under every variant of the comparison'
        WHEN kind = 'model' THEN 'no benchmark is scored for every model'
        ELSE 'no model is scored on every benchmark'
    END AS reason
FROM computed
