-- The cells of each curve over levels of fragmentation: one row per curve and cell. A curve's cells agree in
-- everything but how much their one member of the family fragmentation inserts (place: p; null for
-- fragment_regular_k). Its clean cells (p = 0) have the same stack without that member. curve: what names it, as one
-- text; setting: the same without the benchmark. A stack with several members of the family makes no curve.
WITH named AS (
    SELECT
        *,
        coalesce(list_contains(list_transform(perturbations, lambda p: p.family), 'fragmentation'), false)
            AS fragmented,
        coalesce(CAST(list_filter(perturbations, lambda p: p.family <> 'fragmentation') AS VARCHAR), '[]') AS rest,
        CAST(ROW(model, model_revision, quantization, dtype, engine, split, prompt_style, n_shots, taboo_rank,
                 taboo_trigger, taboo_word_start, taboo_trigger_params, temperature, top_p, sample_seed) AS VARCHAR)
            AS others
    FROM cells
),
fragmented AS MATERIALIZED (
    SELECT * FROM (SELECT *, fragmentation(perturbations) AS found FROM named WHERE fragmented) WHERE found IS NOT NULL
),
curves AS (
    SELECT DISTINCT benchmark, others, rest, found.name AS fragmentation, perturbation_seed FROM fragmented
),
members AS (
    SELECT benchmark, others, found.name AS fragmentation, perturbation_seed, cell_id, condition, false AS clean,
        found.p AS place
    FROM fragmented
    UNION ALL BY NAME
    SELECT curves.* EXCLUDE (rest), cell_id, condition, true AS clean, 0.0::DOUBLE AS place
    FROM curves
    JOIN named ON named.benchmark = curves.benchmark AND named.others = curves.others AND named.rest = curves.rest
        AND NOT fragmented
        AND named.perturbation_seed
            IS NOT DISTINCT FROM CASE WHEN curves.rest <> '[]' THEN curves.perturbation_seed END
)
SELECT
    cell_id, condition, clean, place, fragmentation, perturbation_seed,
    CAST(ROW(benchmark, others, fragmentation, perturbation_seed) AS VARCHAR) AS curve,
    CAST(ROW(others, fragmentation, perturbation_seed) AS VARCHAR) AS setting
FROM members
