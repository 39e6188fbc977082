-- The latest measurement of each text with each tokenizer.
FROM tokenized
QUALIFY row_number() OVER (
    PARTITION BY tokenizer_hash, benchmark, split, item_id, perturbations, perturbation_seed
    ORDER BY measured_at DESC, tokens
) = 1
