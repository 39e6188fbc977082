-- Each perturbed cell on the items scored in the clean prompt and under every variant of its family.
WITH pairs AS MATERIALIZED (FROM _perturbed),
families AS (
    SELECT clean_id, family, bit_and(common) AS common, count(*) AS n_perturbations
    FROM pairs
    GROUP BY clean_id, family
)
SELECT
    pairs.* EXCLUDE (common),
    families.common,
    n_perturbations,
    bit_count(families.common) AS n,
    bit_count(correct & families.common) AS k,
    bit_count(clean_correct & families.common) AS k_clean
FROM pairs
JOIN families USING (clean_id, family)
