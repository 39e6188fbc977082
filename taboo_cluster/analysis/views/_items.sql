-- Items recorded so far of a model on a benchmark, in whatever condition: what each of its cells is to have.
SELECT baseline_id, count(DISTINCT item_id) AS n_items
FROM recorded
GROUP BY baseline_id
