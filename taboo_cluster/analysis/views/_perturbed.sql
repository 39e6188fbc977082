-- Each perturbed cell beside its clean prompt (replicate 0), and beside the clean prompt's replicate 1.
WITH variants AS MATERIALIZED (FROM _variants)
SELECT
    p.cell_id, p.clean_id, p.task, p.family, p.perturbation, p.variant_id, p.cell, p.clusters, p.halves, p.chance,
    p.model_id, p.comparison, p.pooled, p.sample_seed,
    coalesce(p.scored & c.scored, xor(p.scored, p.scored)) AS common,
    p.correct,
    coalesce(c.correct, xor(p.scored, p.scored)) AS clean_correct,
    p.changed,
    p.n_recorded,
    coalesce(c.n_recorded, 0) AS n_clean,
    a.scored AS again_scored,
    a.correct AS again_correct
FROM variants AS p
LEFT JOIN variants AS c ON c.clean_id = p.clean_id AND c.clean AND c.replicate = 0
LEFT JOIN variants AS a ON a.clean_id = p.clean_id AND a.clean AND a.replicate = 1
WHERE NOT p.clean AND p.replicate = 0
