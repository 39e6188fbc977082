-- What did the paper on brittleness report for which model, benchmark, family or perturbation?
-- "BrittleBench: Quantifying LLM Robustness via Prompt Sensitivity": its Tables 2 (drop, range per family) and 5
-- (accuracy, drop per perturbation), averaged over its six multiple-choice benchmarks (MMLU, ARC, TruthfulQA, MathQA,
-- GPQA, LogiQA; 0-shot), and single figures of its text. drop and range in percentage points, all else as shares.
-- figure: as text, a bound or range where the paper gives one (low, high). Its Llama models are taken to be the aligned
-- ones.
WITH families (model, word, word_range, padding, padding_range, augmentation, augmentation_range, paraphrase,
               paraphrase_range, mean, mean_range) AS (
    VALUES
    ('claude-opus-4.5', 6.49, 6.49, 1.87, 3.32, 1.56, 1.56, 0.38, 0.44, 2.58, 2.95),
    ('gpt-5', 9.32, 9.32, 0.77, 1.60, 4.75, 4.75, 5.66, 5.66, 5.13, 5.33),
    ('Qwen/Qwen3-32B', 7.54, 7.54, 5.41, 5.41, 0.83, 0.83, 0.49, 0.49, 3.57, 3.57),
    ('Qwen/Qwen3-8B', 8.50, 8.52, 16.47, 16.51, 0.95, 0.95, 0.60, 0.60, 6.63, 6.65),
    ('Qwen/Qwen3-4B', 9.27, 9.27, 7.17, 7.60, 0.79, 0.79, 1.18, 1.18, 4.60, 4.71),
    ('meta-llama/Llama-3.3-70B-Instruct', 7.49, 7.55, 6.65, 6.98, 1.88, 1.89, 0.88, 0.88, 4.23, 4.33),
    ('meta-llama/Llama-3.1-70B-Instruct', 7.08, 7.08, 10.51, 10.51, 5.31, 7.45, -0.01, 2.37, 5.72, 6.85),
    ('meta-llama/Llama-3.1-8B-Instruct', 9.42, 9.42, 21.61, 21.61, 14.78, 16.59, 0.00, 3.23, 11.45, 12.71)
),
of_families AS (
    SELECT unnest(['drop', 'range']) AS kind, model, 'word' AS family, unnest([word, word_range]) AS value FROM families
    UNION ALL
    SELECT unnest(['drop', 'range']), model, 'padding', unnest([padding, padding_range]) FROM families
    UNION ALL
    SELECT unnest(['drop', 'range']), model, 'augmentation', unnest([augmentation, augmentation_range]) FROM families
    UNION ALL
    SELECT unnest(['drop', 'range']), model, 'paraphrase', unnest([paraphrase, paraphrase_range]) FROM families
    UNION ALL
    SELECT unnest(['drop', 'range']), model, 'mean of families', unnest([mean, mean_range]) FROM families
),
words (model, clean, typos, typos_drop, stop_words, stop_words_drop, punctuation_spaces, punctuation_spaces_drop,
       space_runs, space_runs_drop, word_merge, word_merge_drop, word_split, word_split_drop) AS (
    VALUES
    ('claude-opus-4.5', 78.64, 74.36, 4.28, 74.08, 4.56, 78.45, 0.19,
     72.15, 6.49, 76.72, 1.92, 76.74, 1.90),
    ('gpt-5', 73.97, 64.65, 9.32, 65.63, 8.34, 70.29, 3.68,
     69.47, 4.50, 70.19, 3.78, 70.42, 3.55),
    ('Qwen/Qwen3-32B', 81.53, 73.99, 7.54, 76.48, 5.05, 81.42, 0.11,
     80.06, 1.47, 81.36, 0.17, 81.02, 0.51),
    ('Qwen/Qwen3-8B', 78.50, 70.00, 8.50, 72.56, 5.94, 78.25, 0.25,
     77.27, 1.23, 78.52, -0.02, 78.04, 0.46),
    ('meta-llama/Llama-3.3-70B-Instruct', 66.41, 58.92, 7.49, 59.42, 6.99, 66.46, -0.05,
     60.92, 5.49, 65.85, 0.56, 64.03, 2.38),
    ('meta-llama/Llama-3.1-8B-Instruct', 43.48, 34.16, 9.32, 37.33, 6.15, 42.38, 1.10,
     34.06, 9.42, 41.03, 2.45, 37.20, 6.28)
),
of_words AS (
    SELECT 'accuracy' AS kind, model, NULL AS perturbation, clean / 100 AS value FROM words
    UNION ALL
    SELECT unnest(['accuracy', 'drop']), model, 'typos', unnest([typos / 100, typos_drop]) FROM words
    UNION ALL
    SELECT unnest(['accuracy', 'drop']), model, 'stop_words', unnest([stop_words / 100, stop_words_drop]) FROM words
    UNION ALL
    SELECT unnest(['accuracy', 'drop']), model, 'punctuation_spaces',
        unnest([punctuation_spaces / 100, punctuation_spaces_drop]) FROM words
    UNION ALL
    SELECT unnest(['accuracy', 'drop']), model, 'space_runs', unnest([space_runs / 100, space_runs_drop]) FROM words
    UNION ALL
    SELECT unnest(['accuracy', 'drop']), model, 'word_merge', unnest([word_merge / 100, word_merge_drop]) FROM words
    UNION ALL
    SELECT unnest(['accuracy', 'drop']), model, 'word_split', unnest([word_split / 100, word_split_drop]) FROM words
),
figures AS (
    SELECT kind, model, NULL AS benchmark, family, NULL AS perturbation, value AS low, value AS high, NULL AS note
    FROM of_families
    UNION ALL
    SELECT kind, model, NULL, CASE WHEN perturbation IS NULL THEN 'clean' ELSE 'word' END, perturbation,
        value, value, NULL
    FROM of_words
),
others (kind, model, benchmark, family, perturbation, low, high, note) AS (
    VALUES
    ('pi', NULL, 'mmlu', NULL, NULL, 0.5, 1.0, 'above 0.5'),
    ('pi', NULL, 'gpqa', NULL, NULL, 0.5, 1.0, 'above 0.5'),
    ('pi of models', NULL, NULL, NULL, NULL, 0.5, 1.0, 'open models: near or above 0.5'),
    ('pi of models', NULL, NULL, NULL, NULL, 0.25, 1.0, 'closed models: above 0.25'),
    ('order_changed', NULL, NULL, NULL, NULL, 0.63, 0.63, 'one perturbation reorders open models in 63% of cases'),
    ('spearman', NULL, NULL, 'padding', NULL, 0.63, 0.67, NULL),
    ('drop', 'Qwen/Qwen3-8B', 'mmlu', 'word→padding', 'typos→padding', 45, 45, 'typos, then quotes: about 45'),
    ('error without chain of thought', 'claude-opus-4.5', NULL, NULL, NULL, 0.04, 0.04, NULL),
    ('error with chain of thought', 'claude-opus-4.5', NULL, NULL, NULL, 0.017, 0.017, NULL),
    ('drop without chain of thought', 'claude-opus-4.5', NULL, NULL, NULL, 2.79, 2.79, NULL),
    ('drop with chain of thought', 'claude-opus-4.5', NULL, NULL, NULL, 2.38, 2.38, NULL),
    ('preserved', NULL, NULL, NULL, NULL, 0.998, 0.998, 'meaning and answer kept, of 2,400 texts'),
    ('cohen_kappa', NULL, NULL, NULL, NULL, 0.714, 0.714, 'of that audit'),
    ('krippendorff_alpha', NULL, NULL, NULL, NULL, 0.833, 0.833, 'of that audit'),
    ('cosine', NULL, NULL, NULL, NULL, 0.962, 0.962, 'mean similarity of the texts of that audit')
)
SELECT
    kind, model, benchmark, family, perturbation,
    CASE
        WHEN note LIKE '%above%' THEN note
        WHEN low = high THEN format('{:.4g}', low)
        ELSE format('{:.4g} to {:.4g}', low, high)
    END AS figure,
    low, high,
    CASE WHEN kind IN ('preserved', 'cohen_kappa', 'krippendorff_alpha', 'cosine') THEN 2400 END AS n,
    note
FROM (
    SELECT * REPLACE (CAST(low AS DOUBLE) AS low, CAST(high AS DOUBLE) AS high)
    FROM (FROM figures UNION ALL FROM others)
)
ORDER BY ALL
