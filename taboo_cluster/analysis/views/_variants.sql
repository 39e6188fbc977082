-- The cells of perturbed benchmarks, one row per replicate, each with its answers as bits and what it is compared with.
-- clean_id: a clean prompt and its perturbed forms share it (model, benchmark and everything else alike). rivals: what
-- models share that are ranked against each other. comparison: what models and benchmarks share that stand in one
-- table; pooled: the same for those whose Pi are compared, draws being pooled there. variant_id: stack and seed.
-- perturbation: the stack as text; family: of its members, `clean` without any. Another gold answer or question for an
-- item is an error, never a flip.
WITH named AS (
    SELECT
        *,
        CAST(ROW(benchmark, split) AS VARCHAR) AS task,
        coalesce(len(perturbations), 0) = 0 AS clean,
        hash(model, model_revision, quantization, dtype, engine, reverse(model)) AS model_id,
        stack_hash(perturbations, perturbation_seed) AS variant_id,
        CASE WHEN len(perturbations) > 0 THEN split_part(condition, ' · ', 1) END AS perturbation,
        CASE WHEN len(perturbations) > 0
             THEN array_to_string(list_transform(perturbations, lambda p: p.family), '→') ELSE 'clean' END AS family,
        CAST(ROW(benchmark, split, prompt_style, n_shots, taboo_rank, taboo_trigger, taboo_word_start,
                 taboo_trigger_params, temperature, top_p, sample_seed) AS VARCHAR) AS rivals,
        CAST(ROW(prompt_style, n_shots, taboo_rank, taboo_trigger, taboo_word_start, taboo_trigger_params, temperature,
                 top_p, sample_seed) AS VARCHAR) AS comparison,
        CAST(ROW(prompt_style, n_shots, taboo_rank, taboo_trigger, taboo_word_start, taboo_trigger_params, temperature,
                 top_p) AS VARCHAR) AS pooled
    FROM cells
),
compared AS (
    SELECT *, hash(model_id, rivals, reverse(rivals)) AS clean_id FROM named
),
touched AS (SELECT DISTINCT clean_id FROM compared WHERE NOT clean)
SELECT compared.*, replicate, n_recorded, scored, correct, changed, n_items, n_clusters, clusters, halves
FROM compared
SEMI JOIN touched USING (clean_id)
JOIN tasks USING (task)
JOIN answers USING (cell_id)
WHERE CASE
    WHEN mismatch IS NOT NULL
    THEN CAST(error(format(
        'item {} of {} does not have the same question and gold answer everywhere', mismatch, benchmark
    )) AS BOOLEAN)
    ELSE true
END
