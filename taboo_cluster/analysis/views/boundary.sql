-- Where an answer can be guessed: is there more than guessing left?
-- Benchmarks with a chance level (multiple choice by letter), apart from all others: masking removes the letter itself,
-- so this is a boundary of the method, not a retention. Accuracy counts trials without an answer as wrong and can thus
-- lie below chance. ci: Wilson, or bootstrap over clusters where a cluster has several items. at_chance: the interval
-- includes chance. accuracy_adjusted = (accuracy - chance) / (1 - chance): 0 at chance, 1 where all is right.
SELECT
    model, model_revision, model_family, size_b, aligned, stage, pair, quantization, dtype, engine,
    benchmark, split, prompt_style, n_shots, condition, perturbations, perturbation_seed, fragment_p,
    taboo_rank, taboo_trigger, taboo_word_start, taboo_trigger_params, temperature, top_p, sample_seed,
    accuracy,
    coalesce(ci_low_cluster, ci_low) AS ci_low,
    coalesce(ci_high_cluster, ci_high) AS ci_high,
    n,
    chance,
    chance BETWEEN coalesce(ci_low_cluster, ci_low) AND coalesce(ci_high_cluster, ci_high) AS at_chance,
    CAST(chance BETWEEN coalesce(ci_low_cluster, ci_low) AND coalesce(ci_high_cluster, ci_high) AS INTEGER)
        AS at_chance_int,
    (accuracy - chance) / (1 - chance) AS accuracy_adjusted,
    coverage, accuracy_answered, n_answered, truncated_share, n_error, n_missing
FROM accuracy
WHERE chance IS NOT NULL
ORDER BY model, quantization, dtype, benchmark, taboo_rank, condition, sample_seed
