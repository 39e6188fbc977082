-- What did the paper report for which model, benchmark and condition?
-- "Decoding-Level Taboo: A Diagnostic Stress Test for LLM Robustness", those of its figures whose model and setting can
-- be told. figure: as text, a range where the paper gives one (low, high); n: items it used, before the baseline's
-- mistakes are left out. Two-shot chain of thought, greedy, marker word starts; nf4 from 32B up. Figures that belong to
-- no single cell (MMLU, IFEval, quantization, lengths, seeds) are in docs/taboo.md.
WITH figures (kind, benchmark, model, quantization, condition, low, high, n, note) AS (
    VALUES
    ('retention', 'gsm8k', 'Qwen/Qwen2.5-0.5B', 'none', 'taboo(rank=1)', 0.06::DOUBLE, 0.06::DOUBLE, 500, NULL),
    ('retention', 'gsm8k', 'Qwen/Qwen2.5-7B', 'none', 'taboo(rank=1)', 0.08, 0.08, 500, NULL),
    ('retention', 'gsm8k', 'Qwen/Qwen2.5-7B-Instruct', 'none', 'taboo(rank=1)', 0.48, 0.48, 500, NULL),
    ('retention', 'gsm8k', 'allenai/OLMo-2-1124-7B', 'none', 'taboo(rank=1)', 0.15, 0.15, 500, NULL),
    ('retention', 'gsm8k', 'allenai/OLMo-2-1124-7B-Instruct', 'none', 'taboo(rank=1)', 0.45, 0.45, 500, NULL),
    ('retention', 'gsm8k', 'google/gemma-3-12b-pt', 'none', 'taboo(rank=1)', 0.25, 0.25, 500, NULL),
    ('retention', 'gsm8k', 'google/gemma-3-12b-it', 'none', 'taboo(rank=1)', 0.90, 0.90, 500, NULL),
    ('retention', 'gsm8k', 'meta-llama/Llama-3.1-8B', 'none', 'taboo(rank=1)', 0.14, 0.14, 500, NULL),
    ('retention', 'gsm8k', 'meta-llama/Llama-3.1-8B-Instruct', 'none', 'taboo(rank=1)', 0.16, 0.16, 500, NULL),
    ('retention', 'gsm8k', 'Qwen/Qwen2.5-32B', 'nf4', 'taboo(rank=1)', 0.59, 0.59, 100, NULL),
    ('retention', 'gsm8k', 'Qwen/Qwen2.5-32B-Instruct', 'nf4', 'taboo(rank=1)', 0.93, 0.93, 100, NULL),
    ('retention', 'gsm8k', 'Qwen/Qwen2.5-72B', 'nf4', 'taboo(rank=1)', 0.39, 0.39, 100, NULL),
    ('retention', 'gsm8k', 'Qwen/Qwen2.5-72B-Instruct', 'nf4', 'taboo(rank=1)', 0.85, 0.85, 100, NULL),
    ('retention', 'gsm8k', 'meta-llama/Llama-3.1-70B', 'nf4', 'taboo(rank=1)', 0.36, 0.36, 100, NULL),
    ('retention', 'gsm8k', 'meta-llama/Llama-3.1-70B-Instruct', 'nf4', 'taboo(rank=1)', 0.75, 0.75, 100, NULL),
    ('retention', 'gsm8k', 'Qwen/Qwen2.5-7B-Instruct', 'none', 'taboo(rank=8)', 0.30, 0.30, 500, NULL),
    ('retention', 'gsm8k', 'allenai/OLMo-2-1124-7B-Instruct', 'none', 'taboo(rank=8)', 0.16, 0.16, 500, NULL),
    ('retention', 'gsm8k', 'google/gemma-3-12b-it', 'none', 'taboo(rank=8)', 0.51, 0.51, 500, NULL),
    ('retention', 'gsm8k', 'Qwen/Qwen2.5-7B', 'none', 'taboo(rank=8)', 0, 0.08, 500, 'every base: under 8%'),
    ('retention', 'gsm8k', 'allenai/OLMo-2-1124-7B', 'none', 'taboo(rank=8)', 0, 0.08, 500, 'every base: under 8%'),
    ('retention', 'gsm8k', 'google/gemma-3-12b-pt', 'none', 'taboo(rank=8)', 0, 0.08, 500, 'every base: under 8%'),
    ('retention', 'gsm8k', 'meta-llama/Llama-3.1-8B', 'none', 'taboo(rank=8)', 0, 0.08, 500, 'every base: under 8%'),
    ('accuracy', 'gsm8k', 'google/gemma-3-12b-it', 'none', 'taboo(rank=2)', 0.81, 0.81, 500, NULL),
    ('retention', 'triviaqa', 'meta-llama/Llama-3.1-8B', 'none', 'taboo(rank=1)', 0.45, 0.45, 500, NULL),
    ('retention', 'triviaqa', 'meta-llama/Llama-3.1-8B-Instruct', 'none', 'taboo(rank=1)', 0.53, 0.53, 500, NULL),
    ('retention', 'humaneval', 'meta-llama/Llama-3.1-8B-Instruct', 'none', 'taboo(rank=2)', 1 / 102, 1 / 102, 164,
     '1 of 102: the only program of any model that passed')
),
families (base, aligned) AS (
    VALUES
    ('Qwen/Qwen2.5-7B', 'Qwen/Qwen2.5-7B-Instruct'),
    ('allenai/OLMo-2-1124-7B', 'allenai/OLMo-2-1124-7B-Instruct'),
    ('google/gemma-3-12b-pt', 'google/gemma-3-12b-it'),
    ('meta-llama/Llama-3.1-8B', 'meta-llama/Llama-3.1-8B-Instruct')
),
of_families AS (
    SELECT 'accuracy' AS kind, 'gsm8k' AS benchmark, aligned AS model, 'taboo(rank=2,trigger=mid_word)' AS condition,
        0.01::DOUBLE AS low, 0.05::DOUBLE AS high, 500 AS n,
        'range over four families; taken to be their aligned models' AS note
    FROM families
    UNION ALL
    SELECT 'retention', 'triviaqa', aligned, 'taboo(rank=1)', 0.51, 0.58, 500,
        'range over the aligned models of 7B to 12B'
    FROM families WHERE base NOT LIKE 'meta-llama/%'
    UNION ALL
    SELECT 'retention', 'triviaqa', base, 'taboo(rank=1)', 0.43, 0.55, 500, 'range over the base models of 7B to 12B'
    FROM families WHERE base NOT LIKE 'meta-llama/%'
    UNION ALL
    SELECT 'retention', 'humaneval', model, format('taboo(rank={})', rank), 0, 0, 164, 'no program of any model passed'
    FROM (SELECT base AS model FROM families UNION ALL SELECT aligned FROM families),
        (VALUES (1), (2), (8)) AS ranks (rank)
    WHERE NOT (model = 'meta-llama/Llama-3.1-8B-Instruct' AND rank = 2)
)
SELECT
    kind, benchmark, model, quantization, condition,
    CASE WHEN low = high THEN format('{:.2g}', low) ELSE format('{:.2g} to {:.2g}', low, high) END AS figure,
    low, high, n, note
FROM (FROM figures UNION ALL BY NAME SELECT *, 'none' AS quantization FROM of_families)
ORDER BY ALL
