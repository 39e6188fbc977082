"""How near two texts are by an embedding model in a local folder (sentence-transformers, an optional extra)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from taboo_cluster.errors import UserError


class Embedder:
    """A sentence-transformers model from a local folder; nothing is downloaded.

    Raises UserError where the package or the model is missing.
    """

    def __init__(self, path: str) -> None:
        folder = Path(path).expanduser()
        if not folder.is_dir():
            raise UserError(f"--embedding {path}: there is no such folder")
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise UserError(
                f"--embedding needs the package sentence-transformers: pip install 'taboo_cluster[embedding]' ({error})"
            ) from error
        try:
            self._model: Any = SentenceTransformer(str(folder), local_files_only=True)
        except (OSError, ValueError, KeyError) as error:
            line = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise UserError(f"--embedding {path} holds no model that can be loaded: {line}") from error

    def cosine(self, first: str, second: str) -> float:
        """Cosine of two texts' embeddings."""
        return self.cosines([(first, second)])[0]

    def cosines(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Cosine of each pair; texts are embedded in batches."""
        texts = [text for pair in pairs for text in pair]
        vectors = np.asarray(self._model.encode(texts, normalize_embeddings=True, show_progress_bar=False), np.float64)
        return [float(value) for value in np.clip((vectors[::2] * vectors[1::2]).sum(axis=1), -1.0, 1.0)]
