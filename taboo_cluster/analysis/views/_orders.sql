-- Rank correlations of all models under a perturbation with the clean prompt, and intervals of their places.
SELECT
    rivals,
    variant_id,
    spearman(list(k_clean ORDER BY name), list(k ORDER BY name)) AS spearman,
    kendall(list(k_clean ORDER BY name), list(k ORDER BY name)) AS kendall,
    list(name ORDER BY name) AS names,
    bootstrap_ranks(
        'ranking', any_value(setting), any_value(clusters), any_value(common::BLOB),
        list(clean_correct::BLOB ORDER BY name), list(correct::BLOB ORDER BY name)
    ) AS ci
FROM _rivals
WHERE n > 0
GROUP BY rivals, variant_id
