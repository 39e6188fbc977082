-- What share of the variance in a model's answers is due to the wording of the prompt?
-- pi = V_prompt / V, both summed over the n_benchmarks scored for all models; V = V_item + V_prompt + V_sampling are
-- population variances over items, variants and draws, V_prompt = V_shift (harder for all items) + V_flip (item by
-- item). The clean prompt is variant 0, and each stack and seed one more: n_variants (J), each of the same weight. n:
-- items scored in every draw of every variant; n_incomplete: the others. Under pure noise pi is near pi_of_noise =
-- (J-1)/J: only rows of one J compare. pi_unbiased: the random-effects form, 1 under pure noise; truncated: an item
-- variance came out below 0. With one draw (n_draws) v_prompt is an upper bound; with more, pi_corrected and
-- v_prompt_corrected are freed of what draws alone add. pi_aa, pi_unbiased_aa: of the clean prompt and its replicate, J
-- = 2. ci: bootstrap over clusters of items within each benchmark, the same items for all models. pi_without_clean: the
-- clean prompt is no variant; pi_equal_families: families of perturbations weigh the same, the clean prompt being one.
SELECT
    model, model_revision, model_family, size_b, aligned, stage, quantization, dtype, engine, prompt_style, n_shots,
    taboo_rank, taboo_trigger, taboo_word_start, taboo_trigger_params, temperature, top_p,
    numbers.* EXCLUDE (kind, key, pooled, cell_id, n_tables),
    n_tables AS n_benchmarks
FROM _pi AS numbers
JOIN cells USING (cell_id)
WHERE kind = 'model'
ORDER BY model, quantization, dtype, prompt_style, n_shots, taboo_rank, temperature
