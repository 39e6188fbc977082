-- What share of the variance in answers to a benchmark is due to the wording of the prompt?
-- pi = V_prompt / V, both summed over the n_models scored on all benchmarks; n: their items, one count a model. All other
-- columns are as in view brittleness_by_model; in the bootstrap an item is drawn for all models at once. paper: the
-- paper's figure (view paper_brittleness).
WITH named AS (
    SELECT DISTINCT task AS key, pooled, benchmark, chance, split, prompt_style, n_shots, taboo_rank, taboo_trigger,
        taboo_word_start, taboo_trigger_params, temperature, top_p
    FROM _tables
)
SELECT
    named.* EXCLUDE (key, pooled),
    numbers.* EXCLUDE (kind, key, pooled, n_tables),
    n_tables AS n_models,
    figure AS paper
FROM _pi AS numbers
JOIN named USING (key, pooled)
LEFT JOIN paper_brittleness AS paper ON paper.kind = 'pi' AND paper.benchmark = named.benchmark
WHERE numbers.kind = 'benchmark'
ORDER BY named.benchmark, prompt_style, n_shots, taboo_rank, temperature
