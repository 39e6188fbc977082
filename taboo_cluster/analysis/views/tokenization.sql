-- How does each tokenizer cut fragmented texts?
-- One row per tokenizer, benchmark, domain (item_group), stack and seed. Means over the n texts, the latest
-- measurement of each. entropy: of the frequencies of the token ids, in bits, with its interval from the bootstrap
-- over documents. It grows with length; entropy_fixed, of as many tokens at every level, does not.
-- tokens_per_character: white space left out of the characters. single_character_share: of tokens that spell at most
-- one character. fragment_p: p; 0 for the clean text (perturbations null), for fragment_regular_k the mean measured
-- rate. models: those of the run with that tokenizer.
WITH texts_of_tokenizers AS MATERIALIZED (FROM _tokenization),
models AS (
    SELECT tokenizer_hash, list(DISTINCT model ORDER BY model) AS models
    FROM recorded
    SEMI JOIN texts_of_tokenizers USING (tokenizer_hash)
    GROUP BY tokenizer_hash
),
means AS (
    SELECT
        tokenizer_hash, benchmark, split, item_group, perturbations, perturbation_seed,
        CASE WHEN perturbations IS NULL THEN 0 ELSE coalesce(any_value(fragment_p), avg(word_fragmentation_rate)) END
            AS fragment_p,
        CASE WHEN perturbations IS NULL THEN 0 ELSE avg(word_fragmentation_rate) END AS word_fragmentation_rate,
        avg(entropy) AS entropy,
        avg(entropy_fixed) AS entropy_fixed,
        avg(tokens / nullif(characters, 0)) AS tokens_per_character,
        avg(single_character_share) AS single_character_share,
        avg(tokens) AS tokens,
        avg(fixed_tokens) AS fixed_tokens,
        count(*) AS n
    FROM texts_of_tokenizers
    GROUP BY tokenizer_hash, benchmark, split, item_group, perturbations, perturbation_seed
),
clusters AS (
    SELECT
        tokenizer_hash, benchmark, split, item_group, perturbations, perturbation_seed, cluster_id,
        sum(entropy) AS entropy,
        CAST(count(entropy) AS DOUBLE) AS n
    FROM texts_of_tokenizers
    GROUP BY ALL
),
boot AS MATERIALIZED (
    SELECT
        tokenizer_hash, benchmark, split, item_group, perturbations, perturbation_seed,
        level_intervals(
            'tokenization',
            CAST(ROW(tokenizer_hash, benchmark, split, item_group, perturbations, perturbation_seed) AS VARCHAR),
            list(cluster_id), list(1), list(entropy), list(n)
        )[1] AS ci
    FROM clusters
    WHERE n > 0
    GROUP BY tokenizer_hash, benchmark, split, item_group, perturbations, perturbation_seed
)
SELECT
    means.tokenizer_hash,
    models,
    means.* EXCLUDE (tokenizer_hash, entropy, entropy_fixed, tokens_per_character, single_character_share, tokens,
                     fixed_tokens, n),
    entropy,
    ci.low AS ci_low,
    ci.high AS ci_high,
    entropy_fixed,
    tokens_per_character,
    single_character_share,
    tokens,
    fixed_tokens,
    n
FROM means
LEFT JOIN models USING (tokenizer_hash)
LEFT JOIN boot
    ON boot.tokenizer_hash = means.tokenizer_hash AND boot.benchmark = means.benchmark
    AND boot.split IS NOT DISTINCT FROM means.split AND boot.item_group IS NOT DISTINCT FROM means.item_group
    AND boot.perturbations IS NOT DISTINCT FROM means.perturbations
    AND boot.perturbation_seed IS NOT DISTINCT FROM means.perturbation_seed
ORDER BY means.tokenizer_hash, means.benchmark, means.item_group, fragment_p, means.perturbations,
    means.perturbation_seed
