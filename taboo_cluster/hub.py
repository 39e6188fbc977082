"""Repositories of the Hugging Face hub, pinned to a commit; without the hub, what its local cache holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from taboo_cluster.errors import UserError


def snapshot(kind: Literal["model", "dataset"], name: str, revision: str | None, files: Sequence[str]) -> Path:
    """Folder with the files of one commit; its name is the commit.

    Args:
        kind: of the repository.
        name: of the repository, `owner/name`.
        revision: branch, tag or commit; None is the default branch.
        files: patterns of the files wanted.

    Raises:
        UserError: one line on why it cannot be had.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    what = {"model": "model", "dataset": "data set"}[kind]
    asked = f"{what} {name}" + (f" (revision {revision})" if revision else "")
    try:
        return Path(snapshot_download(name, repo_type=kind, revision=revision, allow_patterns=list(files)))
    except HFValidationError as error:
        raise UserError(f"{name!r} is no name of a {what} on the hub; for local files set `path`") from error
    except GatedRepoError as error:
        raise UserError(f"{asked} is gated: accept its terms on the hub and log in (`hf auth login`)") from error
    except RevisionNotFoundError as error:
        raise UserError(f"{what} {name} has no revision {revision!r} on the hub") from error
    except RepositoryNotFoundError as error:
        raise UserError(
            f"there is no {what} {name!r} on the hub, or it is private; for local files set `path`"
        ) from error
    except LocalEntryNotFoundError as error:
        raise UserError(
            f"{asked} is not in the local cache and the hub cannot be reached; download it first or set `path`"
        ) from error
    except Exception as error:  # whatever the network or the disk does
        text = " ".join(str(error).split())
        raise UserError(f"{asked} cannot be loaded from the hub: {type(error).__name__}: {text[:200]}") from error
