"""Random GGUF models under a megabyte, made on the spot: real files for a real llama.cpp.

The vocabulary is the 256 bytes and three ChatML control tokens. A random model of 2 layers takes
some 50 microseconds a token.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np

CONTROLS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
THINKING = TEMPLATE.replace("assistant\n' }}", "assistant\n<think>\n' }}")
"""Opens a thought, which no tiny model ends by itself."""
HEADS, KV_HEADS, EMBEDDING, FEED_FORWARD = 2, 1, 64, 128
HEAD = EMBEDDING // HEADS
KINDS = ("llama", "gemma3", "lfm2", "qwen35", "nemotron_h", "mamba", "glm4moe")
LAYERS = {"gemma3": 6, "lfm2": 4, "qwen35": 4, "nemotron_h": 4, "glm4moe": 3}


def write(
    path: Path,
    kind: str = "llama",
    seed: int = 0,
    *,
    like: int | None = None,
    noise: float = 0.3,
    n_ctx: int = 1024,
    stops: bool = True,
    layers: int | None = None,
    name: str | None = None,
    file_type: int = 0,
    longrope: int | None = None,
    weights: gguf.GGMLQuantizationType | None = None,
    controls: tuple[str, ...] = CONTROLS,
    **vocabulary: Any,
) -> Path:
    """Write a model of one architecture and return its path.

    `like` is the seed of another model that this one resembles: its weights and some `noise`, so
    that it drafts for the other with a middling acceptance rate. With `stops=False` a llama says
    no control token at any temperature, so that no answer ends by itself. `name` and `file_type`
    are what the header says; the weights are 32 bits whatever it claims. A llama with `longrope`
    rotates its keys in another way in contexts of more tokens than that. The last block of a
    glm4moe is a head that predicts the token after the next one, which nothing here uses. `weights`
    is the type of all matrices except the embeddings; `vocabulary` is for `write_vocabulary`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    layers = layers or LAYERS.get(kind, 2)
    writer = gguf.GGUFWriter(path, kind)
    n_vocab = write_vocabulary(writer, controls, **vocabulary)
    settings = {
        "context_length": n_ctx, "embedding_length": EMBEDDING, "block_count": layers,
        "layer_norm_rms_eps": 1e-5, "vocab_size": n_vocab, "file_type": file_type, "name": name,
    }  # fmt: skip
    for key, value in (settings | _settings(kind, layers)).items():
        if value is not None:
            getattr(writer, f"add_{key}")(value)
    if longrope is not None:
        _write_longrope(writer, longrope)
    endless = 0 if stops or kind != "llama" else len(controls)
    seeds = (seed,) if like is None else (like, seed)
    tensors = _Tensors(writer, seeds, noise, weights, endless)
    tensors.embed(n_vocab, kind)
    tensors.add(_OUTSIDE.get(kind, "=output_norm E"))
    for layer, parts in enumerate(_layers(kind, layers)):
        tensors.add(parts, f"blk.{layer}.")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_vocabulary(
    writer: gguf.GGUFWriter,
    controls: tuple[str, ...] = CONTROLS,
    template: str | None = TEMPLATE,
    words: tuple[str, ...] = (),
    pre: str = "gpt-2",
    bos: bool | None = False,
    sentencepiece: bool = False,
) -> int:
    """Write the tokens of a model and return how many there are.

    `words` are tokens of their own, which a model says as readily as any byte; `pre` is the name of
    how text is divided into words; `bos` says whether a text begins with the first control token,
    None nothing of it. SentencePiece has a token for a blank, too, and begins each text with one.
    """
    names = _byte_names()
    spelt = ["".join(names[byte] for byte in word.encode()) for word in words]
    normal, control = gguf.TokenType.NORMAL, gguf.TokenType.CONTROL
    kinds = [normal] * 256 + [control] * len(controls) + [normal] * len(words)
    tokens = [*names, *controls, *spelt]
    if sentencepiece:
        tokens = [*(f"<0x{byte:02X}>" for byte in range(256)), *controls, *words, "▁"]
        kinds = [gguf.TokenType.BYTE] * 256 + kinds[256:] + [normal]
        writer.add_token_scores([0.0] * len(tokens))
    writer.add_tokenizer_model("llama" if sentencepiece else "gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(258)
    if bos is not None:
        writer.add_add_bos_token(bos)
    if template is not None:
        writer.add_chat_template(template)
    return len(tokens)


def _write_longrope(writer: gguf.GGUFWriter, n_ctx: int) -> None:
    writer.add_rope_scaling_type(gguf.RopeScalingType.LONGROPE)
    writer.add_rope_scaling_orig_ctx_len(n_ctx)
    writer.add_tensor("rope_factors_short.weight", np.ones(HEAD // 2, np.float32))
    writer.add_tensor("rope_factors_long.weight", np.full(HEAD // 2, 3.0, np.float32))


def _byte_names() -> list[str]:
    """Return GPT-2's printable name of every byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


_NORMS = "=attn_q_norm H, =attn_k_norm H"
_NETWORK = "ffn_gate E F, ffn_up E F, ffn_down F E"
_HEAD_OF_BLOCK = "nextn.eh_proj 128 E, =nextn.enorm E, =nextn.hnorm E"
_PARTS = {
    "attention": "attn_q E E, attn_k E K, attn_v E K, attn_output E E",
    "gated attention": "attn_q E 128, attn_k E K, attn_v E K, attn_output E E",
    "experts": "ffn_gate_inp E 2, exp_probs_b.bias 2, ffn_gate_exps E F 2, ffn_gate_shexp E F, "
    "ffn_up_exps E F 2, ffn_up_shexp E F, ffn_down_exps F E 2, ffn_down_shexp F E",
    "convolution": "shortconv.conv 3 E, shortconv.in_proj E 192, shortconv.out_proj E E",
    # With an inner size of 128, and states of 8 numbers.
    "mamba": "ssm_in E 256, ssm_conv1d 4 128, ssm_conv1d.bias 128, ssm_x 128 20, ssm_dt 4 128, "
    "ssm_dt.bias 128, -ssm_a 8 128, =ssm_d 128, ssm_out 128 E",
    # Four heads in two groups, an inner size of 128, and states of 16 numbers.
    "mamba 2": "ssm_in E 324, ssm_conv1d 4 192, ssm_conv1d.bias 192, ssm_dt.bias 4, -ssm_a 1 4, "
    "=ssm_d 1 4, =ssm_norm 64 2, ssm_out 128 E",
    # Four heads in two groups, and states of 16 numbers.
    "delta net": "attn_qkv E 128, attn_gate E 64, ssm_conv1d 4 128, ssm_dt.bias 4, -ssm_a 4, "
    "ssm_beta E 4, ssm_alpha E 4, =ssm_norm 16, ssm_out 64 E",
}
"""The tensors of what layers are made of: random, but `=` for ones and `-` for their negatives."""
_SCALES = {"ssm_conv1d.weight": 0.3, "shortconv.conv.weight": 0.5}
_OUTSIDE = {"lfm2": "=token_embd_norm E"}


def _layers(kind: str, count: int) -> list[str]:
    """Return what each layer is made of."""
    before, after = "=attn_norm E", "=post_attention_norm E"
    attends, start = f"{before}, attention", f"{before}, {after}, attention"
    mixed = ("convolution", f"attention, {_NORMS}"), ("delta net", f"gated attention, {_NORMS}")
    in_turn = {
        "llama": [f"{attends}, {_NETWORK}, =ffn_norm E"],
        "gemma3": [f"{attends}, {_NORMS}, {_NETWORK}, =ffn_norm E, {after}, =post_ffw_norm E"],
        "lfm2": [f"{before}, {_NETWORK}, =ffn_norm E, {mixer}" for mixer in mixed[0]],
        "qwen35": [f"{before}, {after}, {_NETWORK}, {mixer}" for mixer in mixed[1]],
        "nemotron_h": [f"{before}, mamba 2", f"{before}, ffn_up E F, ffn_down F E"],
        "glm4moe": [f"{start}, experts"],
        "mamba": [f"{before}, mamba"],
    }[kind]
    layers = [in_turn[i % len(in_turn)] for i in range(count)]
    if kind == "nemotron_h":  # a layer is recurrent, or a network; the last one is attention
        layers[-1] = attends
    if kind == "glm4moe":  # a dense layer, and mixtures of two experts
        layers[0], layers[-1] = f"{start}, {_NETWORK}", f"{layers[-1]}, {_HEAD_OF_BLOCK}"
    return layers


def _settings(kind: str, layers: int) -> dict[str, object]:
    """Return the other values of a header, by the names of the writer's methods."""
    heads: dict[str, object] = {"key_length": HEAD, "value_length": HEAD, "head_count_kv": KV_HEADS}
    transformer: dict[str, object] = {
        "feed_forward_length": FEED_FORWARD, "head_count": HEADS, "head_count_kv": KV_HEADS,
        "rope_dimension_count": HEAD, "rope_freq_base": 10000.0,
    }  # fmt: skip
    match kind:
        case "llama":
            return transformer
        case "gemma3":
            return transformer | heads | {"sliding_window": 32}
        case "lfm2":
            attend = [KV_HEADS if i % 2 else 0 for i in range(layers)]
            return transformer | {"head_count_kv": attend, "shortconv_l_cache": 3}
        case "qwen35":
            rope = {"rope_dimension_sections": [6, 5, 5, 0], "full_attention_interval": 2}
            return transformer | heads | rope | _ssm(64, 16, 4, 2)
        case "nemotron_h":
            last = layers - 1
            networks = [FEED_FORWARD if i % 2 and i < last else 0 for i in range(layers)]
            attend = [KV_HEADS if i == last else 0 for i in range(layers)]
            own = {"feed_forward_length": networks, "head_count": HEADS, "layer_norm_eps": 1e-5}
            return heads | own | {"head_count_kv": attend} | _ssm(128, 16, 4, 2)
        case "glm4moe":
            mixture = {
                "expert_count": 2, "expert_used_count": 1, "expert_shared_count": 1,
                "expert_feed_forward_length": FEED_FORWARD, "leading_dense_block_count": 1,
            }  # fmt: skip
            return transformer | heads | mixture | {"nextn_predict_layers": 1}
        case _:
            return {"feed_forward_length": 0, "head_count": 0} | _ssm(128, 8, 4)


def _ssm(inner: int, state: int, rank: int, groups: int | None = None) -> dict[str, object]:
    sizes = {"inner_size": inner, "state_size": state, "time_step_rank": rank, "conv_kernel": 4}
    sizes |= {"group_count": groups} if groups else {}
    return {f"ssm_{name}": size for name, size in sizes.items()}


@dataclass
class _Tensors:
    """The random weights of one model."""

    writer: gguf.GGUFWriter
    seeds: tuple[int, ...]  # of what it resembles, if anything, and its own
    noise: float
    weights: gguf.GGMLQuantizationType | None
    endless: int  # how many control tokens are never said

    def __post_init__(self) -> None:
        self.rng, *self.own = map(np.random.default_rng, self.seeds)

    def embed(self, vocabulary: int, kind: str) -> None:
        """Add the embedding of each token, and what a llama says them by."""
        embedding = self._values((vocabulary, EMBEDDING), 1.0)
        head = embedding.copy()
        if self.endless:
            # All states have one direction in common, which speaks against these tokens alone.
            unlikely = slice(256, 256 + self.endless)
            embedding[:, 0] = 4
            head[unlikely] = head[:, 0] = 0
            head[unlikely, 0] = -300
        self._write("token_embd.weight", embedding)
        if kind == "llama":
            self._write("output.weight", head)

    def add(self, parts: str, block: str = "") -> None:
        """Add tensors that are named with their sizes, as in `_PARTS`."""
        known = {"E": EMBEDDING, "F": FEED_FORWARD, "H": HEAD, "K": KV_HEADS * HEAD}
        for part in parts.split(", "):
            if part in _PARTS:
                self.add(_PARTS[part], block)
                continue
            name, *sizes = part.split()
            shape = tuple(known.get(size) or int(size) for size in reversed(sizes))
            self._add(name.lstrip("=-"), name[0], shape, block)

    def _add(self, name: str, sign: str, shape: tuple[int, ...], block: str) -> None:
        whole = name if name.endswith((".bias", "ssm_a", "ssm_d")) else f"{name}.weight"
        if sign in "=-":
            values = np.full(shape, -1 if sign == "-" else 1, np.float32)
        else:
            values = self._values(shape, _SCALES.get(whole, 0.08))
        if self.endless and whole.endswith(("_output.weight", "_down.weight")):
            values[0] = 0  # no layer changes what all states have in common
        self._write(block + whole, values)

    def _values(self, shape: tuple[int, ...], scale: float) -> np.ndarray:
        values = self.rng.standard_normal(shape)
        for own in self.own:
            values += self.noise * own.standard_normal(shape)
        return (values * scale).astype(np.float32)

    def _write(self, name: str, values: np.ndarray) -> None:
        if self.weights is None or values.ndim < 2 or name == "token_embd.weight":
            self.writer.add_tensor(name, values)
            return
        blocks = gguf.quants.quantize(values, self.weights)
        self.writer.add_tensor(name, blocks, raw_dtype=self.weights)
