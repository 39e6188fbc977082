"""Hand-made tokenizers of the two kinds: every prefix of each given word is a piece."""

from collections.abc import Sequence

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast


def _merged(words: Sequence[str], alphabet: Sequence[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    vocab = {piece: index for index, piece in enumerate(alphabet)}
    merges = []
    for word in words:
        for end in range(2, len(word) + 1):
            if word[:end] not in vocab:
                vocab[word[:end]] = len(vocab)
                merges.append((word[: end - 1], word[end - 1]))
    return vocab, merges


def byte_level(words: Sequence[str], special: Sequence[str] = ("<|end|>",)) -> PreTrainedTokenizerFast:
    """Byte-level BPE; words are written as their pieces are (" the" as "Ġthe")."""
    vocab, merges = _merged(words, sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer = Tokenizer(models.BPE(vocab, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in special])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=special[0])


def sentencepiece(words: Sequence[str], added: Sequence[str] = ()) -> PreTrainedTokenizerFast:
    """SentencePiece-type BPE with byte fallback; words are written as their pieces are ("▁the")."""
    alphabet = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    alphabet += sorted({character for word in words for character in word} | {"▁"})
    vocab, merges = _merged(words, alphabet)
    tokenizer = Tokenizer(models.BPE(vocab, merges, byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in added])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token=None
    )
