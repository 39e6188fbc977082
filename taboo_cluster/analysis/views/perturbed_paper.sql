-- The form of the paper's Table 5: accuracy and drop of each perturbation, averaged over benchmarks.
-- One row per model and stack, its n_variants seeds averaged too. On the items of view drops_paper, which see. drop:
-- mean clean accuracy - mean accuracy, in percentage points. paper, paper_drop: accuracy and drop of the same model and
-- perturbation, over the paper's six benchmarks and with its own rates (view paper_brittleness).
WITH stacks AS (
    SELECT
        model_id,
        comparison,
        family,
        perturbation,
        min(cell_id) AS cell_id,
        CASE WHEN NOT contains(family, '→') THEN regexp_extract(perturbation, '^\w+') END AS name,
        avg(accuracy) AS accuracy,
        avg(clean_accuracy) AS clean_accuracy,
        avg(lost) AS lost,
        count(*) AS n_variants,
        min(n_benchmarks) AS n_benchmarks,
        min(n) AS n
    FROM _averages
    GROUP BY model_id, comparison, family, perturbation
)
SELECT
    cells.model, model_revision, model_family, size_b, aligned, stage, quantization, dtype, engine, prompt_style, n_shots,
    taboo_rank, taboo_trigger, taboo_word_start, taboo_trigger_params, temperature, top_p, sample_seed,
    stacks.family,
    stacks.perturbation,
    100 * lost AS drop,
    clean_accuracy,
    accuracy,
    n_variants,
    n_benchmarks,
    stacks.n,
    accuracies.figure AS paper,
    drops.figure AS paper_drop
FROM stacks
JOIN cells USING (cell_id)
LEFT JOIN paper_brittleness AS accuracies
    ON accuracies.kind = 'accuracy' AND accuracies.model = cells.model AND accuracies.perturbation = name
LEFT JOIN paper_brittleness AS drops
    ON drops.kind = 'drop' AND drops.model = cells.model AND drops.perturbation = name AND drops.benchmark IS NULL
ORDER BY cells.model, quantization, dtype, prompt_style, n_shots, taboo_rank, sample_seed, stacks.family, stacks.perturbation
