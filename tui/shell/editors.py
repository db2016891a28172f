"""How to set editors up for completions by `specchat serve`."""

from typing import NamedTuple


class EditorSetup(NamedTuple):
    """A plugin that completes code, and what is to be written into its settings."""

    plugin: str
    file: str
    lines: str  # with the server's ROOT, and the MODEL's name

    def on(self, root: str, model: str) -> str:
        """Return the lines for a server, such as `http://127.0.0.1:8471`, and its model."""
        return self.lines.strip().replace("ROOT", root).replace("MODEL", model)


EDITORS = {
    "vim": EditorSetup(
        "llama.vim", "vimrc", "let g:llama_config = { 'endpoint_fim': 'ROOT/infill' }"
    ),
    "vscode": EditorSetup("llama.vscode", "settings.json", '"llama-vscode.endpoint": "ROOT",'),
    "continue": EditorSetup(
        "Continue",
        "config.yaml, under models",
        """
- { name: specchat, provider: llama.cpp, model: MODEL, apiBase: "ROOT/",
    roles: [autocomplete] }
""",
    ),
    "zed": EditorSetup(
        "Zed",
        "settings.json",
        """
"edit_predictions": { "provider": "open_ai_compatible_api", "open_ai_compatible_api": {
  "api_url": "ROOT/v1/completions", "model": "MODEL", "max_output_tokens": 64 } },
""",
    ),
    "minuet": EditorSetup(
        "minuet",
        "init.lua",
        """
require('minuet').setup { provider = 'openai_fim_compatible', n_completions = 1,
  provider_options = { openai_fim_compatible = { name = 'specchat', api_key = 'TERM',
    end_point = 'ROOT/v1/completions', model = 'MODEL', optional = { max_tokens = 56 } } } }
""",
    ),
}
"""By the names that `--editor` takes."""
