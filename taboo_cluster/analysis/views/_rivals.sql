-- Models against each other: each perturbed cell (each clean one against itself) on the items scored for all models
-- both there and in the clean prompt. Models without such an item at all are left out.
WITH variants AS MATERIALIZED (FROM _variants WHERE replicate = 0),
pairs AS (
    SELECT
        p.cell_id, p.clean_id, p.rivals, p.setting, p.variant_id, p.clean, p.perturbation, p.family, p.cell, p.clusters,
        concat_ws(' ', c.model, c.model_revision, c.quantization, c.dtype, c.engine) AS name,
        p.scored & c.scored AS scored,
        p.correct,
        c.correct AS clean_correct
    FROM variants AS p
    JOIN variants AS c ON c.clean_id = p.clean_id AND c.clean
),
commons AS (
    SELECT rivals, variant_id, bit_and(scored) AS common, count(*) AS n_models
    FROM pairs
    WHERE bit_count(scored) > 0
    GROUP BY rivals, variant_id
)
SELECT
    pairs.* EXCLUDE (scored),
    n_models,
    common,
    bit_count(common) AS n,
    bit_count(correct & common) AS k,
    bit_count(clean_correct & common) AS k_clean
FROM pairs
JOIN commons USING (rivals, variant_id)
WHERE bit_count(scored) > 0
