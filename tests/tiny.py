"""Random GGUF models under a megabyte, made on the spot: real files for a real llama.cpp.

The vocabulary is the 256 bytes and three ChatML control tokens. A random model of 2 layers takes
some 50 microseconds a token.
"""

from pathlib import Path

import gguf
import numpy as np

CONTROLS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
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
    controls: tuple[str, ...] = CONTROLS,
    template: str | None = TEMPLATE,
    layers: int | None = None,
    name: str | None = None,
    file_type: int = 0,
    words: tuple[str, ...] = (),
    longrope: int | None = None,
    head: bool = False,
    weights: gguf.GGMLQuantizationType | None = None,
    pre: str = "gpt-2",
) -> Path:
    """Write a model of one architecture and return its path.

    `like` is the seed of another model that this one resembles: its weights and some `noise`, so
    that it drafts for the other with a middling acceptance rate. With `stops=False` a llama says
    no control token at any temperature, so that no answer ends by itself. `name` and `file_type`
    are what the header says; the weights are 32 bits whatever it claims. `words` are tokens of
    their own, which the model says as readily as any byte. A llama with `longrope` rotates its keys
    in another way in contexts of more tokens than that. The last block of a glm4moe is a head that
    predicts the token after the next one; a qwen35 has one with `head`. `weights` is the type of
    all matrices except the embeddings; `pre` is the name of how text is divided into words.
    """
    layers = (layers or LAYERS.get(kind, 2)) + head
    writer = gguf.GGUFWriter(path, kind)
    vocabulary = _write_vocabulary(writer, controls, template, words, pre)
    writer.add_context_length(n_ctx)
    writer.add_embedding_length(EMBEDDING)
    writer.add_block_count(layers)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(vocabulary)
    writer.add_file_type(file_type)
    if name is not None:
        writer.add_name(name)
    if longrope is not None:
        _write_longrope(writer, longrope)
    _Tensors(writer, kind, layers, vocabulary, seed, like, noise, stops, head, weights).write()
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _write_vocabulary(
    writer: gguf.GGUFWriter,
    controls: tuple[str, ...],
    template: str | None,
    words: tuple[str, ...],
    pre: str,
) -> int:
    names = _byte_names()
    spelt = ["".join(names[byte] for byte in word.encode()) for word in words]
    tokens = [*names, *controls, *spelt]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    normal, control = gguf.TokenType.NORMAL, gguf.TokenType.CONTROL
    kinds = [normal] * 256 + [control] * len(controls) + [normal] * len(words)
    writer.add_token_types(kinds)
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(258)
    writer.add_add_bos_token(False)
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


class _Tensors:
    """The random weights of one model."""

    def __init__(
        self,
        writer: gguf.GGUFWriter,
        kind: str,
        layers: int,
        vocabulary: int,
        seed: int,
        like: int | None,
        noise: float,
        stops: bool,
        head: bool,
        weights: gguf.GGMLQuantizationType | None,
    ) -> None:
        self._writer, self._kind, self._layers = writer, kind, layers
        self._head_last, self._weights = head, weights
        self._vocabulary = vocabulary
        self._endless = kind == "llama" and not stops
        self._rng = np.random.default_rng(seed if like is None else like)
        self._own = None if like is None else np.random.default_rng(seed)
        self._noise = noise

    def write(self) -> None:
        embedding = self._values((self._vocabulary, EMBEDDING), 1.0)
        head = self._head(embedding)
        self._add("token_embd.weight", embedding)
        if self._kind == "llama":
            self._add("output.weight", head)
        {
            "llama": self._llama,
            "gemma3": self._gemma3,
            "lfm2": self._lfm2,
            "qwen35": self._qwen35,
            "nemotron_h": self._nemotron_h,
            "mamba": self._mamba,
            "glm4moe": self._glm4moe,
        }[self._kind]()

    def _head(self, embedding: np.ndarray) -> np.ndarray:
        head = embedding.copy()
        if self._endless:
            # All states have one direction in common, which speaks against these tokens alone.
            unlikely = slice(256, 256 + len(CONTROLS))
            embedding[:, 0] = 4
            head[unlikely] = head[:, 0] = 0
            head[unlikely, 0] = -300
        return head

    def _values(self, shape: tuple[int, ...], scale: float) -> np.ndarray:
        values = self._rng.standard_normal(shape)
        if self._own is not None:
            values += self._noise * self._own.standard_normal(shape)
        return (values * scale).astype(np.float32)

    def _add(self, name: str, values: np.ndarray) -> None:
        if self._weights is None or values.ndim < 2 or name == "token_embd.weight":
            self._writer.add_tensor(name, values)
            return
        blocks = gguf.quants.quantize(values, self._weights)
        self._writer.add_tensor(name, blocks, raw_dtype=self._weights)

    def _random(self, name: str, *shape: int, scale: float = 0.08) -> None:
        values = self._values(shape[::-1], scale)  # ggml counts dimensions the other way
        if self._endless and name.endswith(("_output.weight", "_down.weight")):
            values[0] = 0  # no layer changes what all states have in common
        self._add(name, values)

    def _ones(self, name: str, size: int) -> None:
        self._add(name, np.ones(size, np.float32))

    def _attention(self, block: str, norms: bool = False, gates: bool = False) -> None:
        self._random(block + "attn_q.weight", EMBEDDING, (1 + gates) * EMBEDDING)
        self._random(block + "attn_k.weight", EMBEDDING, KV_HEADS * HEAD)
        self._random(block + "attn_v.weight", EMBEDDING, KV_HEADS * HEAD)
        self._random(block + "attn_output.weight", EMBEDDING, EMBEDDING)
        if norms:
            self._ones(block + "attn_q_norm.weight", HEAD)
            self._ones(block + "attn_k_norm.weight", HEAD)

    def _feed_forward(self, block: str, norm: bool = True) -> None:
        self._random(block + "ffn_gate.weight", EMBEDDING, FEED_FORWARD)
        self._random(block + "ffn_up.weight", EMBEDDING, FEED_FORWARD)
        self._random(block + "ffn_down.weight", FEED_FORWARD, EMBEDDING)
        if norm:
            self._ones(block + "ffn_norm.weight", EMBEDDING)

    def _transformer(self) -> None:
        self._writer.add_feed_forward_length(FEED_FORWARD)
        self._writer.add_head_count(HEADS)
        self._writer.add_rope_dimension_count(HEAD)
        self._writer.add_rope_freq_base(10000.0)

    def _llama(self) -> None:
        self._transformer()
        self._writer.add_head_count_kv(KV_HEADS)
        self._ones("output_norm.weight", EMBEDDING)
        for layer in range(self._layers):
            block = f"blk.{layer}."
            self._ones(block + "attn_norm.weight", EMBEDDING)
            self._attention(block)
            self._feed_forward(block)

    def _gemma3(self) -> None:
        self._transformer()
        self._writer.add_head_count_kv(KV_HEADS)
        self._writer.add_key_length(HEAD)
        self._writer.add_value_length(HEAD)
        self._writer.add_sliding_window(32)
        self._ones("output_norm.weight", EMBEDDING)
        for layer in range(self._layers):
            block = f"blk.{layer}."
            self._ones(block + "attn_norm.weight", EMBEDDING)
            self._attention(block, norms=True)
            self._feed_forward(block)
            self._ones(block + "post_attention_norm.weight", EMBEDDING)
            self._ones(block + "post_ffw_norm.weight", EMBEDDING)

    def _lfm2(self) -> None:
        self._transformer()
        self._writer.add_head_count_kv([KV_HEADS if i % 2 else 0 for i in range(self._layers)])
        self._writer.add_shortconv_l_cache(3)
        self._ones("token_embd_norm.weight", EMBEDDING)
        for layer in range(self._layers):
            block = f"blk.{layer}."
            self._ones(block + "attn_norm.weight", EMBEDDING)
            self._feed_forward(block)
            if layer % 2:
                self._attention(block, norms=True)
                continue
            self._random(block + "shortconv.conv.weight", 3, EMBEDDING, scale=0.5)
            self._random(block + "shortconv.in_proj.weight", EMBEDDING, 3 * EMBEDDING)
            self._random(block + "shortconv.out_proj.weight", EMBEDDING, EMBEDDING)

    def _glm4moe(self) -> None:
        """Write a dense block, mixtures of two experts, and a head that hardly uses the state."""
        self._transformer()
        self._writer.add_head_count_kv(KV_HEADS)
        self._writer.add_key_length(HEAD)
        self._writer.add_value_length(HEAD)
        self._writer.add_expert_count(2)
        self._writer.add_expert_used_count(1)
        self._writer.add_expert_shared_count(1)
        self._writer.add_expert_feed_forward_length(FEED_FORWARD)
        self._writer.add_leading_dense_block_count(1)
        self._writer.add_nextn_predict_layers(1)
        self._ones("output_norm.weight", EMBEDDING)
        for layer in range(self._layers):
            block = f"blk.{layer}."
            self._ones(block + "attn_norm.weight", EMBEDDING)
            self._ones(block + "post_attention_norm.weight", EMBEDDING)
            self._attention(block)
            if not layer:
                self._random(block + "ffn_gate.weight", EMBEDDING, FEED_FORWARD)
                self._random(block + "ffn_up.weight", EMBEDDING, FEED_FORWARD)
                self._random(block + "ffn_down.weight", FEED_FORWARD, EMBEDDING)
            else:
                self._experts(block)
        self._head_of_block(f"blk.{self._layers - 1}.nextn.")

    def _experts(self, block: str) -> None:
        self._random(block + "ffn_gate_inp.weight", EMBEDDING, 2)
        self._random(block + "exp_probs_b.bias", 2)
        for name, *shape in (
            ("gate", EMBEDDING, FEED_FORWARD),
            ("up", EMBEDDING, FEED_FORWARD),
            ("down", FEED_FORWARD, EMBEDDING),
        ):
            self._random(f"{block}ffn_{name}_exps.weight", *shape, 2)
            self._random(f"{block}ffn_{name}_shexp.weight", *shape)

    def _head_of_block(self, block: str) -> None:
        token, state = np.eye(EMBEDDING), self._values((EMBEDDING, EMBEDDING), 0.02)
        self._add(block + "eh_proj.weight", np.hstack([token, state]).astype(np.float32))
        self._ones(block + "enorm.weight", EMBEDDING)
        self._ones(block + "hnorm.weight", EMBEDDING)

    def _mamba(self) -> None:
        inner, state, rank = 2 * EMBEDDING, 8, 4
        self._writer.add_feed_forward_length(0)
        self._writer.add_head_count(0)
        self._ssm(inner, state, rank)
        self._ones("output_norm.weight", EMBEDDING)
        for layer in range(self._layers):
            block = f"blk.{layer}."
            self._ones(block + "attn_norm.weight", EMBEDDING)
            self._random(block + "ssm_in.weight", EMBEDDING, 2 * inner)
            self._random(block + "ssm_conv1d.weight", 4, inner, scale=0.3)
            self._random(block + "ssm_conv1d.bias", inner)
            self._random(block + "ssm_x.weight", inner, rank + 2 * state)
            self._random(block + "ssm_dt.weight", rank, inner)
            self._random(block + "ssm_dt.bias", inner)
            self._add(block + "ssm_a", -np.ones((inner, state), np.float32))
            self._ones(block + "ssm_d", inner)
            self._random(block + "ssm_out.weight", inner, EMBEDDING)

    def _qwen35(self) -> None:
        """Every other layer is attention, the rest are delta nets of 4 heads."""
        heads, groups, state = 4, 2, 16
        inner = heads * state
        convolved = inner + 2 * groups * state
        self._transformer()
        self._writer.add_head_count_kv(KV_HEADS)
        self._writer.add_key_length(HEAD)
        self._writer.add_value_length(HEAD)
        self._writer.add_rope_dimension_sections([6, 5, 5, 0])
        self._writer.add_full_attention_interval(2)
        self._ssm(inner, state, heads, groups)
        self._ones("output_norm.weight", EMBEDDING)
        if self._head_last:
            self._writer.add_nextn_predict_layers(1)
            self._head_of_block(f"blk.{self._layers - 1}.nextn.")
        for layer in range(self._layers):
            block = f"blk.{layer}."
            self._ones(block + "attn_norm.weight", EMBEDDING)
            self._ones(block + "post_attention_norm.weight", EMBEDDING)
            self._feed_forward(block, norm=False)
            if layer % 2 or (self._head_last and layer == self._layers - 1):
                self._attention(block, norms=True, gates=True)
                continue
            self._random(block + "attn_qkv.weight", EMBEDDING, convolved)
            self._random(block + "attn_gate.weight", EMBEDDING, inner)
            self._random(block + "ssm_conv1d.weight", 4, convolved, scale=0.3)
            self._random(block + "ssm_dt.bias", heads)
            self._add(block + "ssm_a", -np.ones(heads, np.float32))
            self._random(block + "ssm_beta.weight", EMBEDDING, heads)
            self._random(block + "ssm_alpha.weight", EMBEDDING, heads)
            self._ones(block + "ssm_norm.weight", state)
            self._random(block + "ssm_out.weight", inner, EMBEDDING)

    def _nemotron_h(self) -> None:
        """Layers are recurrent, then a network, again and again; the last one is attention."""
        last = self._layers - 1
        kinds = ["network" if i % 2 else "ssm" for i in range(last)] + ["attention"]
        networks = [FEED_FORWARD if kind == "network" else 0 for kind in kinds]
        self._writer.add_feed_forward_length(networks)
        self._writer.add_head_count(HEADS)
        self._writer.add_head_count_kv([KV_HEADS if kind == "attention" else 0 for kind in kinds])
        self._writer.add_key_length(HEAD)
        self._writer.add_value_length(HEAD)
        self._writer.add_layer_norm_eps(1e-5)
        self._ssm(2 * EMBEDDING, 16, 4, 2)
        self._ones("output_norm.weight", EMBEDDING)
        for layer, kind in enumerate(kinds):
            block = f"blk.{layer}."
            self._ones(block + "attn_norm.weight", EMBEDDING)
            match kind:
                case "attention":
                    self._attention(block)
                case "network":
                    self._random(block + "ffn_up.weight", EMBEDDING, FEED_FORWARD)
                    self._random(block + "ffn_down.weight", FEED_FORWARD, EMBEDDING)
                case _:
                    self._mixer(block, 2 * EMBEDDING, 16, 4, 2)

    def _ssm(self, inner: int, state: int, rank: int, groups: int = 0) -> None:
        self._writer.add_ssm_conv_kernel(4)
        self._writer.add_ssm_inner_size(inner)
        self._writer.add_ssm_state_size(state)
        self._writer.add_ssm_time_step_rank(rank)
        if groups:
            self._writer.add_ssm_group_count(groups)

    def _mixer(self, block: str, inner: int, state: int, heads: int, groups: int) -> None:
        """Add the tensors of a layer of Mamba 2."""
        convolved = inner + 2 * groups * state
        self._random(block + "ssm_in.weight", EMBEDDING, inner + convolved + heads)
        self._random(block + "ssm_conv1d.weight", 4, convolved, scale=0.3)
        self._random(block + "ssm_conv1d.bias", convolved)
        self._random(block + "ssm_dt.bias", heads)
        self._add(block + "ssm_a", -np.ones((heads, 1), np.float32))
        self._add(block + "ssm_d", np.ones((heads, 1), np.float32))
        self._add(block + "ssm_norm.weight", np.ones((groups, inner // groups), np.float32))
        self._random(block + "ssm_out.weight", inner, EMBEDDING)
