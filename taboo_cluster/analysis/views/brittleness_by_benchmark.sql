-- What share of the variance in answers to a benchmark is due to the wording of the prompt?
-- pi = V_prompt / V, both summed over the n_models scored on all benchmarks; n: their items, one count a model. All
-- other columns are as in view brittleness_by_model; in the bootstrap an item is drawn for all models at once. paper:
-- the paper's figure (view paper_brittleness).
SELECT
    cells.benchmark, chance, split, prompt_style, n_shots,
    taboo_rank, taboo_trigger, taboo_word_start, taboo_trigger_params, temperature, top_p,
    numbers.* EXCLUDE (kind, key, pooled, cell_id, n_tables),
    n_tables AS n_models,
    figure AS paper
FROM _pi AS numbers
JOIN cells USING (cell_id)
LEFT JOIN paper_brittleness AS paper ON paper.kind = 'pi' AND paper.benchmark = cells.benchmark
WHERE numbers.kind = 'benchmark'
ORDER BY cells.benchmark, prompt_style, n_shots, taboo_rank, temperature
