-- What Pi is computed from: one row per model and benchmark (and setting), the answers of every draw of every variant.
-- Variant 0 is the clean prompt, each other one a stack and a seed. A draw is a sample_seed and replicate that all
-- variants have. common: the n items scored in all of them. The variants are those that every (finished) benchmark of the
-- comparison has: a model that lacks one has no such item. An error: models that are finished and have different lists of
-- variants on one benchmark; benchmarks that have none in common.
-- for_models: the benchmark counts in Pi of models; for_benchmarks: the model counts in Pi of benchmarks.
WITH every AS MATERIALIZED (
    SELECT *, hash(model_id, pooled, task) AS table_id, hash(sample_seed, replicate) AS draw_id FROM _variants
),
lists AS (
    SELECT
        table_id,
        pooled,
        task,
        any_value(concat(model, ' on ', benchmark)) AS named,
        list(DISTINCT variant_id ORDER BY variant_id) AS variant_ids,
        min(n_recorded) = max(n_recorded) AS finished
    FROM every
    WHERE replicate = 0
    GROUP BY table_id, pooled, task
),
of_tasks AS (
    SELECT
        pooled,
        task,
        any_value(named) AS named,
        list_distinct(flatten(list(variant_ids))) AS variant_ids,
        bool_or(finished) AS finished
    FROM lists
    GROUP BY pooled, task
    HAVING CASE
        WHEN count(DISTINCT variant_ids) FILTER (finished) > 1
        THEN CAST(error(format(
            '{} and {} have different variants: Pi over different lists of variants is not compared',
            arg_min(named, variant_ids) FILTER (finished),
            arg_max(named, variant_ids) FILTER (finished)
        )) AS BOOLEAN)
        ELSE true
    END
),
in_common AS (
    SELECT
        pooled,
        min(named) AS first_named,
        max(named) AS last_named,
        list_reduce(list(variant_ids) FILTER (finished), lambda a, b: list_intersect(a, b)) AS of_finished,
        list_distinct(flatten(list(variant_ids))) AS of_all
    FROM of_tasks
    GROUP BY pooled
),
comparisons AS (
    SELECT pooled, coalesce(of_finished, of_all) AS variant_ids
    FROM in_common
    WHERE CASE
        WHEN len(of_finished) = 1
        THEN CAST(error(format(
            '{} and {} have no perturbation in common: Pi over different lists of variants is not compared',
            first_named,
            last_named
        )) AS BOOLEAN)
        ELSE true
    END
),
variants AS MATERIALIZED (
    SELECT every.*, len(variant_ids) AS n_variants
    FROM every
    JOIN comparisons USING (pooled)
    WHERE list_contains(variant_ids, variant_id)
),
draws AS (
    SELECT table_id, draw_id
    FROM variants
    GROUP BY table_id, draw_id
    HAVING count(DISTINCT variant_id) = any_value(n_variants)
),
complete AS (
    SELECT
        table_id,
        count(DISTINCT draw_id) AS n_draws,
        bit_and(scored) AS common,
        list(correct::BLOB ORDER BY clean DESC, family, perturbation, variant_id, draw_id) AS correct,
        list(family ORDER BY clean DESC, family, perturbation, variant_id, draw_id) AS families
    FROM variants
    JOIN draws USING (table_id, draw_id)
    GROUP BY table_id
),
named AS (
    SELECT
        table_id,
        min(cell_id) AS cell_id,
        any_value(model_id) AS model_id,
        any_value(pooled) AS pooled,
        any_value(task) AS task,
        any_value(baseline_id) AS baseline_id,
        any_value(n_variants) AS n_variants,
        any_value(clusters) AS clusters
    FROM variants
    GROUP BY table_id
),
again AS (
    SELECT
        table_id,
        bit_and(scored) AS again_common,
        list(correct::BLOB ORDER BY replicate) AS again_correct
    FROM variants
    WHERE clean AND replicate < 2 AND coalesce(temperature, 0) = 0
    GROUP BY table_id
    HAVING count(*) = 2
),
counted AS (
    SELECT
        named.*,
        coalesce(n_draws, 0) AS n_draws,
        common::BLOB AS common,
        correct,
        families[1:len(families):n_draws] AS families,
        coalesce(bit_count(common), 0) AS n,
        _items.n_items - coalesce(bit_count(common), 0) AS n_incomplete,
        CASE WHEN bit_count(again_common) > 0 THEN again_common::BLOB END AS again_common,
        again_correct
    FROM named
    JOIN _items USING (baseline_id)
    LEFT JOIN complete USING (table_id)
    LEFT JOIN again USING (table_id)
),
live AS (
    SELECT pooled, count(DISTINCT model_id) AS n_models, count(DISTINCT task) AS n_tasks
    FROM counted
    WHERE n > 0
    GROUP BY pooled
)
SELECT
    counted.*,
    n > 0 AND count(*) FILTER (n > 0) OVER (PARTITION BY pooled, task) = n_models AS for_models,
    n > 0 AND count(*) FILTER (n > 0) OVER (PARTITION BY pooled, model_id) = n_tasks AS for_benchmarks
FROM counted
LEFT JOIN live USING (pooled)
