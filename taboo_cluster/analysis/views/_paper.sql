-- The paper's figures of each cell that has some, by cell_id, as text; exact_retention where it is one number.
SELECT
    cell_id,
    any_value(figure) FILTER (kind = 'retention') AS retention,
    any_value(low) FILTER (kind = 'retention' AND low = high) AS exact_retention,
    any_value(figure) FILTER (kind = 'accuracy') AS accuracy
FROM cells
JOIN paper_figures USING (model, quantization, benchmark, condition)
GROUP BY cell_id
